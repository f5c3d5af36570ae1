//! The failures that a model meets, through the tools of `/mcp`: the structured result has the
//! cause, the reason and the next step, and so has the text, which is all that some hosts show.

use std::time::Duration;

use ade_core::rate::Rate;
use ade_core::token::Token;
use ade_engine::services::rate_limiter::RateLimitSettings;
use ade_mcp::Tool;
use ade_testkit::failure_table::FailureCase::{
    Broken, Cancelled, ChangesRequested, Deadlock, Expired, Frozen, LeaseLost, LockBusy, Paused,
    RateLimited, Rejected, Restart, WrongScope, WrongToken,
};
use ade_testkit::failure_table::{
    FailureCase, FailureRow, Returned, assert_complete, assert_returned, returns,
};
use serde_json::{Value, json};

use crate::claiming::{approved_of, may_have};
use crate::executions::runner;
use crate::mcp::request_of;
use crate::test_server::TestServer;
use crate::world::{LockBackend, Person, TestServerOptions, World, id, path_of, seen, unlimited};

const WAIT: &str = "wait_for_decision";
const START: &str = "start_change";
const FINISH: &str = "finish_change";
const GET: &str = "get_request";
const ACQUIRE: &str = "acquire_locks";
const RELEASE: &str = "release_locks";
const REQUEST: &str = "request_approval";
/// The HTTP endpoint itself refuses the request, before a tool is called.
const ENDPOINT: &str = "POST /mcp";

/// Long enough for an attempt without heartbeats to be given up.
const SILENT: Duration = Duration::from_hours(1);
/// Long enough for a review to expire that was opened after that.
const OVERDUE: Duration = Duration::from_hours(3 * 24 + 2);

/// The causes are the codes of the API, a lost lease with its state.
const TABLE: &[FailureRow] = &[
    returns(Rejected, WAIT, "rejected", "not on a Friday", "do not make the change"),
    returns(Rejected, START, "rejected", "not on a Friday", "do not repeat the request"),
    returns(ChangesRequested, WAIT, "changes_requested", "use a batch", "do what decision.reason"),
    returns(ChangesRequested, START, "changes_requested", "use a batch", "as the decision asks"),
    returns(Expired, WAIT, "expired", "without enough approvals", "ask again"),
    returns(Expired, START, "expired", "without enough approvals", "resubmit"),
    returns(Cancelled, WAIT, "cancelled", "customer called", "nothing: the request was withdrawn"),
    returns(Cancelled, START, "cancelled", "customer called", "nothing, or resubmit"),
    returns(Cancelled, GET, "abort_requested", "customer called", "stop now, undo"),
    returns(Frozen, START, "frozen", "launch day", "do not act: wait until the freeze ends"),
    returns(Paused, START, "agent_paused", "release week", "do not act"),
    returns(LockBusy, START, "lock_held", "is held by", "do not act: wait"),
    returns(LockBusy, ACQUIRE, "lock_held", "is held by", "call again with the same lease_id"),
    returns(Deadlock, ACQUIRE, "deadlock_detected", "behind agt_", "Release all your locks"),
    returns(LeaseLost, GET, "lease_lost EXPIRED", "EXPIRED", "change nothing more"),
    returns(LeaseLost, FINISH, "unknown", "too late", "inform the person"),
    returns(LeaseLost, RELEASE, "lease_lost EXPIRED", "EXPIRED", "Stop all work under this lease"),
    returns(Broken, GET, "lease_lost BROKEN", "incident 7", "change nothing more"),
    returns(Broken, FINISH, "lease_lost BROKEN", "incident 7", "a person must find out"),
    returns(Broken, RELEASE, "lease_lost BROKEN", "incident 8", "Stop all work under this lease"),
    returns(Restart, WAIT, "timed_out", "not decided yet", "wait until people decide"),
    returns(WrongToken, ENDPOINT, "unauthenticated expired", "expired at", "Sign in again"),
    returns(WrongScope, REQUEST, "insufficient_scope", "the scope `propose`", "Use a token with"),
    returns(RateLimited, GET, "rate_limited", "exceeded", "Retry after"),
    returns(RateLimited, ENDPOINT, "rate_limited", "exceeded", "Retry after"),
];

