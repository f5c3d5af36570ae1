//! The failures that an agent meets behind `ade hook`: the decision for the host has a code, and
//! its text has the code, the reason and the next step. The text is all that a model reads.

use ade_testkit::eventually;
use ade_testkit::failure_table::FailureCase::{
    Broken, Cancelled, ChangesRequested, Deadlock, Expired, Frozen, LeaseLost, LockBusy, Paused,
    RateLimited, Rejected, Restart, WrongScope, WrongToken,
};
use ade_testkit::failure_table::{
    FailureCase, FailureRow, Returned, assert_complete, assert_returned, impossible, returns,
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::failures::{OVERDUE, SILENT, is_noticed, limited, stage, stopped, token};
use crate::hook::heard;
use crate::installation::{Ended, Installation, SOON};

const BEFORE: &str = "before the tool";
const AFTER: &str = "after the tool";

/// The causes are the decision, or the exit code of an error, and the code.
const TABLE: &[FailureRow] = &[
    returns(Rejected, BEFORE, "deny rejected", "not on a Friday", "Do not repeat the call"),
    returns(
        ChangesRequested,
        BEFORE,
        "deny changes_requested",
        "a dry run",
        "Make a different call",
    ),
    returns(
        Expired,
        BEFORE,
        "deny expired",
        "without enough approvals",
        "repeat the call to ask again",
    ),
    returns(Cancelled, BEFORE, "deny cancelled", "customer called", "repeat the call to ask again"),
    returns(Cancelled, AFTER, "2 abort_requested", "customer called", "undo what the tool did"),
    returns(Frozen, BEFORE, "deny frozen", "launch day", "wait until the freeze ends"),
    returns(Paused, BEFORE, "deny agent_paused", "release week", "resumes the agent"),
    returns(LockBusy, BEFORE, "deny lock_held", "is held by", "the task keeps its place"),
    impossible(Deadlock, "one claim takes all locks of the call, and no call waits under a lock"),
    returns(LeaseLost, AFTER, "2 lease_lost", "too late", "a person must find out"),
    returns(Broken, AFTER, "2 lease_lost", "incident 7", "a person must find out"),
    returns(WrongToken, BEFORE, "2 unauthenticated", "revoked at", "new token"),
    returns(WrongScope, BEFORE, "2 insufficient_scope", "the scope `propose`", "Use a token with"),
    returns(RateLimited, BEFORE, "2 rate_limited", "exceeded", "Retry after"),
    returns(Restart, BEFORE, "2 unreachable", "cannot reach the server", "Repeat the call"),
];

#[test]
fn hook_failure_table_has_each_case() {
    assert_complete(TABLE);
}

#[tokio::test]
async fn hook_failure_tells_a_model_why_and_what_next() {
    let stage = Stage(stage(json!(["tool.*"])).await);
    for case in FailureCase::ALL {
        assert_returned(TABLE, *case, &stage.meet(*case).await);
    }
}

struct Stage(Installation);

impl Stage {
    /// Brings a failure about, and returns what the host of the agent receives then.
    async fn meet(&self, case: FailureCase) -> Vec<Returned> {
        match case {
            Rejected => vec![self.decided("reject", "not on a Friday").await],
            ChangesRequested => vec![self.decided("request-changes", "use a dry run").await],
            Expired => vec![self.expired().await],
            Cancelled => self.cancelled().await,
            Frozen => vec![self.frozen().await],
            Paused => vec![self.paused().await],
            LockBusy => vec![self.lock_busy().await],
            Deadlock => Vec::new(),
            LeaseLost => vec![self.lease_lost().await],
            Broken => vec![self.broken().await],
            WrongToken => vec![self.wrong_token().await],
            WrongScope => vec![self.wrong_scope().await],
            RateLimited => vec![self.rate_limited().await],
            Restart => vec![self.restart().await],
        }
    }

    fn hook(&self, more: &[&str]) -> Command {
        self.0.ade(&[&["hook", "claude-code", "--wait", "1ms"], more].concat())
    }

    /// Asks for a call without waiting, so that its review opens.
    async fn ask(&self, call: &str, more: &[&str]) {
        let denied = before(self.hook(more), call).await;
        assert_eq!(denied.cause, "deny approvals_missing", "{}", denied.whole);
    }

    async fn decided(&self, vote: &str, reason: &str) -> Returned {
        self.ask(vote, &[]).await;
        self.0.answer(vote, reason).await;
        before(self.hook(&[]), vote).await
    }

    /// Lets the reviewer approve a call, and returns what the host receives for it then.
    async fn approved(&self, call: &str, more: &[&str]) -> (String, Returned) {
        self.ask(call, more).await;
        let task = self.0.answer("approve", "fine").await;
        let answered = before(self.hook(more), call).await;
        (task["id"].as_str().unwrap().to_owned(), answered)
    }

    /// Lets the host run a call, and returns its task.
    async fn running(&self, call: &str, more: &[&str]) -> String {
        let (task, answered) = self.approved(call, more).await;
        assert_eq!(answered.cause, "allow ", "{}", answered.whole);
        task
    }

    async fn admin(&self, path: &str, body: Value) -> Value {
        self.0.post(&self.0.admin, path, body).await
    }

    async fn cancel(&self, task: &Value) {
        let path = format!("/v1/tasks/{}/cancel", task["id"].as_str().unwrap());
        self.admin(&path, json!({ "reason": "customer called" })).await;
    }

    /// What a hook returns that waits while the task of its call ends.
    async fn waiting(&self, call: &str, end: impl AsyncFnOnce(Value)) -> Returned {
        let hook = self.0.ade(&["hook", "claude-code", "--wait", "5m"]);
        let ending = async { end(self.0.task_in("REVIEWING").await).await };
        let (returned, ()) = tokio::join!(before(hook, call), ending);
        returned
    }

    async fn expired(&self) -> Returned {
        self.waiting("expire", async |_| self.0.pass(OVERDUE).await).await
    }

    async fn cancelled(&self) -> Vec<Returned> {
        let waited = self.waiting("cancel", async |task| self.cancel(&task).await).await;
        let task = self.running("cancel it", &[]).await;
        self.cancel(&json!({ "id": task })).await;
        vec![waited, self.after("cancel it").await]
    }

    async fn frozen(&self) -> Returned {
        let freeze = json!({ "scope": "tenant", "reason": "launch day" });
        let freeze = self.admin("/v1/freezes", freeze).await;
        let (_, returned) = self.approved("freeze", &[]).await;
        let path = format!("/v1/freezes/{}", freeze["id"].as_str().unwrap());
        self.0.call(Method::DELETE, &self.0.admin, &path, None).await;
        returned
    }

    async fn paused(&self) -> Returned {
        let order = format!("/v1/agents/{}", self.0.agent_id);
        self.admin(&format!("{order}/pause"), json!({ "reason": "release week" })).await;
        let (_, returned) = self.approved("pause", &[]).await;
        self.admin(&format!("{order}/resume"), json!({})).await;
        returned
    }

    async fn lock_busy(&self) -> Returned {
        let lock = ["--resource", "host:busy"];
        self.running("hold it", &lock).await;
        self.approved("want it", &lock).await.1
    }

    /// The server gives up an attempt whose lease has expired.
    async fn lease_lost(&self) -> Returned {
        let task = self.running("lose it", &[]).await;
        self.0.pass(SILENT).await;
        eventually("the task is UNKNOWN", SOON, async || {
            let state = self.0.task(&task).await["state"].clone();
            if state == "UNKNOWN" { Ok(()) } else { Err(state) }
        })
        .await;
        self.after("lose it").await
    }

    async fn broken(&self) -> Returned {
        self.running("break it", &["--resource", "host:broken"]).await;
        self.admin("/v1/locks/host/broken/break", json!({ "reason": "incident 7" })).await;
        is_noticed(&self.0).await;
        self.after("break it").await
    }

    async fn wrong_token(&self) -> Returned {
        let (token, id) = token(&self.0, &["read", "propose", "execute"]).await;
        let path = format!("/v1/tokens/{id}");
        self.0.call(Method::DELETE, &self.0.admin, &path, None).await;
        before(self.0.ade_as(&token, &["hook", "claude-code"]), "no token").await
    }

    async fn wrong_scope(&self) -> Returned {
        let (token, _) = token(&self.0, &["read", "execute"]).await;
        before(self.0.ade_as(&token, &["hook", "claude-code"]), "no scope").await
    }

    async fn rate_limited(&self) -> Returned {
        let token = limited(&self.0, json!(["tool.*"])).await;
        before(self.0.ade_as(&token, &["hook", "claude-code"]), "too often").await
    }

    async fn restart(&self) -> Returned {
        stopped(&self.0).await;
        before(self.hook(&[]), "restart").await
    }

    async fn after(&self, call: &str) -> Returned {
        let result = json!({ "tool_response": { "stdout": "done", "interrupted": false } });
        let done = heard(self.hook(&[]), &request("PostToolUse", call, &result)).await;
        failed(AFTER, &done)
    }
}

fn request(event: &str, call: &str, more: &Value) -> String {
    let mut request = json!({
        "session_id": "s-1", "cwd": "/srv/shop", "hook_event_name": event, "tool_name": "Bash",
        "tool_input": { "command": call },
    });
    let more = more.as_object().unwrap().clone();
    request.as_object_mut().unwrap().extend(more);
    request.to_string()
}

/// What the host receives before it runs a call: a decision, or an error that blocks the call.
async fn before(hook: Command, call: &str) -> Returned {
    let done = heard(hook, &request("PreToolUse", call, &json!({}))).await;
    if done.code != Some(0) {
        return failed(BEFORE, &done);
    }
    let answer: Value = serde_json::from_str(&done.out).unwrap();
    let output = &answer["hookSpecificOutput"];
    let word = |name: &str| output[name].as_str().unwrap().to_owned();
    let text = word("permissionDecisionReason");
    returned(BEFORE, &word("permissionDecision"), text, done.out)
}

/// What the host receives with an error. It shows standard error to the model if the exit code is
/// 2.
fn failed(call: &'static str, done: &Ended) -> Returned {
    let code = done.code.map(|code| code.to_string()).unwrap_or_default();
    returned(call, &code, done.err.clone(), format!("{}{}", done.out, done.err))
}

fn returned(call: &'static str, decision: &str, text: String, whole: String) -> Returned {
    let code = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let cause = format!("{decision} {}", code.map(|(code, _)| code).unwrap_or_default());
    Returned { call, cause, reason: vec![text.clone()], next: vec![text], whole }
}
