//! The refusal of a decision that requires confirmation with a passkey.

use ade_api::passkeys::{StepUpSubject, StepUpThing};
use ade_api::problem::Problem;
use ade_core::step_up::Thing;
use ade_engine::Unconfirmed;

/// Adds the body of the next call, and the page on which to decide, to a refusal.
pub(super) fn unconfirmed_decision(problem: Problem, unconfirmed: Unconfirmed) -> Problem {
    let Unconfirmed { subject, has_passkey, page } = unconfirmed;
    let things = subject.about().iter().cloned();
    let about = things.map(|Thing { id, digest }| StepUpThing { id, digest }).collect();
    let step_up = StepUpSubject { purpose: subject.purpose(), about };
    let problem = problem.with("step_up", step_up).with("has_passkey", has_passkey);
    let (says, call) = if has_passkey {
        ("Decide on the page where your browser can ask for your passkey", "POST /v1/step-up")
    } else {
        ("Add a passkey first", "POST /v1/passkeys")
    };
    problem.next(format!("{says}: {page}")).call(call).with("page", page)
}