#[test]
fn mcp_failure_table_has_each_case() {
    assert_complete(TABLE);
}

#[tokio::test]
async fn mcp_failure_tells_a_model_why_and_what_next() {
    let stage = Stage::new().await;
    for case in FailureCase::ALL {
        assert_returned(TABLE, *case, &stage.meet(*case).await);
    }
}

struct Stage {
    world: World,
    bob: Person,
    rea: Person,
    bot: Person,
}

impl Stage {
    async fn new() -> Self {
        let world = World::new().await;
        let bob = world.person("Bob", &["author"]).await;
        let rea = world.person("Rea", &["reviewer"]).await;
        let bot = runner(&world, "infra-bot", &bob).await;
        may_have(&world, &bot, 9).await;
        Self { world, bob, rea, bot }
    }

    /// Brings a failure about, and returns what the agent's calls return then.
    async fn meet(&self, case: FailureCase) -> Vec<Returned> {
        match case {
            Rejected => self.decided("reject", "not on a Friday").await,
            ChangesRequested => self.decided("request-changes", "use a batch").await,
            Expired => self.expired().await,
            Cancelled => self.cancelled().await,
            Frozen => vec![self.frozen().await],
            Paused => vec![self.paused().await],
            LockBusy => self.lock_busy().await,
            Deadlock => vec![self.deadlock().await],
            LeaseLost => self.lease_lost().await,
            Broken => self.broken().await,
            Restart => vec![self.restart().await],
            WrongToken => vec![self.wrong_token().await],
            WrongScope => vec![self.wrong_scope().await],
            RateLimited => self.rate_limited().await,
        }
    }

    async fn call(&self, tool: Tool, arguments: Value) -> Returned {
        ask(&self.world.rig, &self.bot.token, tool, arguments).await
    }

    async fn admin(&self, path: &str, body: Value) -> Value {
        self.world.post(&self.world.admin.token, path, body).await.expect(200)
    }

    /// What the calls return that wait for a decision and that begin the change.
    async fn waited_and_started(&self, task: &Value) -> Vec<Returned> {
        let named = json!({ "task_id": task["id"] });
        vec![self.call(Tool::WaitForDecision, named.clone()).await, self.start(&named).await]
    }

    async fn start(&self, named: &Value) -> Returned {
        self.call(Tool::StartChange, named.clone()).await
    }

    async fn approved(&self, database: &str) -> Value {
        approved_of(&self.world, &self.bob, &self.rea, database).await
    }

    async fn decided(&self, vote: &str, reason: &str) -> Vec<Returned> {
        let task = self.world.reviewing(&self.bot, vote).await;
        let mut answer = seen(&task);
        answer["reason"] = json!(reason);
        let path = format!("{}/{vote}", path_of(&task));
        self.world.post(&self.rea.token, &path, answer).await.expect(200);
        self.waited_and_started(&task).await
    }

    async fn expired(&self) -> Vec<Returned> {
        let task = self.world.reviewing(&self.bot, "expire").await;
        self.world.pass(OVERDUE).await;
        self.world.work("task_expirer").await;
        self.waited_and_started(&task).await
    }

    async fn cancelled(&self) -> Vec<Returned> {
        let cancel = async |task: &Value, status: u16| {
            let (path, why) =
                (format!("{}/cancel", path_of(task)), json!({ "reason": "customer called" }));
            self.world.post(&self.bob.token, &path, why).await.expect(status);
        };
        let task = self.world.reviewing(&self.bot, "cancel").await;
        cancel(&task, 200).await;
        let mut returned = self.waited_and_started(&task).await;
        let (task, ids) = self.started("cancelled").await;
        cancel(&task, 202).await;
        returned.push(self.call(Tool::GetRequest, ids).await);
        returned
    }

