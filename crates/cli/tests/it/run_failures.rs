//! The failures that an agent meets with `ade run`: the exit code and the code say what happened,
//! and standard error has the reason and the next step, as text and with `-o json`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use ade_testkit::eventually;
use ade_testkit::failure_table::FailureCase::{
    Broken, Cancelled, ChangesRequested, Deadlock, Expired, Frozen, LeaseLost, LockBusy, Paused,
    RateLimited, Rejected, Restart, WrongScope, WrongToken,
};
use ade_testkit::failure_table::{
    FailureCase, FailureRow, Returned, assert_complete, assert_returned, impossible, returns,
};
use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::process::Child;

use crate::apply::{ENDLESS, running};
use crate::failures::{OVERDUE, SILENT, limited, stage, stopped, token};
use crate::installation::{Ended, Installation, SOON, ended};
use crate::run::{finish, run, signal, text};

/// The command ends because of the failure: with text, and with `-o json`.
const TEXT: &str = "ade run";
const JSON: &str = "ade run -o json";
/// A failure while the command runs, which stops it.
const RUNNING: &str = "ade run, later";
/// The command goes on waiting, and says so.
const WAITING: &str = "ade run, waiting";

/// The causes are the exit code, unless the command goes on waiting, and the code.
const TABLE: &[FailureRow] = &[
    returns(Rejected, TEXT, "65 rejected", "not on a Friday", "do not repeat the request"),
    returns(Rejected, JSON, "65 rejected", "not on a Friday", "do not repeat the request"),
    returns(ChangesRequested, TEXT, "65 changes_requested", "a dry run", "amend the task"),
    returns(Expired, TEXT, "66 expired", "without enough approvals", "resubmit the task"),
    returns(Cancelled, TEXT, "66 cancelled", "customer called", "resubmit the task"),
    returns(Cancelled, RUNNING, "66 abort_requested", "customer called", "undo what"),
    returns(Frozen, WAITING, "frozen", "launch day", "wait until the freeze ends"),
    returns(Paused, WAITING, "agent_paused", "release week", "resumes the agent"),
    returns(LockBusy, WAITING, "lock_held", "is held by", "the task keeps its place"),
    impossible(Deadlock, "one claim takes all locks of the task, and nothing is held before it"),
    returns(Broken, RUNNING, "70 lease_lost", "incident 7", "a person must find out"),
    returns(LeaseLost, RUNNING, "70 lease_lost", "EXPIRED", "a person must find out"),
    returns(WrongToken, TEXT, "77 unauthenticated", "revoked at", "new token"),
    returns(WrongScope, JSON, "77 insufficient_scope", "the scope `propose`", "Use a token with"),
    returns(RateLimited, TEXT, "1 rate_limited", "exceeded", "Retry after"),
    returns(Restart, WAITING, "unreachable", "cannot reach the server", "retrying"),
    returns(Restart, TEXT, "69 unreachable", "cannot reach the server", "ade doctor"),
];

#[test]
fn run_failure_table_has_each_case() {
    assert_complete(TABLE);
}

#[tokio::test]
async fn run_failure_says_why_and_what_next() {
    let stage = Stage(stage(json!(["command.run"])).await);
    for case in FailureCase::ALL {
        assert_returned(TABLE, *case, &stage.meet(*case).await);
    }
}

struct Stage(Installation);

impl Stage {
    /// Brings a failure about, and returns what the commands say then.
    async fn meet(&self, case: FailureCase) -> Vec<Returned> {
        match case {
            Rejected => self.rejected().await,
            ChangesRequested => vec![self.changes_requested().await],
            Expired => vec![self.expired().await],
            Cancelled => self.cancelled().await,
            Frozen => vec![self.frozen().await],
            Paused => vec![self.paused().await],
            LockBusy => vec![self.lock_busy().await],
            Deadlock => Vec::new(),
            Broken => vec![self.broken().await],
            LeaseLost => vec![self.lease_lost().await],
            WrongToken => vec![self.wrong_token().await],
            WrongScope => vec![self.wrong_scope().await],
            RateLimited => vec![self.rate_limited().await],
            Restart => self.restart().await,
        }
    }

    async fn admin(&self, path: &str, body: Value) -> Value {
        self.0.post(&self.0.admin, path, body).await
    }

    async fn cancel(&self, task: &Value) {
        let path = format!("/v1/tasks/{}/cancel", text(&task["id"]));
        self.admin(&path, json!({ "reason": "customer called" })).await;
    }

    async fn decided(&self, more: &[&str], vote: &str, reason: &str) -> Ended {
        let child = self.0.ade(&run(more, &["false"])).spawn().unwrap();
        self.0.answer(vote, reason).await;
        finish(child).await
    }

    async fn rejected(&self) -> Vec<Returned> {
        let no = "not on a Friday";
        let shown = self.decided(&[], "reject", no).await;
        vec![said(TEXT, &shown), data(&self.decided(&["-o", "json"], "reject", no).await)]
    }

    async fn changes_requested(&self) -> Returned {
        said(TEXT, &self.decided(&[], "request-changes", "use a dry run").await)
    }

    async fn expired(&self) -> Returned {
        let child = self.0.ade(&run(&[], &["false"])).spawn().unwrap();
        self.0.task_in("REVIEWING").await;
        self.0.pass(OVERDUE).await;
        said(TEXT, &finish(child).await)
    }

