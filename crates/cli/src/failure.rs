//! Error output: what failed, the server's explanation, and the command to run next.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ade_api::code::Code;
use ade_client::{Error, ProblemDetails};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output::Paint;
use crate::text::{cut, visible};

const SIGN_IN: &str = "ade login --server URL";
const LOOK: &str = "ade tasks list";
const IDENTITY: &str = "ade whoami";
const DIAGNOSE: &str = "ade doctor";
/// The maximum length of one fact in an error.
const FACT_CHARS: usize = 80;

#[derive(Debug, Clone)]
pub struct Failure {
    pub exit: Exit,
    /// Boxed, because the success values of most functions are much smaller.
    details: Box<Details>,
}

#[derive(Debug, Clone, Default)]
struct Details {
    code: Option<String>,
    what: String,
    detail: Option<String>,
    /// The values involved in the error, by name.
    facts: BTreeMap<String, Value>,
    is_retriable: bool,
    advice: Option<String>,
    next: Option<String>,
    request_id: Option<String>,
}

impl Failure {
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self { exit, details: Box::new(Details { what: what.into(), ..Details::default() }) }
    }

    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.details.detail = Some(detail.into());
        self
    }

    /// Sets the code for programs.
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.details.code = Some(code.into());
        self
    }

    /// Sets the values involved in the error, by name.
    pub fn facts(mut self, facts: BTreeMap<String, Value>) -> Self {
        self.details.facts = facts;
        self
    }

    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.details.advice = Some(advice.into());
        self
    }

    /// Sets the suggested next command unless one is already set.
    pub fn or_next(mut self, command: impl Into<String>) -> Self {
        self.details.next.get_or_insert_with(|| command.into());
        self
    }

    /// Returns the error as one line.
    pub fn what(&self) -> String {
        match &self.details.detail {
            Some(detail) => format!("{}: {detail}", self.details.what),
            None => self.details.what.clone(),
        }
    }

    /// Returns the error for a language model: the code, what failed and why, and what to do.
    pub fn for_model(&self) -> String {
        let code = self.details.code.as_ref().map(|code| format!("[{}] ", visible(code)));
        let advice = self.details.advice.as_ref().map(|advice| format!(". {}", visible(advice)));
        let what = visible(&self.what());
        format!("{}{what}{}", code.unwrap_or_default(), advice.unwrap_or_default())
    }

    /// Returns the next command: the set one, or one that fits the kind of error.
    fn next(&self) -> &str {
        let other = if self.exit == Exit::NotAllowed { IDENTITY } else { LOOK };
        self.details.next.as_deref().unwrap_or(other)
    }

    pub fn shown(&self, paint: Paint) -> String {
        let details = &self.details;
        let code = details.code.as_ref().map(|code| format!("[{}]", visible(code)));
        let code = code.unwrap_or_default();
        let head = paint.red(&format!("error{code}:"));
        let mut out = format!("{head} {}\n", visible(&details.what));
        let request = details.request_id.as_ref().map(|id| paint.dim(&visible(id)));
        let next = paint.bold(&visible(self.next()));
        let lines = [
            ("detail", details.detail.as_deref().map(visible)),
            ("facts", facts(&details.facts)),
            ("advice", details.advice.as_deref().map(visible)),
            ("request", request),
            ("next", Some(next)),
        ];
        for (label, text) in lines {
            if let Some(text) = text {
                let _ = writeln!(out, "  {label:<8} {text}");
            }
        }
        out
    }

    pub fn json(&self) -> Value {
        let details = &self.details;
        json!({
            "error": details.what,
            "code": details.code,
            "detail": details.detail,
            "facts": details.facts,
            "retriable": details.is_retriable,
            "advice": details.advice,
            "request_id": details.request_id,
            "next": self.next(),
            "exit": self.exit.code(),
        })
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let (code, facts, is_retriable) =
            (error.code().to_owned(), error.facts(), error.is_passing());
        let mut failure = match error {
            Error::Refused(refusal) => return refused(*refusal),
            Error::Unreachable { server, why } => {
                Self::new(Exit::Unreachable, format!("cannot reach the server at {server}"))
                    .detail(why)
                    .or_next(DIAGNOSE)
            }
            Error::Unreadable { .. } => {
                Self::new(Exit::Failed, error.to_string()).or_next(DIAGNOSE)
            }
            Error::LeaseOver { .. } | Error::LeaseSpent | Error::LeaseSilent { .. } => {
                Self::new(Exit::LeaseLost, error.to_string()).or_next("ade locks leases")
            }
            Error::Address { .. } => Self::new(Exit::Usage, error.to_string()).or_next(SIGN_IN),
            Error::Unusable { .. } => Self::new(Exit::Failed, error.to_string()),
        };
        failure.details.is_retriable = is_retriable;
        failure.code(code).facts(facts)
    }
}