    /// Begins a change, and returns its task and the arguments that name the attempt.
    async fn started(&self, database: &str) -> (Value, Value) {
        let task = self.approved(database).await;
        let started = self.start(&json!({ "task_id": task["id"] })).await;
        let started: Value = serde_json::from_str(&started.whole).unwrap();
        let permit = started.pointer("/result/structuredContent/permit").unwrap();
        let (execution, lease) = (&permit["execution_id"], &permit["lease_id"]);
        let ids = json!({ "task_id": task["id"], "execution_id": execution, "lease_id": lease });
        (task, ids)
    }

    async fn finish(&self, mut ids: Value) -> Returned {
        ids.as_object_mut().unwrap().remove("task_id");
        ids["outcome"] = json!("succeeded");
        self.call(Tool::FinishChange, ids).await
    }

    async fn frozen(&self) -> Returned {
        let task = self.approved("frozen").await;
        let freeze = json!({ "scope": "tenant", "reason": "launch day" });
        let token = &self.world.admin.token;
        let freeze = self.world.post(token, "/v1/freezes", freeze).await.expect(201);
        let returned = self.start(&json!({ "task_id": task["id"] })).await;
        let path = format!("/v1/freezes/{}", id(&freeze));
        self.world.send("DELETE", token, &path, None, &[]).await.expect(200);
        returned
    }

    async fn paused(&self) -> Returned {
        let task = self.approved("paused").await;
        let order = format!("/v1/agents/{}", self.bot.id);
        self.admin(&format!("{order}/pause"), json!({ "reason": "release week" })).await;
        let returned = self.start(&json!({ "task_id": task["id"] })).await;
        self.admin(&format!("{order}/resume"), json!({})).await;
        returned
    }

    async fn lock_busy(&self) -> Vec<Returned> {
        self.started("busy").await;
        let other = self.approved("busy").await;
        let wanted = json!({ "resources": ["database:busy"] });
        vec![
            self.start(&json!({ "task_id": other["id"] })).await,
            self.call(Tool::AcquireLocks, wanted).await,
        ]
    }

    /// Two processes of the agent hold a lock each, and each asks for that of the other.
    async fn deadlock(&self) -> Returned {
        let lock = async |process: u8, name: &str, seconds: u64| {
            let wanted = json!({
                "resources": [format!("database:{name}")], "wait_seconds": seconds,
                "process_id": format!("ags_{process:026}"),
            });
            self.call(Tool::AcquireLocks, wanted).await
        };
        lock(1, "x", 0).await;
        lock(2, "y", 0).await;
        // The request keeps its place in the queue after the wait.
        lock(1, "y", 1).await;
        lock(2, "x", 1).await
    }

    async fn locked(&self, name: &str) -> Value {
        let wanted = json!({ "resources": [format!("database:{name}")] });
        let held = self.call(Tool::AcquireLocks, wanted).await;
        let held: Value = serde_json::from_str(&held.whole).unwrap();
        let lease = held.pointer("/result/structuredContent/lease_id").unwrap();
        json!({ "lease_id": lease })
    }

    async fn lease_lost(&self) -> Vec<Returned> {
        let (_, ids) = self.started("lost").await;
        let lease = self.locked("unattended").await;
        // The deadlines of leases are those of PostgreSQL's own clock.
        let expire = "UPDATE lock_hold SET deadline = clock_timestamp() - interval '1 hour' \
                      WHERE NOT is_begun";
        self.world.database.run(expire).await;
        self.world.pass(SILENT).await;
        self.world.work("hold_reaper").await;
        self.world.work("apply_rescuer").await;
        vec![
            self.call(Tool::GetRequest, ids.clone()).await,
            self.finish(ids).await,
            self.call(Tool::ReleaseLocks, lease).await,
        ]
    }

    async fn broken(&self) -> Vec<Returned> {
        let (_, ids) = self.started("broken").await;
        let lease = self.locked("unlocked").await;
        let incident = |number: u8| json!({ "reason": format!("incident {number}") });
        self.admin("/v1/locks/database/broken/break", incident(7)).await;
        self.admin("/v1/locks/database/unlocked/break", incident(8)).await;
        vec![
            self.call(Tool::GetRequest, ids.clone()).await,
            self.finish(ids).await,
            self.call(Tool::ReleaseLocks, lease).await,
        ]
    }

