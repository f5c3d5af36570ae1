//! The guides, run as they are written: every `sh` block in order, in one shell, against a
//! PostgreSQL of their own and the built program; every `text` block is what the block before it
//! must have printed.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use ade_testkit::{OwnedPostgres, postgres};

const FIRST: &str = "first-task.md";
/// What comes before it makes people, an agent and a resource: every guide needs them.
const OWN_STEPS: &str = "\n## 5. ";
/// Printed between blocks; no answer of the server looks like it.
const MARK: &str = "-- end of a block --";
/// Stands for any text in what is expected.
const ANYTHING: char = '…';

#[derive(Default)]
struct Block {
    commands: String,
    expected: Vec<String>,
}

/// Commands with what they are to print.
fn blocks(guide: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut fence = None;
    for line in guide.lines() {
        match (fence, line.strip_prefix("```")) {
            (None, Some(name)) => {
                fence = Some(name);
                if name == "sh" {
                    blocks.push(Block::default());
                }
            }
            (Some(_), Some(_)) => fence = None,
            (Some("sh"), None) => {
                let commands = &mut blocks.last_mut().unwrap().commands;
                commands.push_str(line);
                commands.push('\n');
            }
            (Some("text"), None) => blocks.last_mut().unwrap().expected.push(line.to_owned()),
            (Some(_) | None, None) => {}
        }
    }
    assert_eq!(fence, None, "a block does not end");
    blocks
}

fn script(blocks: &[Block]) -> String {
    let mut script =
        String::from("set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n");
    for block in blocks {
        script.push_str(&block.commands);
        let _ = writeln!(script, "echo; echo '{MARK}'");
    }
    script
}

/// Every expected line, in this order, with anything in between.
fn find(expected: &[String], printed: &str) -> Result<(), String> {
    let mut rest = printed.lines();
    for line in expected {
        if !rest.any(|printed| is_like(line, printed)) {
            return Err(format!("`{line}` is not in\n{printed}"));
        }
    }
    Ok(())
}

fn is_like(pattern: &str, line: &str) -> bool {
    let mut rest = line;
    for (at, piece) in pattern.split(ANYTHING).enumerate() {
        let Some(found) = rest.find(piece) else { return false };
        if at == 0 && found != 0 {
            return false;
        }
        rest = &rest[found + piece.len()..];
    }
    rest.is_empty() || pattern.ends_with(ANYTHING)
}

fn read(guide: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides");
    std::fs::read_to_string(root.join(guide)).unwrap()
}

/// The steps of the first guide that every other one begins with.
fn beginning() -> Vec<Block> {
    let first = read(FIRST);
    let (begin, _) = first.split_once(OWN_STEPS).unwrap();
    blocks(begin)
}

async fn follow(blocks: Vec<Block>) {
    let server = OwnedPostgres::start(postgres::Settings::test()).await;
    // Below all that others choose from, and nobody else's as long as the database has its own.
    let port = server.port() - 10_000;
    let own = format!("ade-guide-{}-{port}", std::process::id());
    let folder = std::env::temp_dir().join(own);
    std::fs::create_dir(&folder).unwrap();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_ade-server"));
    let path = format!("{}:{}", program.parent().unwrap().display(), env!("PATH"));
    let output = Command::new("bash")
        .args(["-c", &script(&blocks)])
        .current_dir(&folder)
        .env_clear()
        .env("PATH", path)
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", server.port().to_string())
        .env("PGUSER", postgres::SUPERUSER)
        .env("PGPASSWORD", server.password())
        .env("ADE_URL", format!("http://127.0.0.1:{port}"))
        .output()
        .unwrap();
    let log = std::fs::read_to_string(folder.join("ade.log")).unwrap_or_default();
    std::fs::remove_dir_all(&folder).unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{printed}\n{errors}\n{log}");
    let mut answers = printed.split(MARK);
    for block in &blocks {
        let answer = answers.next().unwrap();
        let found = find(&block.expected, answer);
        assert!(found.is_ok(), "{}\n{}", block.commands, found.unwrap_err());
    }
}

#[tokio::test]
async fn every_command_of_the_first_guide_does_what_the_guide_says() {
    let blocks = blocks(&read(FIRST));
    assert!(blocks.len() > 10, "{} blocks", blocks.len());
    follow(blocks).await;
}

/// As a reader would: the beginning of the first guide, then this one, in the same shell.
async fn follow_on(guide: &str) {
    let mut all = beginning();
    let own = blocks(&read(guide));
    assert!(all.len() > 5 && own.len() > 5, "{} and {} blocks", all.len(), own.len());
    assert!(own.iter().filter(|block| !block.expected.is_empty()).count() > 4, "{guide}");
    all.extend(own);
    follow(all).await;
}

#[tokio::test]
async fn the_guide_to_policies_does_what_it_says() {
    follow_on("policies.md").await;
}

#[tokio::test]
async fn the_guide_to_delegation_does_what_it_says() {
    follow_on("delegation.md").await;
}

#[tokio::test]
async fn the_guide_to_breaking_glass_does_what_it_says() {
    follow_on("break-glass.md").await;
}

#[tokio::test]
async fn the_guide_to_locks_does_what_it_says() {
    follow_on("locks.md").await;
}

#[tokio::test]
async fn the_guide_to_applying_does_what_it_says() {
    follow_on("applying.md").await;
}

#[tokio::test]
async fn the_guide_to_webhooks_does_what_it_says() {
    follow_on("webhooks.md").await;
}

#[tokio::test]
async fn the_guide_to_agents_does_what_it_says() {
    follow_on("agents.md").await;
}

/// Built with the tests of the whole workspace.
fn require_ade() {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_ade-server")).with_file_name("ade");
    assert!(program.exists(), "build it first: cargo build --bin ade");
}

#[tokio::test]
async fn the_guide_to_running_commands_does_what_it_says() {
    require_ade();
    follow_on("run.md").await;
}

#[tokio::test]
async fn the_guide_to_connecting_agents_does_what_it_says() {
    require_ade();
    follow_on("connect-an-agent.md").await;
}

#[test]
fn what_a_guide_shows_is_compared_line_by_line() {
    assert!(is_like("…\"state\":\"APPROVED\"…", "{\"state\":\"APPROVED\",\"x\":1}"));
    assert!(is_like("2", "2"));
    assert!(!is_like("2", "12"));
    assert!(!is_like("2", "23"));
    assert!(!is_like("task_… is DRAFT", "task_1 is REVIEWING"));
    let lines = ["a".to_owned(), "b".to_owned()];
    assert!(find(&lines, "a\nx\nb\n").is_ok());
    assert!(find(&lines, "b\na\n").is_err(), "order counts");
    assert_eq!(blocks("```sh\nls\n```\n```text\nx\n```\n```json\n{}\n```\n").len(), 1);
}
