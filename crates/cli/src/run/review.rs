//! From a submitted task to a permit: people agree, and the locks come free. Says on the way who
//! is awaited; ends early if they say no, if it takes too long, or if the server is gone.

use std::time::Duration;

use ade_api::approvals::Vote;
use ade_api::code::Code;
use ade_api::executions::{Claim, Permit};
use ade_api::explain::Explanation;
use ade_api::tasks::Task;
use ade_client::{Client, Error};
use ade_core::approval::Answer;
use ade_core::ids::{AgentId, TaskId};
use ade_core::limits::{RUN_ASIDE_TIMEOUT, RUN_CLAIM_PAUSE, RUN_UNREACHABLE_MAX, WAIT_MAX};
use ade_core::task::State;
use tokio::time::{Instant, sleep, timeout};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::text::visible;

/// Why there is no permit.
#[derive(Debug)]
pub enum Denied {
    /// The task has ended, or is in other hands: nothing of it is left to us.
    Over(Failure),
    /// Nobody will apply it now that we give up: it should be taken back.
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
    /// When the server was heard last.
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
            self.check(&task).await?;
            // A vote moves the version and not the state: fewer are awaited then.
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

    /// How long one question may wait: whole seconds, at least one.
    fn patience(&self) -> Duration {
        let left = self.deadline.map_or(WAIT_MAX, |end| end - Instant::now());
        left.clamp(Duration::from_secs(1), WAIT_MAX)
    }

    /// Whether it can still come to a permit from here.
    async fn check(&self, task: &Task) -> Result<(), Denied> {
        let (id, state) = (task.summary.id, task.summary.state);
        let look = format!("ade tasks get {id}");
        let (exit, what, answer) = match state {
            State::Submitted | State::Reviewing | State::Approved => return self.check_time(task),
            State::Rejected => (Exit::Rejected, "reviewers rejected it", Some(Answer::Reject)),
            State::Draft => {
                (Exit::Rejected, "reviewers ask for changes", Some(Answer::RequestChanges))
            }
            State::Cancelled => (Exit::Ended, "somebody cancelled it", None),
            State::Expired => (Exit::Ended, "nobody answered in time, and it expired", None),
            State::Applying | State::Completed | State::Failed | State::Unknown => {
                (Exit::Failed, "somebody else took it", None)
            }
        };
        let mut failure = Failure::new(exit, format!("{id}: {what}")).or_next(look);
        if let Some(reason) = self.reason(id, answer).await {
            failure = failure.detail(reason);
        }
        Err(Denied::Over(failure))
    }

    fn check_time(&self, task: &Task) -> Result<(), Denied> {
        if self.deadline.is_none_or(|end| Instant::now() < end) {
            return Ok(());
        }
        let (id, state) = (task.summary.id, task.summary.state);
        let what = format!("{id} is still {state}, and the time to wait is over");
        let failure = Failure::new(Exit::TimedOut, what)
            .detail("the task is cancelled: nobody is left to run its command");
        Err(Denied::GivenUp(failure.or_next(format!("ade tasks get {id}"))))
    }

    /// What the reviewer who said no said.
    async fn reason(&self, id: TaskId, answer: Option<Answer>) -> Option<String> {
        let answer = answer?;
        let asked = timeout(RUN_ASIDE_TIMEOUT, self.client.tasks().approvals(id));
        let votes = asked.await.ok()?.ok()?.votes;
        let is_it = |vote: &&Vote| vote.answer == answer && vote.effectual && !vote.withdrawn;
        let vote = votes.iter().filter(is_it).max_by_key(|vote| vote.at)?;
        let reason = vote.reason.as_deref().unwrap_or("no reason was given");
        Some(format!("{}: {reason}", vote.voter))
    }

    async fn show(&mut self, task: &Task) {
        let id = task.summary.id;
        match task.summary.state {
            State::Reviewing => {
                let who = match timeout(RUN_ASIDE_TIMEOUT, self.client.tasks().explain(id)).await {
                    Ok(Ok(explanation)) => who(&explanation),
                    _ => visible(&task.next_action),
                };
                self.progress.awaits("reviewing", &who);
            }
            State::Approved => {
                self.progress.reached("approved", &id.to_string());
                self.progress.spins("waiting", "for its locks");
            }
            // Within seconds: no line in a log.
            _ => self.progress.spins("waiting", "for the review to open"),
        }
    }

