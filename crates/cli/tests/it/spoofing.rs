//! Spoofing characters in texts, from the API to a real terminal, with the samples that the core
//! and the dashboard also use.

use std::collections::HashSet;

use ade_core::sanitize_display::visible;
use serde_json::{Value, json};

use crate::installation::{Installation, ended};
use crate::terminal::Terminal;

/// The samples: each has a text and its expected display.
type Sample = [String; 2];

const SAMPLES: &str = include_str!("../../../core/samples/spoofing.json");
/// The number of samples per task, below the number of changes that are shown.
const PART: usize = 15;
/// The text before the summary of a change.
const LEAD: &str = "           ~ host:a  ";
/// The zero-width joiner, which is allowed between two emoji.
const JOINER: char = '\u{200d}';
/// The colour sequences of the program itself.
const PAINT: [&str; 6] = ["31;1", "32", "33", "1", "2", "0"];

/// Returns the characters that must not reach a terminal, according to the samples.
fn acting(samples: &[Sample]) -> HashSet<char> {
    let hidden =
        samples.iter().flat_map(|[text, shown]| text.chars().filter(move |c| !shown.contains(*c)));
    hidden.collect()
}

/// Creates a task with one change per sample.
fn asked(summaries: &[&str]) -> Value {
    let changes: Vec<Value> = summaries
        .iter()
        .map(|summary| {
            json!({
                "resource": "host:a", "action": "change", "irreversible": false,
                "summary": summary
            })
        })
        .collect();
    json!({
        "title": "Hide something", "type": "command.run", "parameters": {},
        "resources": [{ "resource": "host:a" }], "plan": { "changes": changes }
    })
}

fn unpainted(screen: &str) -> String {
    let without = |text: String, code: &&str| text.replace(&format!("\u{1b}[{code}m"), "");
    PAINT.iter().fold(screen.to_owned(), without)
}

/// Returns the task as shown without colour, after checking that colour adds nothing else.
async fn screen_of(at: &Installation, id: &str) -> String {
    let args = ["tasks", "get", id];
    let (status, painted) = Terminal::start(&at.ade(&args)).end().await;
    assert!(status.success(), "{painted}");
    assert!(painted.contains("\u{1b}[33m~\u{1b}[0m"), "no colour: {painted:?}");
    let mut plain = at.ade(&args);
    plain.env("NO_COLOR", "1");
    let (status, screen) = Terminal::start(&plain).end().await;
    assert!(status.success(), "{screen}");
    assert_eq!(unpainted(&painted), screen, "colour adds other sequences");
    screen
}

#[tokio::test]
async fn terminal_shows_spoofing_samples_escaped() {
    let at = Installation::start().await;
    let samples: Vec<Sample> = serde_json::from_str(SAMPLES).unwrap();
    let acting = acting(&samples);
    assert!(samples.len() >= 200 && acting.len() >= 100, "{} {acting:?}", samples.len());
    let (zeros, kept): (Vec<Sample>, Vec<Sample>) =
        samples.into_iter().partition(|[text, _]| text.contains('\0'));
    // PostgreSQL cannot store this character, so it never reaches a terminal.
    assert!(!zeros.is_empty());
    for [text, _] in &zeros {
        let body = asked(&[text.as_str()]).to_string();
        let refused = ended(at.ade(&["api", "POST", "/v1/tasks", "-d", &body])).await.with(1);
        refused.says("error[invalid_body]").says("U+0000");
    }
    for part in kept.chunks(PART) {
        let (texts, shown): (Vec<&str>, Vec<&str>) =
            part.iter().map(|[text, shown]| (text.as_str(), shown.as_str())).unzip();
        let task = at.post(&at.agent, "/v1/tasks", asked(&texts)).await;
        let id = task["id"].as_str().unwrap();
        let changes = at.task(id).await["effect"]["changes"].as_array().unwrap().clone();
        let stored: Vec<&str> =
            changes.iter().map(|change| change["summary"].as_str().unwrap()).collect();
        assert_eq!(stored, texts, "the text is stored unchanged");

        let screen = screen_of(&at, id).await;
        let found: Vec<&str> = screen.lines().filter_map(|line| line.strip_prefix(LEAD)).collect();
        assert_eq!(found, shown, "{screen:?}");
        let mut letters = screen.lines().flat_map(str::chars);
        let left = letters.find(|c| *c != JOINER && acting.contains(c));
        assert_eq!(left, None, "{screen:?}");
    }
}

