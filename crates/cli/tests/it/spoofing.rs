//! Spoofing characters in texts, from the API to a real terminal, with the samples that the core
//! and the dashboard also use.

use std::collections::HashSet;

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