fn refused(refusal: ProblemDetails) -> Failure {
    let exit = exit(&refusal);
    let next = match refusal.next_action.command {
        Some(command) => Some(command),
        None if refusal.code == Code::Unauthenticated.as_str() => Some(SIGN_IN.to_owned()),
        None => None,
    };
    let details = Details {
        code: Some(refusal.code),
        what: refusal.title,
        detail: Some(refusal.detail),
        facts: refusal.facts.into_iter().filter(|(name, _)| name != "type").collect(),
        is_retriable: refusal.retriable,
        advice: Some(refusal.next_action.message),
        next,
        request_id: Some(refusal.request_id).filter(|id| !id.is_empty()),
    };
    Failure { exit, details: Box::new(details) }
}

fn exit(refusal: &ProblemDetails) -> Exit {
    let locked = [Code::LockHeld, Code::DeadlockDetected, Code::LockQueueFull, Code::TooManyLocks];
    let stale = [
        Code::StaleRevision,
        Code::VersionMismatch,
        Code::Conflict,
        Code::WrongState,
        Code::Closed,
        Code::BasisLost,
        Code::NoOpenRequest,
        Code::BatchRefused,
    ];
    match refusal.status {
        401 | 403 => Exit::NotAllowed,
        404 => Exit::NotFound,
        _ if refusal.is(Code::AccessDenied) => Exit::NotAllowed,
        _ if refusal.is(Code::ExpiredToken) => Exit::TimedOut,
        _ if refusal.is(Code::Frozen) => Exit::Frozen,
        _ if refusal.is(Code::LeaseLost) => Exit::LeaseLost,
        _ if locked.iter().any(|code| refusal.is(*code)) => Exit::Locked,
        _ if stale.iter().any(|code| refusal.is(*code)) => Exit::Stale,
        _ => Exit::Failed,
    }
}

/// Formats the facts on one line; long values are cut and available in full in the JSON output.
fn facts(facts: &BTreeMap<String, Value>) -> Option<String> {
    let lines: Vec<String> = facts
        .iter()
        .map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("{}: {}", visible(name), cut(&visible(&value), FACT_CHARS))
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join(" · "))
}

/// Returns the error for a missing token.
pub fn not_signed_in(path: &str) -> Failure {
    Failure::new(Exit::NotAllowed, "you are not logged in")
        .detail(format!("no token in ADE_TOKEN or {path}"))
        .or_next(SIGN_IN)
}

#[cfg(test)]
mod tests {
    use ade_api::problem::NextAction;

    use super::*;

    fn refusal(code: Code) -> Failure {
        Failure::from(Error::Refused(Box::new(ProblemDetails {
            code: code.as_str().to_owned(),
            title: code.title().to_owned(),
            status: code.status(),
            detail: "for \u{1b}[31ma reason".to_owned(),
            retriable: false,
            next_action: NextAction {
                message: code.next_action().to_owned(),
                call: None,
                command: None,
            },
            request_id: "req-1".to_owned(),
            facts: BTreeMap::from([("state".to_owned(), json!("DR\u{1b}AFT"))]),
        })))
    }

    #[test]
    fn error_output_ends_with_a_command_and_has_no_escapes() {
        let plain = Failure::new(Exit::Failed, "x");
        for failure in [plain, refusal(Code::NotFound), refusal(Code::Unauthenticated)] {
            let shown = failure.shown(Paint::OFF);
            let last = shown.lines().last().unwrap();
            assert!(last.starts_with("  next     ade "), "{shown}");
            assert!(!shown.contains('\u{1b}'), "{shown:?}");
        }
    }

    #[test]
    fn forbidden_error_keeps_the_request_id() {
        let failure = refusal(Code::InsufficientScope);
        assert_eq!(failure.exit, Exit::NotAllowed);
        let shown = failure.shown(Paint::OFF);
        assert!(shown.starts_with("error[insufficient_scope]: "), "{shown}");
        assert!(shown.contains("request  req-1"), "{shown}");
        assert!(shown.contains("facts    state: DR‹U+001B›AFT"), "{shown}");
        assert_eq!(failure.json()["request_id"], "req-1");
        assert_eq!(failure.json()["exit"], 77);
    }

    #[test]
    fn refusal_exits_with_the_code_of_its_kind() {
        for (code, exit) in [
            (Code::NotFound, Exit::NotFound),
            (Code::Unauthenticated, Exit::NotAllowed),
            (Code::SelfApproval, Exit::NotAllowed),
            (Code::StaleRevision, Exit::Stale),
            (Code::VersionMismatch, Exit::Stale),
            (Code::LockHeld, Exit::Locked),
            (Code::DeadlockDetected, Exit::Locked),
            (Code::LockQueueFull, Exit::Locked),
            (Code::TooManyLocks, Exit::Locked),
            (Code::Frozen, Exit::Frozen),
            (Code::AccessDenied, Exit::NotAllowed),
            (Code::ExpiredToken, Exit::TimedOut),
            (Code::LeaseLost, Exit::LeaseLost),
            (Code::Internal, Exit::Failed),
            (Code::InvalidBody, Exit::Failed),
        ] {
            assert_eq!(refusal(code).exit, exit, "{code:?}");
        }
    }
}
