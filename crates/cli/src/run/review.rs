//! Waits from the submission of a task to its permit: approvals, then locks. Reports who is awaited
//! and ends early on a rejection, a timeout or an unreachable server.

use std::time::Duration;

use ade_api::claims::{Claim, Permit};
use ade_api::code::Code;
use ade_api::explain::Explanation;
use ade_api::seconds::Seconds;
use ade_api::tasks::Task;
use ade_client::{Client, Error};
use ade_core::ids::{AgentId, TaskId};
use ade_core::limits::{RUN_ASIDE_TIMEOUT, RUN_CLAIM_PAUSE, RUN_UNREACHABLE_MAX, WAIT_MAX};
use ade_core::task::{DecisionOutcome, State};
use tokio::time::{Instant, sleep, timeout};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::look;
use crate::progress::Progress;
use crate::text::visible;

/// The error code of a run whose `--timeout` has passed.
const TIMED_OUT: &str = "timed_out";

/// Why no permit was granted.
#[derive(Debug)]
pub enum Denied {
    /// The task has ended or was claimed elsewhere; nothing remains to be done.
    Over(Failure),
    /// The wait was given up, so the task must be cancelled.
    GivenUp(Failure),
}

impl From<Failure> for Denied {
    fn from(failure: Failure) -> Self {
        Self::GivenUp(failure)
    }
}

#[derive(Debug)]
pub struct Review<'a> {
    client: &'a Client,
    agent: AgentId,
    ttl: Option<Duration>,
    deadline: Option<Instant>,
    progress: &'a mut Progress,
    /// The time of the last response of the server.
    heard: Instant,
    has_claimed: bool,
}

impl<'a> Review<'a> {
    pub fn new(
        client: &'a Client,
        agent: AgentId,
        (ttl, deadline): (Option<Duration>, Option<Instant>),
        progress: &'a mut Progress,
    ) -> Self {
        Self { client, agent, ttl, deadline, progress, heard: Instant::now(), has_claimed: false }
    }

    pub async fn permit(mut self, submitted: Task) -> Result<Permit, Denied> {
        let mut task = submitted;
        let mut shown = None;
        loop {
            let (id, state) = (task.summary.id, task.summary.state);
            self.check(&task)?;
            // A vote changes the version but not the state; fewer approvals are then missing.
            let votes = (state == State::Reviewing).then_some(task.summary.version);
            if shown != Some((state, votes)) {
                self.show(&task).await;
                shown = Some((state, votes));
            }
            let moved = if state == State::Approved {
                if let Some(permit) = self.claim(id).await? {
                    return Ok(permit);
                }
                self.heard_of(self.client.tasks().get(id).await).await?
            } else {
                let (version, wait) = (task.summary.version, self.patience());
                let watched = self.client.tasks().wait(id, version, wait).await;
                self.heard_of(watched.map(|watched| watched.task)).await?
            };
            task = moved.unwrap_or(task);
        }
    }

    /// Returns how long one request may wait: whole seconds, at least one.
    fn patience(&self) -> Duration {
        let left = self.deadline.map_or(WAIT_MAX, |end| end - Instant::now());
        left.clamp(Duration::from_secs(1), WAIT_MAX)
    }

    /// Checks whether the task can still get a permit.
    fn check(&self, task: &Task) -> Result<(), Denied> {
        let (id, state) = (task.summary.id, task.summary.state);
        let (exit, outcome, what) = match state {
            State::Submitted | State::Reviewing | State::Approved => return self.check_time(task),
            State::Rejected => (Exit::Rejected, DecisionOutcome::Rejected, "rejected by reviewers"),
            State::Draft => {
                (Exit::Rejected, DecisionOutcome::ChangesRequested, "reviewers requested changes")
            }
            State::Cancelled => (Exit::Ended, DecisionOutcome::Cancelled, "the task was cancelled"),
            State::Expired => (Exit::Ended, DecisionOutcome::Expired, "the review expired"),
            State::Applying | State::Completed | State::Failed | State::Unknown => {
                let what = format!("{id}: the task was claimed by another executor");
                let failure = Failure::new(Exit::Failed, what).code(Code::WrongState.as_str());
                let failure = failure.advice(task.next_action.message.clone());
                return Err(Denied::Over(failure.or_next(format!("ade tasks get {id}"))));
            }
        };
        let failure = Failure::new(exit, format!("{id}: {what}")).code(outcome.as_str());
        let failure =
            failure.advice(task.next_action.message.clone()).or_next(format!("ade tasks get {id}"));
        Err(Denied::Over(match &task.summary.decision {
            Some(decision) => failure.detail(look::decided(decision)),
            None => failure,
        }))
    }