    async fn cancelled(&self) -> Vec<Returned> {
        let child = self.0.ade(&run(&[], &["false"])).spawn().unwrap();
        self.cancel(&self.0.task_in("REVIEWING").await).await;
        let before = said(TEXT, &finish(child).await);
        let (child, task) = self.running("host:cancelled").await;
        self.cancel(&task).await;
        vec![before, said(RUNNING, &finish(child).await)]
    }

    /// Lets the reviewer approve a command that runs until it is stopped.
    async fn running(&self, resource: &str) -> (Child, Value) {
        // The file of the last command.
        let _ = fs::remove_file(self.0.home().join("pid"));
        let command = self.0.ade(&["run", "--resource", resource, "--", "sh", "-c", ENDLESS]);
        running(&self.0, command).await
    }

    /// What a command says that is approved and has to wait.
    async fn waiting(&self, resource: &str) -> Returned {
        let (child, log) = self.logging(resource);
        self.0.answer("approve", "go on").await;
        let returned = waits(&log).await;
        signal(&child, Signal::INT);
        finish(child).await.with(130);
        returned
    }

    /// Starts a command that writes its messages to a file.
    fn logging(&self, resource: &str) -> (Child, PathBuf) {
        let log = self.0.home().join("run.err");
        let mut command = self.0.ade(&["run", "--resource", resource, "--", "false"]);
        command.stderr(File::create(&log).unwrap());
        (command.spawn().unwrap(), log)
    }

    async fn frozen(&self) -> Returned {
        let freeze = json!({ "scope": "tenant", "reason": "launch day" });
        let freeze = self.admin("/v1/freezes", freeze).await;
        let returned = self.waiting("host:frozen").await;
        let path = format!("/v1/freezes/{}", text(&freeze["id"]));
        self.0.call(Method::DELETE, &self.0.admin, &path, None).await;
        returned
    }

    async fn paused(&self) -> Returned {
        let order = format!("/v1/agents/{}", self.0.agent_id);
        self.admin(&format!("{order}/pause"), json!({ "reason": "release week" })).await;
        let returned = self.waiting("host:paused").await;
        self.admin(&format!("{order}/resume"), json!({})).await;
        returned
    }

    async fn lock_busy(&self) -> Returned {
        let (holder, _) = self.running("host:busy").await;
        let returned = self.waiting("host:busy").await;
        signal(&holder, Signal::TERM);
        finish(holder).await;
        returned
    }

    async fn broken(&self) -> Returned {
        let (child, _) = self.running("host:broken").await;
        self.admin("/v1/locks/host/broken/break", json!({ "reason": "incident 7" })).await;
        said(RUNNING, &finish(child).await)
    }

    /// The server gives up an attempt whose lease has expired.
    async fn lease_lost(&self) -> Returned {
        let (child, _) = self.running("host:lost").await;
        self.0.pass(SILENT).await;
        said(RUNNING, &finish(child).await)
    }

    async fn as_holder_of(&self, token: &str, more: &[&str]) -> Ended {
        ended(self.0.ade_as(token, &run(more, &["false"]))).await
    }

    async fn wrong_token(&self) -> Returned {
        let (token, id) = token(&self.0, &["read", "propose", "execute"]).await;
        let path = format!("/v1/tokens/{id}");
        self.0.call(Method::DELETE, &self.0.admin, &path, None).await;
        said(TEXT, &self.as_holder_of(&token, &[]).await)
    }

    async fn wrong_scope(&self) -> Returned {
        let (token, _) = token(&self.0, &["read", "execute"]).await;
        data(&self.as_holder_of(&token, &["-o", "json"]).await)
    }

    async fn rate_limited(&self) -> Returned {
        let token = limited(&self.0, json!(["command.run"])).await;
        said(TEXT, &self.as_holder_of(&token, &[]).await)
    }

    /// The server stops while a command waits for its review, and another one finds no server.
    async fn restart(&self) -> Vec<Returned> {
        let (_child, log) = self.logging("host:a");
        self.0.task_in("REVIEWING").await;
        stopped(&self.0).await;
        let next = ended(self.0.ade(&run(&[], &["false"]))).await;
        vec![waits(&log).await, said(TEXT, &next)]
    }
}

/// The error on standard error: `error[code]: …` and the lines below it.
fn said(call: &'static str, done: &Ended) -> Returned {
    let (_, error) = done.err.split_once("error[").unwrap_or_default();
    let code = error.split(']').next().unwrap_or_default();
    let cause = format!("{} {code}", done.code.unwrap());
    let error = error.to_owned();
    Returned {
        call,
        cause,
        reason: vec![error.clone()],
        next: vec![error],
        whole: done.err.clone(),
    }
}

/// The last line on standard error is the error as JSON.
fn data(done: &Ended) -> Returned {
    let last = done.err.lines().last().unwrap_or_default();
    let error: Value = serde_json::from_str(last).unwrap_or_default();
    let word = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
    assert_eq!(error["exit"], json!(done.code), "{}", done.err);
    let cause = format!("{} {}", done.code.unwrap(), word("code"));
    let (reason, next) = (vec![word("detail")], vec![word("advice")]);
    Returned { call: JSON, cause, reason, next, whole: done.err.clone() }
}

/// Waits until a command says what it waits for, and returns that line.
async fn waits(log: &Path) -> Returned {
    let line = eventually("the command says what it waits for", SOON, async || {
        let text = fs::read_to_string(log).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("[ade] waiting  "));
        line.map(str::to_owned).ok_or(text)
    })
    .await;
    let cause = line.split(':').next().unwrap_or_default().to_owned();
    let (reason, next) = (vec![line.clone()], vec![line.clone()]);
    Returned { call: WAITING, cause, reason, next, whole: line }
}