/// Returns every name and value, however deep, as the terminal shows it: line by line.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => {
            for (name, inner) in fields {
                found.push(name.clone());
                texts(inner, found);
            }
        }
        Value::String(text) => found.push(text.clone()),
        other => found.push(other.to_string()),
    }
}

/// The text as it is, or as JSON if it is part of a list, an object or an unusual name.
fn is_shown(screen: &str, text: &str) -> bool {
    let json = Value::String(text.to_owned()).to_string();
    let lines: Vec<String> = text.split('\n').map(visible).collect();
    let quoted = visible(json.trim_matches('"'));
    lines.iter().all(|line| screen.contains(line.as_str())) || screen.contains(&quoted)
}

/// What the digest covers is on the screen before the question, page by page.
#[tokio::test]
async fn terminal_vote_shows_every_text_or_cannot_be_cast() {
    let at = Installation::start().await;
    at.calm().await;
    let samples: Vec<Sample> = serde_json::from_str(SAMPLES).unwrap();
    let kept: Vec<&String> =
        samples.iter().map(|[text, _]| text).filter(|text| !text.contains('\0')).collect();
    let mut parameters: serde_json::Map<String, Value> =
        kept.iter().enumerate().map(|(nth, text)| (format!("{text}{nth}"), json!(text))).collect();
    parameters.insert("nested".to_owned(), json!({ "list": kept, "none": null, "n": 7 }));
    parameters.insert("long".to_owned(), json!(format!("{};DROP", "x".repeat(30_000))));
    let mut body = asked(&kept.iter().map(|text| text.as_str()).collect::<Vec<_>>());
    for change in body["plan"]["changes"].as_array_mut().unwrap() {
        change["before"] = json!({ "was": change["summary"] });
        change["after"] = change["summary"].clone();
    }
    body["parameters"] = Value::Object(parameters);
    body["submit"] = json!(true);
    let id = at.post(&at.agent, "/v1/tasks", body).await["id"].as_str().unwrap().to_owned();
    at.task_in("REVIEWING").await;
    let task = at.task(&id).await;
    let mut covered = Vec::new();
    for part in [&task["type"], &task["parameters"], &task["resources"][0]["resource"]] {
        texts(part, &mut covered);
    }
    for change in task["effect"]["changes"].as_array().unwrap() {
        for part in ["summary", "before", "after", "resource"] {
            texts(&change[part], &mut covered);
        }
    }
    let mut approve = at.ade_as(&at.reviewer, &["approve", &id]);
    approve.env("NO_COLOR", "1");
    let mut terminal = Terminal::start(&approve);
    terminal.until("Page 1 of ").await;
    let screen = terminal.screen();
    let pages = screen.split("Page 1 of ").nth(1).unwrap();
    let pages: usize = pages.split('.').next().unwrap().parse().unwrap();
    assert!(pages > 5, "{pages}");
    for page in 1..pages {
        terminal.until(&format!("Page {page} of {pages}. ")).await;
        assert!(!terminal.screen().contains("Approve revision"), "page {page}");
        terminal.press(b"\r").await;
    }
    terminal.until("Approve revision 1?").await;
    // A line that is longer than a page continues behind the question for the next one.
    let screen = terminal.screen().replace("\r\n", "\n");
    let screen: String = screen.split('\n').filter(|line| !line.starts_with("Page ")).collect();
    let missing: Vec<&String> = covered.iter().filter(|text| !is_shown(&screen, text)).collect();
    assert_eq!(missing, Vec::<&String>::new(), "{screen}");
    terminal.press(b"\r").await;
    assert_eq!(terminal.end().await.0.code(), Some(1));
}