    /// A server that is about to stop ends the wait, and the next call goes to another one.
    async fn restart(&self) -> Returned {
        let task = self.world.reviewing(&self.bot, "restart").await;
        let leaving = self.world.beside().await;
        leaving.shared.begin_draining();
        let named = json!({ "task_id": task["id"] });
        ask(&leaving, &self.bot.token, Tool::WaitForDecision, named).await
    }

    async fn wrong_token(&self) -> Returned {
        let eve = self.world.person("Eve", &["author"]).await;
        let key_id = Token::parse(&eve.token).unwrap().key_id;
        let old = "created_at = now() - interval '2 days', expires_at = now()";
        let end = format!("UPDATE token SET {old} WHERE key_id = '{key_id}'");
        self.world.database.run(&end).await;
        // This process has not seen the token before.
        let beside = self.world.beside().await;
        let refused = ask(&beside, &eve.token, Tool::GetRequest, json!({})).await;
        Returned { call: ENDPOINT, ..refused }
    }

    async fn wrong_scope(&self) -> Returned {
        let asked = json!({ "agent_id": self.bot.id, "scopes": ["read"] });
        let token = self.world.post(&self.world.admin.token, "/v1/tokens", asked).await.expect(201);
        let token = token["token"].as_str().unwrap();
        ask(&self.world.rig, token, Tool::RequestApproval, request_of("No")).await
    }

    /// The limit is one call, which the request to the endpoint is: the call of the tool is refused
    /// first, and then the endpoint.
    async fn rate_limited(&self) -> Vec<Returned> {
        let rates = RateLimitSettings { token: Rate { per_minute: 1, burst: 1 }, ..unlimited() };
        let line = LockBackend::Rows(LockBackend::SETTINGS);
        let beside = TestServerOptions { rates, ..line.into() };
        let beside = self.world.beside_fitted(&beside).await;
        let named = json!({ "task_id": "T-1" });
        let inside = ask(&beside, &self.bot.token, Tool::GetRequest, named.clone()).await;
        let refused = ask(&beside, &self.bot.token, Tool::GetRequest, named).await;
        vec![inside, Returned { call: ENDPOINT, ..refused }]
    }
}

/// Calls a tool, and returns what the structured result and the text say.
async fn ask(rig: &TestServer, token: &str, tool: Tool, arguments: Value) -> Returned {
    let params = json!({ "name": tool.name(), "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let response = rig.json("/mcp", body.to_string()).bearer_auth(token).send().await.unwrap();
    let whole: Value = response.json().await.unwrap();
    // The endpoint returns a problem, without a text for a model.
    let facts = whole.pointer("/result/structuredContent").unwrap_or(&whole);
    let text = whole.pointer("/result/content/0/text").and_then(Value::as_str);
    let with_text = |place: Option<&str>| {
        let places = [place, text].into_iter().flatten();
        places.map(str::to_owned).collect()
    };
    let (cause, reason, next) = said(facts);
    let (reason, next) = (with_text(reason), with_text(next));
    Returned { call: tool.name(), cause, reason, next, whole: whole.to_string() }
}

/// What a program reads: the first of these causes that the result has, and what belongs to it.
fn said(facts: &Value) -> (String, Option<&str>, Option<&str>) {
    let text = |pointer: &str| facts.pointer(pointer).and_then(Value::as_str);
    let next = text("/next_action/message");
    if facts["timed_out"] == true {
        return ("timed_out".to_owned(), None, next);
    }
    for (causes, reason) in [
        (["/alerts/0/code", "/alerts/0/state"], "/alerts/0/reason"),
        (["/blocked_by/0/code", ""], "/blocked_by/0/reason"),
        (["/decision/outcome", ""], "/decision/reason"),
        (["/code", if facts["cause"].is_string() { "/cause" } else { "/state" }], "/detail"),
        (["/outcome", ""], ""),
    ] {
        if let (Some(cause), more) = (text(causes[0]), text(causes[1])) {
            let cause = more.map_or_else(|| cause.to_owned(), |more| format!("{cause} {more}"));
            return (cause, text(reason), next);
        }
    }
    (String::new(), None, next)
}
