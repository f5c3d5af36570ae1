//! What a command prints after a change to the rules: the changed object, or that the change waits
//! and nothing has changed yet. Both are a success.

use ade_api::page::PageQuery;
use ade_api::pending_changes::PendingChange;
use ade_client::{Client, Submitted};
use ade_core::limits::PAGE_SIZE_MAX;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::text::named;

/// Prints the changed object with `done`, or what the change waits for.
pub fn report<T>(
    submitted: &Submitted<T>,
    cx: &Context,
    done: impl FnOnce(&T) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    match submitted {
        Submitted::Done(object) => done(object),
        Submitted::Pending(change) => {
            cx.output.show(change, || proposed(change, &cx.output))?;
            Ok(Exit::Done)
        }
    }
}

/// Adds a line to a list if changes of these kinds wait, so that people do not take the list for
/// what it will be. A failed request adds nothing, because the list itself is complete.
pub async fn remark_open(client: &Client, kinds: &[&str], cx: &Context) {
    if !cx.output.is_for_people() {
        return;
    }
    let page = PageQuery { page_size: Some(PAGE_SIZE_MAX), page_token: None };
    let Ok(open) = client.pending_changes().list(false, &page).await else { return };
    let of_kind = open.items.iter().filter(|change| kinds.contains(&&*change.kind));
    let what = match of_kind.count() {
        0 => return,
        1 => "1 change is proposed and waits for a second admin".to_owned(),
        count => format!("{count} changes are proposed and wait for a second admin"),
    };
    cx.output.remark(&cx.output.talk.dim(&format!("{what}: ade changes list")));
}

fn proposed(change: &PendingChange, output: &Output) -> String {
    let rows = [
        ("change", change.id.to_string()),
        ("because", cause(change)),
        ("next", output.paint.bold(&format!("ade changes show {}", change.id))),
    ];
    let headline = format!("◐ Proposed: {}. Nothing has changed yet.", waits_for(change));
    output.facts(&headline, &rows)
}

/// Returns why the change does not take effect at once: its first consequence.
fn cause(change: &PendingChange) -> String {
    let Some(first) = change.findings.first() else { return String::new() };
    let sentence = named(&first.sentence);
    match change.findings.len() - 1 {
        0 => sentence,
        more => format!("{sentence} (and {more} more)"),
    }
}

/// Describes what an open change waits for.
pub fn waits_for(change: &PendingChange) -> String {
    match change.takes_effect_at {
        Some(at) => format!("takes effect at {at} unless someone objects"),
        None => "waits for a second admin".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use ade_api::pending_changes::ChangeFinding;
    use ade_api::problem::NextAction;
    use ade_core::ids::{PendingChangeId, UserId};
    use ade_core::policy::Strictness;
    use ade_core::time::Timestamp;
    use serde_json::Value;

    use super::*;

    fn change(sentences: &[&str]) -> PendingChange {
        let finding = |sentence: &&str| ChangeFinding {
            verdict: Strictness::Looser,
            sentence: (*sentence).to_owned(),
        };
        PendingChange {
            id: PendingChangeId::from_u128(1),
            kind: "user.roles".to_owned(),
            object: "x".to_owned(),
            command: Value::Null,
            verdict: Strictness::Looser,
            findings: sentences.iter().map(finding).collect(),
            tasks: Vec::new(),
            reason: None,
            proposed_by: UserId::from_u128(1),
            proposed_at: Timestamp::from_micros(0),
            takes_effect_at: None,
            digest: String::new(),
            outcome: None,
            closed_by: None,
            closed_at: None,
            objection: None,
            next_action: NextAction::new("wait"),
        }
    }

    #[test]
    fn pending_change_names_a_second_admin_or_a_time() {
        let mut waiting = change(&[]);
        assert_eq!(waits_for(&waiting), "waits for a second admin");
        waiting.takes_effect_at = Some("2026-11-16T19:00:00Z".parse().unwrap());
        assert_eq!(
            waits_for(&waiting),
            "takes effect at 2026-11-16T19:00:00.000000Z unless someone objects"
        );
    }

    #[test]
    fn pending_change_shows_its_first_cause_without_escapes() {
        assert_eq!(cause(&change(&[])), "");
        assert_eq!(cause(&change(&["Cleo gets the role dba"])), "Cleo gets the role dba");
        let hidden = change(&["Cl\u{1b}eo gets the role dba", "b", "c"]);
        assert_eq!(cause(&hidden), "Cl‹U+001B›eo gets the role dba (and 2 more)");
    }
}
