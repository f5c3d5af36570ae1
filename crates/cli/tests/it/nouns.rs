//! The commands of every noun against a real server.

use std::fs;

use serde_json::{Value, json};

use crate::installation::{Ended, Installation, ended};
use crate::snapshots::same;

async fn admin(at: &Installation, args: &[&str]) -> Ended {
    ended(at.ade_as(&at.admin, args)).await
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

async fn admin_json(at: &Installation, args: &[&str]) -> Value {
    let all = [args, &["-o", "json"]].concat();
    serde_json::from_str(&admin(at, &all).await.with(0).out).unwrap()
}

#[tokio::test]
async fn tasks_commands_cover_the_lifecycle() {
    let at = Installation::start().await;
    let yaml = "title: Rotate keys\ntype: command.run\nparameters: {n: 1}\n\
                resources:\n  - resource: host:a\nplan:\n  changes:\n    - resource: host:a\n      \
                action: change\n      irreversible: false\n      summary: new keys\n";
    fs::write(at.home().join("task.yaml"), yaml).unwrap();
    let evaluated = ended(at.ade(&["tasks", "evaluate", "-f", "task.yaml"])).await.with(0);
    evaluated.prints("Evaluation, nothing was saved: the task would need approval");
    let made = ended(at.ade(&["tasks", "create", "-f", "task.yaml", "-o", "name"])).await.with(0);
    let id = made.out.trim();
    let wrong = fs::write(at.home().join("wrong.yaml"), "title: x\nstate: APPROVED\n");
    wrong.unwrap();
    ended(at.ade(&["tasks", "create", "-f", "wrong.yaml"])).await.with(64).says("wrong.yaml");
    ended(at.ade(&["tasks", "create", "-f", "gone.yaml"])).await.with(64).says("cannot read");

    fs::write(at.home().join("more.yaml"), "parameters: {n: 2}\n").unwrap();
    ended(at.ade(&["tasks", "amend", id, "-f", "more.yaml"])).await.with(0);
    let differs = ended(at.ade(&["tasks", "diff", id])).await.with(0);
    differs.prints("~ parameters.n: 1 → 2").prints("Effect: 0 to add, 1 to change");
    ended(at.ade(&["tasks", "diff", id, "--exit-code"])).await.with(1);
    let revisions = ended(at.ade(&["tasks", "revisions", id])).await.with(0);
    assert_eq!(revisions.out.lines().count(), 3, "{}", revisions.out);
    ended(at.ade(&["tasks", "submit", id])).await.with(0).prints("Submitted task_");
    at.task_in("REVIEWING").await;
    ended(at.ade(&["tasks", "comment", id, "mind the \u{1b}[2Jgap"])).await.with(0);
    ended(at.ade(&["tasks", "comments", id])).await.with(0).prints("mind the ‹U+001B›[2Jgap");
    let why = ended(at.ade(&["tasks", "explain", id])).await.with(0);
    why.prints("may decide").prints("REVIEWING");
    let asked = ended(at.ade(&["tasks", "approvals", id])).await.with(0);
    asked.prints("pending");
    ended(at.ade(&["tasks", "open", id])).await.with(0).prints(&format!("/tasks/{id}\n"));
    ended(at.ade(&["can-i", "apply", id])).await.with(1).prints("no\n");
    ended(at.ade(&["tasks", "executions", id])).await.with(0).prints("No executions yet.");
    ended(at.ade(&["tasks", "logs", id])).await.with(68).says("has no executions yet");
    ended(at.ade(&["tasks", "cancel", id, "--reason", "later"])).await.with(0);
    // Only the owner of the agent may resubmit a finished task.
    let resubmit = ["tasks", "resubmit", id, "-o", "name"];
    ended(at.ade(&resubmit)).await.with(77).says("task.resubmit is not permitted");
    let author = at.author().await;
    let again = ended(at.ade_as(&author, &resubmit)).await.with(0);
    assert!(again.out.starts_with("task_") && again.out.trim() != id, "{}", again.out);
    ended(at.ade_as(&author, &["tasks", "delete", again.out.trim()])).await.with(0);
}

#[tokio::test]
async fn logs_are_read_again_and_followed() {
    let at = Installation::start().await;
    let run =
        ["run", "--resource", "host:a", "--ttl", "5s", "--", "sh", "-c", "echo out; echo err >&2"];
    let running = at.ade(&run).spawn().unwrap();
    let task = at.answer("approve", "go on").await;
    let id = text(&task["id"]);
    let followed = ended(at.ade(&["tasks", "logs", id, "-f"])).await.with(0);
    followed.prints("out\n").prints("err\n").prints("[ade] ");
    running.wait_with_output().await.unwrap();
    let read = ended(at.ade(&["tasks", "logs", id])).await.with(0);
    assert_eq!(read.out, followed.out);
    let lines = ended(at.ade(&["tasks", "logs", id, "-o", "jsonl"])).await.with(0);
    let first: Value = serde_json::from_str(lines.out.lines().next().unwrap()).unwrap();
    assert_eq!(first["number"], 0, "{first}");
    ended(at.ade(&["tasks", "executions", id])).await.with(0).prints("succeeded");
}

#[tokio::test]
async fn agents_are_paused_configured_and_created() {
    let at = Installation::start().await;
    let id = at.agent_id.as_str();
    let shown = admin(&at, &["agents", "list"]).await.with(0);
    shown.prints("infra-bot").prints("command.run");
    admin(&at, &["agents", "pause", id, "--reason", "x"]).await.with(0).prints("‖ paused");
    admin(&at, &["agents", "resume", id]).await.with(0);
    let args = ["agents", "change", id, "--capability", "a.*", "--max-tasks", "9"];
    admin(&at, &args).await.with(0).prints("of 9").prints("a.*");
    fs::write(at.home().join("config.json"), r#"{"a":1}"#).unwrap();
    admin(&at, &["agents", "config", "set", id, "-f", "config.json"]).await.with(0);
    fs::write(at.home().join("config.json"), r#"{"a":2}"#).unwrap();
    let set = ["agents", "config", "set", id, "-f", "config.json", "--reason", "more"];
    admin(&at, &set).await.with(0).prints("version 2");
    let differs = admin(&at, &["agents", "config", "diff", id, "--version", "2"]).await.with(0);
    differs.prints("a: 1 → 2");
    let versions = admin(&at, &["agents", "config", "versions", id]).await.with(0);
    assert_eq!(versions.out.lines().count(), 3, "{}", versions.out);
    let back = ["agents", "config", "rollback", id, "--to", "1", "--reason", "worse"];
    admin(&at, &back).await.with(0).prints("version 3");
    let owner = admin_json(&at, &["agents", "get", id]).await["owner_id"].clone();
    let made = admin_json(&at, &["agents", "create", "second", "--owner", text(&owner)]).await;
    let second = text(&made["id"]);
    let token = admin_json(&at, &["tokens", "create", "--agent", second, "--scope", "read"]).await;
    assert!(text(&token["token"]).starts_with("ade_agt_"), "{token}");
    let tokens = admin(&at, &["tokens", "list", "--agent", second]).await.with(0);
    tokens.prints(text(&token["key_id"]));
    assert!(!tokens.out.contains(text(&token["token"])), "shown once");
    admin(&at, &["tokens", "revoke", text(&token["key_id"])]).await.with(0);
    admin(&at, &["agents", "delete", second]).await.with(64).says("cannot ask for confirmation");
    admin(&at, &["agents", "delete", second, "--yes"]).await.with(0);
    admin(&at, &["users", "list"]).await.with(0).prints("Rea").prints("reviewer");
}

#[tokio::test]
async fn users_invite_prints_the_link_and_its_expiry() {
    let at = Installation::start().await;
    let asked = json!({ "name": "Sam", "roles": ["reviewer"] });
    let sam = at.post(&at.admin, "/v1/users", asked).await;
    let invited = admin(&at, &["users", "invite", text(&sam["id"])]).await.with(0);
    invited.prints("/join#ade_inv_").prints("expires").says("15 minutes");
    let again = admin_json(&at, &["users", "invite", text(&sam["id"])]).await;
    assert!(text(&again["url"]).ends_with(text(&again["invitation"])), "{again}");
    assert!(!invited.out.contains(text(&again["invitation"])), "each link is another");
}

#[tokio::test]
async fn policies_are_proposed_tested_and_published() {
    let at = Installation::start().await;
    let policy = "name: hosts\nrequire: [{roles: [reviewer], min: 1}]\n";
    fs::create_dir(at.home().join("rules")).unwrap();
    fs::write(at.home().join("rules/hosts.yaml"), policy).unwrap();
    let draft = admin_json(&at, &["policies", "apply", "-f", "rules/hosts.yaml"]).await;
    let id = text(&draft["id"]);
    admin(&at, &["policies", "drafts"]).await.with(0).prints(id).prints("open");
    admin(&at, &["policies", "draft", id]).await.with(0).prints("next     ade policies publish");
    let replayed = admin(&at, &["policies", "replay", "-f", "rules/hosts.yaml"]).await.with(0);
    replayed.prints("nothing was saved").prints("same");
    // The only admin publishes a draft: at once in setup, and later as a change that waits.
    admin(&at, &["policies", "publish", id]).await.with(0).prints("Published hosts as version 1");
    admin(&at, &["policies", "list"]).await.with(0).prints("hosts");
    at.end_setup().await;
    fs::write(at.home().join("rules/hosts.yaml"), policy.replace("reviewer", "author")).unwrap();
    let draft = admin_json(&at, &["policies", "apply", "-f", "rules/hosts.yaml"]).await;
    let id = text(&draft["id"]);
    let shown = admin(&at, &["policies", "draft", id]).await.with(0);
    shown.prints("takes effect 24 hours later unless someone objects");
    let waiting = admin(&at, &["policies", "publish", id]).await.with(0);
    waiting.prints("◐ Proposed: takes effect at ").prints("ade changes show chg_");
    admin(&at, &["policies", "draft", id]).await.with(0).prints("next     ade changes list");
    admin(&at, &["policies", "withdraw", id]).await.with(0).prints("withdrawn");
    fs::write(at.home().join("rules/hosts.yaml"), policy).unwrap();

    let cases = "cases:\n  - name: one\n    task: {type: command.run, resources: [host:a], \
                 risk: 10}\n    expect: {outcome: OUTCOME}\n";
    for (outcome, code) in [("review", 0), ("passes", 76)] {
        fs::write(at.home().join("cases.yaml"), cases.replace("OUTCOME", outcome)).unwrap();
        let mut test = at.bare(&["policies", "test", "-f", "cases.yaml", "--policies", "rules"]);
        test.env("ADE_SERVER", "http://127.0.0.1:9");
        let tried = ended(test).await;
        assert_eq!(tried.code, Some(code), "{}{}", tried.out, tried.err);
        same(&format!("policies-test-{outcome}"), &tried.out);
    }
}

#[tokio::test]
async fn delegations_freezes_audit_and_webhooks_work() {
    let at = Installation::start().await;
    let users = admin_json(&at, &["users", "list"]).await;
    let named = |name: &str| {
        let all = users.as_array().unwrap();
        text(&all.iter().find(|user| user["name"] == name).unwrap()["id"]).to_owned()
    };
    let rea = named("Rea");
    let made = admin_json(&at, &["delegations", "create", "--to", &rea, "--until", "2h"]).await;
    let listed = admin(&at, &["delegations", "list"]).await.with(0);
    listed.prints(text(&made["id"])).prints("transfer");
    admin(&at, &["delegations", "resolve"]).await.with(0).prints(&rea);
    admin(&at, &["delegations", "revoke", text(&made["id"])]).await.with(0);

    let frozen = admin(&at, &["freeze", "--scope", "env:prod", "--reason", "INC-1"]).await.with(0);
    frozen.prints("Froze applies for environment prod");
    let listed = admin(&at, &["freezes", "list"]).await.with(0);
    listed.prints("active").prints("INC-1");
    admin(&at, &["unfreeze"]).await.with(64).says("--reason");
    let lift = ["unfreeze", "--reason", "INC-441 is over"];
    admin(&at, &lift).await.with(64).says("cannot ask for confirmation");
    let lift = ["unfreeze", "--reason", "INC-441 is over", "--yes"];
    let ended = admin(&at, &lift).await.with(0);
    ended.prints("Lifted the freeze of").says("approved task");
    admin(&at, &["audit", "list"]).await.with(0).prints("freeze.lift");
    admin(&at, &lift).await.with(68).says("no freeze is active");

    let audit = admin(&at, &["audit", "list", "--from", "1h", "-n", "5"]).await.with(0);
    assert!(
        audit.out.lines().count() == 6 && audit.err.contains("More items exist"),
        "{}",
        audit.out
    );
    audit.prints("freeze").prints("usr_").prints("RESULT").prints("done");
    let refused = admin_json(&at, &["audit", "list", "--kind", "refusal"]).await;
    assert_eq!(refused, serde_json::json!([]), "nothing was refused yet");
    admin(&at, &["audit", "list", "--kind", "success"]).await.with(64).says("change, refusal");
    let leaves = admin_json(&at, &["audit", "list", "-n", "3"]).await;
    assert!(leaves.as_array().unwrap().iter().all(|leaf| leaf["hash"].is_string()), "{leaves}");

    let whole = admin(&at, &["audit", "export", "--from", "1h"]).await.with(0);
    let leaves: Vec<Value> =
        whole.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(leaves.len() > 5 && leaves.iter().all(|leaf| leaf["leaf"]["what"].is_object()));
    whole.says(&format!("{} audit entries", leaves.len()));

    let url = "https://hooks.example.com/ade";
    let hook = admin_json(&at, &["webhooks", "create", url, "--event", "task.*"]).await;
    let (id, secret) = (text(&hook["id"]), text(&hook["secret"]));
    let listed = admin(&at, &["webhooks", "list"]).await.with(0);
    listed.prints(url).prints("● active");
    assert!(!listed.out.contains(secret), "shown once");
    let changed = admin(&at, &["webhooks", "change", id, "--active", "false"]).await.with(0);
    changed.prints("■ disabled");
    admin(&at, &["webhooks", "deliveries", id]).await.with(0).prints("No deliveries.");
    admin(&at, &["webhooks", "delete", id, "--yes"]).await.with(0);
    admin(&at, &["webhooks", "get", id]).await.with(68);
    admin(&at, &["risk", "settings"]).await.with(0).prints("critical from");
}

#[tokio::test]
async fn apply_of_a_file_is_idempotent() {
    let at = Installation::start().await;
    let users = admin_json(&at, &["users", "list"]).await;
    let owner = text(&users[0]["id"]);
    let file = |max: u32| {
        let text = format!("name: from-file\nowner_id: {owner}\nmax_tasks: {max}\n");
        fs::write(at.home().join("agent.yaml"), text).unwrap();
    };
    let apply = ["agents", "apply", "-f", "agent.yaml"];
    file(2);
    admin(&at, &apply).await.with(0).prints("Registered agent from-file as agt_");
    admin(&at, &apply).await.with(0).prints("Agent from-file is up to date");
    file(3);
    admin(&at, &apply).await.with(0).prints("0 of 3");
    let listed = admin_json(&at, &["agents", "list"]).await;
    let named = listed.as_array().unwrap().iter().filter(|agent| agent["name"] == "from-file");
    assert_eq!(named.count(), 1, "{listed}");
    let other = users.as_array().unwrap().iter().find(|user| user["id"] != owner).unwrap();
    let text = format!("name: from-file\nowner_id: {}\n", text(&other["id"]));
    fs::write(at.home().join("agent.yaml"), text).unwrap();
    admin(&at, &apply).await.with(1).says("the owner of an agent cannot be changed");

    let policy = "name: hosts\nrequire: [{roles: [reviewer], min: 1}]\n";
    fs::write(at.home().join("hosts.yaml"), policy).unwrap();
    let differs = ["policies", "diff", "-f", "hosts.yaml"];
    admin(&at, &differs).await.with(0).prints("hosts is a new policy");
    admin(&at, &[&differs[..], &["--exit-code"]].concat()).await.with(1);
    let difference = admin_json(&at, &differs).await;
    assert_eq!((&difference["name"], &difference["version"]), (&"hosts".into(), &Value::Null));

    let timeouts = admin(&at, &["timeouts", "get"]).await.with(0);
    timeouts.prints("approval.default_timeout_seconds 2d").prints("installation default");
    fs::write(at.home().join("timeouts.yaml"), "task: {default_timeout_seconds: 90}\n").unwrap();
    let set = ["timeouts", "set", "-f", "timeouts.yaml", "--reason", "quick"];
    let set = admin(&at, &set).await.with(0);
    set.prints("version 1").prints("task.default_timeout_seconds     1m30s\n");
    fs::write(at.home().join("timeouts.yaml"), "task: {default_timeout_seconds: 0}\n").unwrap();
    let refused = admin(&at, &["timeouts", "set", "-f", "timeouts.yaml"]).await.with(1);
    refused.says("task.default_timeout_seconds");
}

#[tokio::test]
async fn freezes_list_and_doctor_show_an_installation_freeze() {
    let at = Installation::start().await;
    let stop = ["freeze", "--reason", "INC-9: all of it", "--by", "Ops"];
    assert!(at.operate(&stop).await.status.success());
    let listed = admin(&at, &["freezes", "list"]).await.with(0);
    listed.says("The whole installation was frozen").says("by Ops: INC-9: all of it");
    admin(&at, &["doctor"]).await.with(76).prints("freeze: ").prints("INC-9: all of it");
    assert!(at.operate(&["thaw", "--reason", "over"]).await.status.success());
    let listed = admin(&at, &["freezes", "list"]).await.with(0);
    assert!(!listed.err.contains("installation"), "{}", listed.err);
}

#[tokio::test]
async fn api_and_doctor_commands_work() {
    let at = Installation::start().await;
    let tasks = ended(at.ade(&["api", "get", "/v1/tasks?page_size=1"])).await.with(0);
    tasks.prints("\"items\"");
    let one = ended(at.ade(&["api", "GET", "/v1/me", "--jq", ".name"])).await.with(0);
    assert_eq!(one.out, "infra-bot\n");
    ended(at.ade(&["api", "GET", "v1/me"])).await.with(1).says("must begin with a slash");
    ended(at.ade(&["api", "GET", "/v1/none"])).await.with(68);
    let good = ended(at.ade(&["doctor"])).await.with(0);
    good.prints("✓ server").prints("✓ token").prints("✓ workers");
    good.prints("✓ setup      note: the tenant is in setup; ");
    // The server listens on a free port, which its settings do not name.
    good.prints("✓ links      note: ").prints("not to http://127.0.0.1:");
    let mut away = at.ade(&["doctor"]);
    away.env("ADE_SERVER", "http://127.0.0.1:9");
    ended(away).await.with(76).prints("✕ server");
    let mut signed_out = at.bare(&["doctor"]);
    signed_out.env("ADE_SERVER", &at.url);
    ended(signed_out).await.with(76).prints("✕ token").prints("ade login");
    let openapi = ended(at.ade(&["api", "GET", "/openapi.json", "--jq", ".openapi"])).await;
    assert_eq!(openapi.with(0).out, "3.1.0\n");
}
