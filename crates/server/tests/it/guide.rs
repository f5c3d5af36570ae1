//! Runs the guides as they are written. Every `sh` block runs in order, in one shell, against a
//! separate PostgreSQL and the built binary. Every `text` block is the expected output of the block
//! before it.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use ade_testkit::{OwnedPostgres, postgres};

const FIRST: &str = "first-task.md";
/// The heading after the setup steps, which create the people, agent and resource for every guide.
const OWN_STEPS: &str = "\n## 5. ";
/// A separator that is printed between blocks and does not occur in responses of the server.
const MARK: &str = "-- end of a block --";
/// A wildcard for any text in an expected line.
const ANYTHING: char = '…';

#[derive(Default)]
struct Block {
    commands: String,
    expected: Vec<String>,
}

/// The commands of a guide with their expected output.
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

/// Checks that the expected lines occur in this order, with any other lines in between.
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

/// The steps of the first guide that every other guide starts with.
fn beginning() -> Vec<Block> {
    let first = read(FIRST);
    let (begin, _) = first.split_once(OWN_STEPS).unwrap();
    blocks(begin)
}

async fn follow(blocks: Vec<Block>) {
    let server = OwnedPostgres::start(postgres::PostgresSettings::test()).await;
    // This port is below the range of all other tests, and unique because the one of the database
    // is.
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
    let mut outputs = printed.split(MARK);
    for block in &blocks {
        let found = find(&block.expected, outputs.next().unwrap());
        assert!(found.is_ok(), "{}\n{}", block.commands, found.unwrap_err());
    }
}

#[tokio::test]
async fn first_guide_runs_as_documented() {
    require_ade();
    let blocks = blocks(&read(FIRST));
    assert!(blocks.len() > 10, "{} blocks", blocks.len());
    follow(blocks).await;
}

/// Runs the setup of the first guide and then this guide in the same shell, as a reader would.
async fn follow_on(guide: &str) {
    let mut all = beginning();
    let own = blocks(&read(guide));
    assert!(all.len() > 5 && own.len() > 5, "{} and {} blocks", all.len(), own.len());
    assert!(own.iter().filter(|block| !block.expected.is_empty()).count() > 4, "{guide}");
    all.extend(own);
    follow(all).await;
}

#[tokio::test]
async fn policies_guide_runs_as_documented() {
    follow_on("policies.md").await;
}

#[tokio::test]
async fn delegation_guide_runs_as_documented() {
    follow_on("delegation.md").await;
}

#[tokio::test]
async fn break_glass_guide_runs_as_documented() {
    follow_on("break-glass.md").await;
}

#[tokio::test]
async fn locks_guide_runs_as_documented() {
    follow_on("locks.md").await;
}

#[tokio::test]
async fn applying_guide_runs_as_documented() {
    follow_on("applying.md").await;
}

#[tokio::test]
async fn webhooks_guide_runs_as_documented() {
    follow_on("webhooks.md").await;
}

#[tokio::test]
async fn agents_guide_runs_as_documented() {
    follow_on("agents.md").await;
}

/// Requires the `ade` binary, which is built with the tests of the whole workspace.
fn require_ade() {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_ade-server")).with_file_name("ade");
    assert!(program.exists(), "the `ade` binary is missing: cargo build --bin ade");
}

#[tokio::test]
async fn run_guide_runs_as_documented() {
    require_ade();
    follow_on("run.md").await;
}

#[tokio::test]
async fn connect_an_agent_guide_runs_as_documented() {
    require_ade();
    follow_on("connect-an-agent.md").await;
}

/// Prepares what the four calls of the README need: an agent that may deploy, a resource, and a
/// reviewer who approves the next task.
const REVIEWED_AGENT: &str = r#"
as "$ADMIN" "/v1/agents/$BOT" -X PATCH -d '{"capabilities":["deploy.service"]}'
WANTED='{"agent_id":"'"$BOT"'","scopes":["read","propose","execute"]}'
ADE_TOKEN=$(as "$ADMIN" /v1/tokens -d "$WANTED" | field token)
export ADE_TOKEN
as "$ADMIN" /v1/resources/service/shop -X PUT -d '{"criticality":20,"environment":"staging"}'
approve_next() {
  until as "$REA_TOKEN" /v1/approvals > inbox.json && grep -q task_ inbox.json; do sleep 0.2; done
  as "$REA_TOKEN" "/v1/tasks/$(grep -oE 'task_[a-z0-9]+' inbox.json | head -n 1)/approve" \
    -d '{"revision":1,"digest":"'"$(field digest < inbox.json)"'"}' > vote.json
}
approve_next &
"#;

#[tokio::test]
async fn four_calls_of_the_readme_and_the_python_example_run() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let calls = blocks(&readme);
    assert_eq!(calls.len(), 1, "the README has one block of commands");
    assert_eq!(calls[0].commands.matches("\ncall ").count(), 4, "{}", calls[0].commands);
    let example = root.join("examples/hello.py");
    let lines = std::fs::read_to_string(&example).unwrap().lines().count();
    assert!(lines <= 30, "{lines} lines");
    let expected = ["review: http://…", "deploying version 1.5", "succeeded"];
    let python = Block {
        commands: format!("approve_next &\npython3 {}\n", example.display()),
        expected: expected.map(str::to_owned).to_vec(),
    };
    let mut all = beginning();
    // The server with a lock queue, as in the guide to `ade run`.
    all.extend(blocks(&read("run.md")).into_iter().take(1));
    all.push(Block { commands: REVIEWED_AGENT.to_owned(), expected: Vec::new() });
    all.extend(calls);
    all.push(python);
    follow(all).await;
}

/// The first success must not need more terms than these, and the calls must use no others.
#[test]
fn four_calls_of_the_readme_need_eight_terms() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let (_, section) = readme.split_once("\n## Four calls\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let terms: Vec<&str> = section.split("**").skip(1).step_by(2).collect();
    assert_eq!(terms.len(), 8, "{terms:?}");
    let commands = &blocks(section)[0].commands;
    for noun in terms {
        assert!(commands.to_lowercase().contains(noun) || noun == "decision", "{noun}");
    }
    let known = ["token", "task", "plan", "resource", "claim", "execution", "lease"];
    let ids = commands.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_');
    for id in ids.filter(|word| word.ends_with("_id")) {
        assert!(known.iter().any(|noun| id.starts_with(noun)), "{id} is another term");
    }
}

#[test]
fn guide_output_is_compared_line_by_line() {
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