    fn check_time(&self, task: &Task) -> Result<(), Denied> {
        if self.deadline.is_none_or(|end| Instant::now() < end) {
            return Ok(());
        }
        let (id, state) = (task.summary.id, task.summary.state);
        let what = format!("timed out: {id} is still {state}");
        let failure = Failure::new(Exit::TimedOut, what)
            .code(TIMED_OUT)
            .detail("the task is cancelled, because its command would not be run");
        Err(Denied::GivenUp(failure.or_next(format!("ade tasks get {id}"))))
    }

    async fn show(&mut self, task: &Task) {
        let id = task.summary.id;
        match task.summary.state {
            State::Reviewing => {
                let who = match timeout(RUN_ASIDE_TIMEOUT, self.client.tasks().explain(id)).await {
                    Ok(Ok(explanation)) => who(&explanation),
                    _ => visible(&task.next_action.message),
                };
                self.progress.awaits("reviewing", &who);
            }
            State::Approved => {
                self.progress.reached("approved", &id.to_string());
                self.progress.spins("waiting", "for locks");
            }
            // This takes only seconds, so a log gets no line.
            _ => self.progress.spins("waiting", "for the review to open"),
        }
    }

    /// Claims the task. Returns `None` if there is no permit yet or the task must be read again.
    async fn claim(&mut self, task: TaskId) -> Result<Option<Permit>, Denied> {
        let claim = Claim {
            task_id: Some(task.into()),
            ttl_seconds: self.ttl.map(Seconds::rounded_up),
            ..Claim::default()
        };
        // Locks are usually free, so the wait is reported only if it lasts.
        let wait = if self.has_claimed { self.patience() } else { RUN_CLAIM_PAUSE };
        self.has_claimed = true;
        match self.client.agents().claim(self.agent, &claim, wait).await {
            Ok(claimed) => {
                self.heard = Instant::now();
                if claimed.permit.is_none() {
                    self.progress.awaits("waiting", &look::blocked(&claimed.blocked_by));
                }
                Ok(claimed.permit)
            }
            Err(error) if is_for_now(&error) => {
                self.heard = Instant::now();
                self.progress.awaits("waiting", &look::obstacle(&error));
                sleep(RUN_CLAIM_PAUSE).await;
                Ok(None)
            }
            Err(error) => self.heard_of(Err::<Permit, _>(error)).await,
        }
    }

    /// Returns the response, or `None` if the server is temporarily unavailable.
    async fn heard_of<T>(&mut self, asked: Result<T, Error>) -> Result<Option<T>, Denied> {
        match asked {
            Ok(answer) => {
                self.heard = Instant::now();
                Ok(Some(answer))
            }
            Err(error) if error.is_passing() && self.heard.elapsed() < RUN_UNREACHABLE_MAX => {
                self.progress.awaits("waiting", &format!("{}; retrying", look::obstacle(&error)));
                sleep(RUN_CLAIM_PAUSE).await;
                Ok(None)
            }
            Err(error) => Err(Denied::GivenUp(error.into())),
        }
    }
}

/// Checks whether a refusal is temporary, or the task has changed and must be read again.
fn is_for_now(error: &Error) -> bool {
    let moved = [Code::WrongState, Code::BasisLost, Code::VersionMismatch, Code::Conflict];
    let is_retriable = error.refusal().is_some_and(|refusal| refusal.retriable);
    moved.into_iter().any(|code| error.is(code)) || (is_retriable && !error.is_passing())
}

