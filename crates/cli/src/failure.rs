//! An error as it is told: what happened, what the server said about it, and always the command
//! to run next.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ade_api::code::Code;
use ade_client::{Error, Refusal};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output::Paint;
use crate::text::{cut, visible};

const SIGN_IN: &str = "ade login --server URL";
const LOOK: &str = "ade tasks list";
const DIAGNOSE: &str = "ade doctor";
/// Of one fact.
const FACT_CHARS: usize = 80;

#[derive(Debug, Clone)]
pub struct Failure {
    pub exit: Exit,
    /// Apart, since most of what returns one returns something smaller.
    told: Box<Told>,
}

#[derive(Debug, Clone, Default)]
struct Told {
    code: Option<String>,
    what: String,
    detail: Option<String>,
    /// The values of the case, by their names.
    facts: BTreeMap<String, Value>,
    is_retriable: bool,
    advice: Option<String>,
    next: Option<String>,
    request_id: Option<String>,
}

impl Failure {
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self { exit, told: Box::new(Told { what: what.into(), ..Told::default() }) }
    }

    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.told.detail = Some(detail.into());
        self
    }

    /// The command that helps, unless a better one is known already.
    pub fn or_next(mut self, command: impl Into<String>) -> Self {
        self.told.next.get_or_insert_with(|| command.into());
        self
    }

    /// In one line.
    pub fn what(&self) -> String {
        match &self.told.detail {
            Some(detail) => format!("{}: {detail}", self.told.what),
            None => self.told.what.clone(),
        }
    }

    pub fn shown(&self, paint: Paint) -> String {
        let told = &self.told;
        let code = told.code.as_ref().map(|code| format!("[{}]", visible(code)));
        let code = code.unwrap_or_default();
        let head = paint.red(&format!("error{code}:"));
        let mut out = format!("{head} {}\n", visible(&told.what));
        let request = told.request_id.as_ref().map(|id| paint.dim(&visible(id)));
        let next = paint.bold(&visible(told.next.as_deref().unwrap_or(LOOK)));
        let lines = [
            ("detail", told.detail.as_deref().map(visible)),
            ("facts", facts(&told.facts)),
            ("advice", told.advice.as_deref().map(visible)),
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
        let told = &self.told;
        json!({
            "error": told.what,
            "code": told.code,
            "detail": told.detail,
            "facts": told.facts,
            "retriable": told.is_retriable,
            "advice": told.advice,
            "request_id": told.request_id,
            "next": told.next.as_deref().unwrap_or(LOOK),
            "exit": self.exit.code(),
        })
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(refusal) => refused(*refusal),
            Error::Unreachable { server, why } => {
                Self::new(Exit::Unreachable, format!("the server at {server} cannot be reached"))
                    .detail(why)
                    .or_next(DIAGNOSE)
            }
            Error::Unreadable { .. } => {
                Self::new(Exit::Failed, error.to_string()).or_next(DIAGNOSE)
            }
            Error::LeaseOver { .. } => {
                Self::new(Exit::LeaseLost, error.to_string()).or_next("ade locks leases")
            }
            Error::Address { .. } => Self::new(Exit::Usage, error.to_string()).or_next(SIGN_IN),
            Error::Unusable { .. } => Self::new(Exit::Failed, error.to_string()),
        }
    }
}

fn refused(refusal: Refusal) -> Failure {
    let exit = exit(&refusal);
    let next = match refusal.next_action.command {
        Some(command) => Some(command),
        None if refusal.code == Code::Unauthenticated.as_str() => Some(SIGN_IN.to_owned()),
        None => None,
    };
    let told = Told {
        code: Some(refusal.code),
        what: refusal.title,
        detail: Some(refusal.detail),
        facts: refusal.facts.into_iter().filter(|(name, _)| name != "type").collect(),
        is_retriable: refusal.retriable,
        advice: Some(refusal.next_action.says),
        next,
        request_id: Some(refusal.request_id).filter(|id| !id.is_empty()),
    };
    Failure { exit, told: Box::new(told) }
}

fn exit(refusal: &Refusal) -> Exit {
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

/// Short ones on one line; what is long is for whoever reads JSON.
fn facts(facts: &BTreeMap<String, Value>) -> Option<String> {
    let told: Vec<String> = facts
        .iter()
        .map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("{}: {}", visible(name), cut(&visible(&value), FACT_CHARS))
        })
        .collect();
    (!told.is_empty()).then(|| told.join(" · "))
}

/// Nobody has signed in yet.
pub fn nobody(path: &str) -> Failure {
    Failure::new(Exit::NotAllowed, "you are not signed in")
        .detail(format!("neither ADE_TOKEN nor {path} holds a token"))
        .or_next(SIGN_IN)
}

#[cfg(test)]
mod tests {
    use ade_api::problem::NextAction;

    use super::*;

    fn refusal(code: Code) -> Failure {
        Failure::from(Error::Refused(Box::new(Refusal {
            code: code.as_str().to_owned(),
            title: code.title().to_owned(),
            status: code.status(),
            detail: "for \u{1b}[31ma reason".to_owned(),
            retriable: false,
            next_action: NextAction {
                says: code.next_action().to_owned(),
                call: None,
                command: None,
            },
            request_id: "req-1".to_owned(),
            facts: BTreeMap::from([("state".to_owned(), json!("DR\u{1b}AFT"))]),
        })))
    }

    #[test]
    fn every_error_ends_with_a_command_and_shows_no_escapes() {
        let plain = Failure::new(Exit::Failed, "x");
        for failure in [plain, refusal(Code::NotFound), refusal(Code::Unauthenticated)] {
            let shown = failure.shown(Paint::OFF);
            let last = shown.lines().last().unwrap();
            assert!(last.starts_with("  next     ade "), "{shown}");
            assert!(!shown.contains('\u{1b}'), "{shown:?}");
        }
    }

    #[test]
    fn what_the_server_closes_is_not_allowed_and_keeps_the_request_id() {
        let failure = refusal(Code::ClassClosed);
        assert_eq!(failure.exit, Exit::NotAllowed);
        let shown = failure.shown(Paint::OFF);
        assert!(shown.starts_with("error[class_closed]: "), "{shown}");
        assert!(shown.contains("request  req-1"), "{shown}");
        assert!(shown.contains("facts    state: DR‹U+001B›AFT"), "{shown}");
        assert_eq!(failure.json()["request_id"], "req-1");
        assert_eq!(failure.json()["exit"], 77);
    }

    #[test]
    fn a_refusal_ends_with_the_code_of_its_kind() {
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
