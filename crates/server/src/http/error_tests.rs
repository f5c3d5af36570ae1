//! Refusals keep their facts in the response, and their texts say what happened.

use ade_core::ids::UserId;
use ade_core::task::{CommandKind, State};
use ade_core::time::Timestamp;

use super::*;

#[test]
fn wrong_state_problem_names_the_state_and_valid_states() {
    let problem = refused(Refusal::WrongState {
        command: CommandKind::ALL[0],
        state: State::ALL[1],
        since: Timestamp::from_micros(0),
        holder: Some("agt_1".to_owned()),
        works_from: vec![State::ALL[0]],
        decision: None,
    });
    assert_eq!((problem.code, problem.status), (Code::WrongState, 409));
    assert_eq!(problem.facts["state"], State::ALL[1].as_str());
    assert_eq!(problem.facts["works_from"][0], State::ALL[0].as_str());
    assert_eq!(problem.facts["holder"], "agt_1");
    assert!(problem.detail.contains(State::ALL[1].as_str()), "{}", problem.detail);
}

#[test]
fn denial_names_the_rule() {
    let denied = Denied {
        action: ade_core::access::Action::Approve,
        rule: Some("agents_never_decide".to_owned()),
        detail: "agents never decide".to_owned(),
    };
    let problem = refused(denied.into());
    assert_eq!((problem.code, problem.status), (Code::NotAllowed, 403));
    assert_eq!(problem.facts["rule"], "agents_never_decide");
    assert_eq!(problem.facts["action"], "task.approve");
}

#[test]
fn user_facts_are_written_as_ids() {
    let asked_by = UserId::from_u128(7);
    let problem = refused(Refusal::SameAdmin { asked_by });
    assert_eq!(problem.facts["asked_by"], asked_by.to_string());
}

#[test]
fn retryable_responses_have_a_retry_after_header() {
    for code in Code::ALL {
        let response = ApiError::new(*code, "x").into_response();
        assert_eq!(response.status().as_u16(), code.status());
        let has_time = response.headers().contains_key(RETRY_AFTER);
        assert_eq!(has_time, matches!(code.status(), 423 | 429 | 503), "{code:?}");
        let asks_for_token = response.headers().contains_key(WWW_AUTHENTICATE);
        assert_eq!(asks_for_token, code.status() == 401, "{code:?}");
    }
}