/// Summarizes in one line whose approval is missing.
fn who(explanation: &Explanation) -> String {
    let missing = explanation.approvals_missing;
    let people = explanation.may_answer.len();
    let approvals = if missing == 1 { "1 approval" } else { "approvals" };
    let count = if missing == 1 { String::new() } else { format!("{missing} ") };
    let mut reasons: Vec<String> = explanation
        .may_answer
        .iter()
        .flat_map(|reviewer| &reviewer.because)
        .map(|because| visible(because.strip_prefix("has the ").unwrap_or(because)))
        .collect();
    reasons.sort();
    reasons.dedup();
    let from = match people {
        0 => "no one can approve it now".to_owned(),
        1 => "1 person can approve".to_owned(),
        many => format!("{many} people can approve"),
    };
    let because =
        if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    format!("waiting for {count}{approvals}; {from}{because}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ade_api::explain::Reviewer;
    use ade_core::ids::UserId;
    use serde_json::json;

    use ade_api::problem::NextAction;

    use super::*;
    use crate::output::Paint;

    fn explanation(missing: u32, people: u128) -> Explanation {
        let because = BTreeSet::from(["has the role \u{1b}dba".to_owned()]);
        let reviewer = |number| Reviewer {
            user_id: UserId::from_u128(number),
            for_user_ids: BTreeSet::new(),
            because: because.clone(),
        };
        Explanation {
            state: State::Reviewing,
            sub_state: None,
            decision: None,
            gates: Vec::new(),
            groups: Vec::new(),
            may_answer: (0..people).map(reviewer).collect(),
            approvals_missing: missing,
            rejections: 0,
            next_action: NextAction::new(""),
        }
    }

    fn submitted() -> Task {
        let at = "2026-11-15T15:00:00Z";
        let digest = ade_core::change::Digest::of(b"");
        let counts = json!({ "adds": 0, "changes": 0, "removes": 0, "irreversible": 0 });
        serde_json::from_value(json!({
            "id": TaskId::from_u128(1), "number": 1, "title": "T", "type": "command.run",
            "state": "SUBMITTED", "sub_state": null, "decision": null, "is_decided": false,
            "is_final": false, "url": "http://127.0.0.1:1/tasks/1",
            "state_since": at, "version": 2, "revision": 1, "digest": digest,
            "risk": { "score": 1, "level": "low" }, "priority": 50,
            "author_id": UserId::from_u128(2), "agent_id": null, "submitter_id": null,
            "team": null, "ticket": null, "created_at": at, "updated_at": at, "closed_at": null,
            "parameters": {}, "resources": [], "tags": [],
            "effect": { "origin": "declared", "counts": counts, "changes": [], "warnings": [],
                        "errors": [] },
            "shape": digest, "timeout_seconds": 3600, "rollback": { "strategy": "none" },
            "resubmission_of": null, "next_action": { "message": "wait" }
        }))
        .unwrap()
    }

    /// No server listens at the address; the paused clock advances when nothing else runs.
    #[tokio::test(start_paused = true)]
    async fn review_wait_survives_a_server_outage_up_to_its_limit() {
        let client = Client::new("http://127.0.0.1:1", "x").unwrap();
        let mut progress = Progress::new(Paint::OFF);
        let timing = (Some(Duration::from_secs(30)), None);
        let review = Review::new(&client, AgentId::from_u128(3), timing, &mut progress);
        let began = Instant::now();
        let Err(Denied::GivenUp(failure)) = review.permit(submitted()).await else { panic!() };
        assert_eq!(failure.exit, Exit::Unreachable);
        assert!(began.elapsed() >= RUN_UNREACHABLE_MAX, "{:?}", began.elapsed());
    }

    #[test]
    fn required_reviewers_are_shown_in_one_line() {
        let line = who(&explanation(1, 1));
        assert_eq!(line, "waiting for 1 approval; 1 person can approve (role ‹U+001B›dba)");
        let line = who(&explanation(2, 3));
        assert_eq!(line, "waiting for 2 approvals; 3 people can approve (role ‹U+001B›dba)");
        assert_eq!(who(&explanation(1, 0)), "waiting for 1 approval; no one can approve it now");
    }
}