    /// A permit; none if there is none yet, or if the task should be looked at again.
    async fn claim(&mut self, task: TaskId) -> Result<Option<Permit>, Denied> {
        let claim = Claim {
            task: Some(task),
            ttl: self.ttl.map(|ttl| format!("{}ms", ttl.as_millis())),
            ..Claim::default()
        };
        // Most often it is free at once; only then is it worth a word that it is not.
        let wait = if self.has_claimed { self.patience() } else { RUN_CLAIM_PAUSE };
        self.has_claimed = true;
        match self.client.agents().claim(self.agent, &claim, wait).await {
            Ok(claimed) => {
                self.heard = Instant::now();
                if claimed.permit.is_none() {
                    self.progress.awaits("waiting", "until nobody else holds what it touches");
                }
                Ok(claimed.permit)
            }
            Err(error) if is_for_now(&error) => {
                self.heard = Instant::now();
                self.progress.awaits("waiting", &visible(&error.to_string()));
                sleep(RUN_CLAIM_PAUSE).await;
                Ok(None)
            }
            Err(error) => self.heard_of(Err::<Permit, _>(error)).await,
        }
    }

    /// An answer; none if the server could not give one just now.
    async fn heard_of<T>(&mut self, asked: Result<T, Error>) -> Result<Option<T>, Denied> {
        match asked {
            Ok(answer) => {
                self.heard = Instant::now();
                Ok(Some(answer))
            }
            Err(error) if error.is_passing() && self.heard.elapsed() < RUN_UNREACHABLE_MAX => {
                self.progress.awaits("unreachable", "the server does not answer; trying again");
                sleep(RUN_CLAIM_PAUSE).await;
                Ok(None)
            }
            Err(error) => Err(Denied::GivenUp(error.into())),
        }
    }
}

/// Refused now, and perhaps not in a moment; or the task has moved, and must be looked at.
fn is_for_now(error: &Error) -> bool {
    let moved = [Code::WrongState, Code::BasisLost, Code::VersionMismatch, Code::Conflict];
    let is_retriable = error.refusal().is_some_and(|refusal| refusal.retriable);
    moved.into_iter().any(|code| error.is(code)) || (is_retriable && !error.is_passing())
}

/// Who has to agree, in one line.
fn who(explanation: &Explanation) -> String {
    let missing = explanation.approvals_missing;
    let people = explanation.may_answer.len();
    let approvals = if missing == 1 { "one approval" } else { "approvals" };
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
        0 => "nobody can give it now".to_owned(),
        1 => "1 person may give it".to_owned(),
        many => format!("{many} people may give it"),
    };
    let because =
        if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    format!("waits for {count}{approvals}; {from}{because}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ade_api::explain::Reviewer;
    use ade_core::ids::UserId;
    use serde_json::json;

    use super::*;
    use crate::output::Paint;

    fn explanation(missing: u32, people: u128) -> Explanation {
        let because = BTreeSet::from(["has the role \u{1b}dba".to_owned()]);
        let reviewer = |number| Reviewer {
            user: UserId::from_u128(number),
            for_users: BTreeSet::new(),
            because: because.clone(),
        };
        Explanation {
            state: State::Reviewing,
            gates: Vec::new(),
            groups: Vec::new(),
            may_answer: (0..people).map(reviewer).collect(),
            approvals_missing: missing,
            rejections: 0,
            next_action: String::new(),
        }
    }

    fn submitted() -> Task {
        let at = "2026-11-15T15:00:00Z";
        let digest = ade_core::change::Digest::of(b"");
        let counts = json!({ "adds": 0, "changes": 0, "removes": 0, "irreversible": 0 });
        serde_json::from_value(json!({
            "id": TaskId::from_u128(1), "number": 1, "title": "T", "type": "command.run",
            "state": "SUBMITTED", "since": at, "version": 2, "revision": 1, "digest": digest,
            "risk": { "score": 1, "level": "LOW" }, "priority": 50,
            "author": UserId::from_u128(2), "agent": null, "submitter": null, "team": null,
            "ticket": null, "created_at": at, "updated_at": at, "closed_at": null,
            "parameters": {}, "resources": [], "tags": [],
            "effect": { "origin": "declared", "counts": counts, "changes": [], "warnings": [],
                        "errors": [] },
            "timeout_seconds": 3600, "rollback": { "strategy": "none" },
            "resubmits": null, "next_action": "wait"
        }))
        .unwrap()
    }

    /// Nobody listens there; the clock runs ahead whenever nothing else does.
    #[tokio::test(start_paused = true)]
    async fn a_server_that_stays_away_is_given_up_in_the_end_and_not_before() {
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
    fn who_has_to_agree_is_told_in_one_line() {
        let told = who(&explanation(1, 1));
        assert_eq!(told, "waits for one approval; 1 person may give it (role ‹U+001B›dba)");
        let told = who(&explanation(2, 3));
        assert_eq!(told, "waits for 2 approvals; 3 people may give it (role ‹U+001B›dba)");
        assert_eq!(who(&explanation(1, 0)), "waits for one approval; nobody can give it now");
    }
}
