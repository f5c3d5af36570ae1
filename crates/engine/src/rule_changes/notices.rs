//! Notices of proposed changes: to the other admins, or, in a tenant with one admin, to everyone
//! with a role, who can object.

use ade_core::ids::UserId;
use ade_core::limits::AUDIT_TEXT_MAX_BYTES;
use ade_core::preference::{AccountNotice, Channel};
use ade_core::rule_change::admins;
use ade_store::pending_changes::PendingChange;
use ade_store::{account_messages, notifications};

use crate::command::admin_command::AdminCommand;
use crate::error::Error;

pub(super) async fn notify_proposed(
    act: &mut AdminCommand<'_>,
    change: &PendingChange,
) -> Result<(), Error> {
    let directory = &act.book.directory;
    let admins = admins(directory);
    let concerns_all = change.takes_effect_at.is_some();
    let recipients: Vec<UserId> = directory
        .people()
        .filter(|person| person.active && !person.roles.is_empty())
        .map(|person| person.id)
        .filter(|person| {
            if concerns_all {
                // Also those whose account is linked to the proposer's: a wrong link must not keep
                // anyone from objecting.
                *person != change.proposed_by
            } else {
                admins.contains(&directory.human(*person))
                    && !directory.same_human(*person, change.proposed_by)
            }
        })
        .collect();
    let proposer = act.book.names.get(&change.proposed_by).cloned().unwrap_or_default();
    let detail = detail(&proposer, change);
    let notice = AccountNotice::ChangeProposed;
    notifications::add_of_accounts(&mut act.tx, &recipients, notice, &detail).await?;
    let app = act.app();
    for channel in Channel::ALL.into_iter().filter(|channel| app.notify.is_on(*channel)) {
        account_messages::add_all(&mut act.tx, &recipients, channel, notice, &detail).await?;
    }
    Ok(())
}

fn detail(proposer: &str, change: &PendingChange) -> String {
    let first = change.findings.first().map_or("", |finding| finding.sentence.as_str());
    let more = match change.findings.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let end = match change.takes_effect_at {
        Some(at) => format!("It takes effect at {at} unless someone objects"),
        None => "It waits for a second admin".to_owned(),
    };
    let mut text = format!("{proposer} proposed that {first}{more}. {end}: {}", change.id);
    text.truncate(text.floor_char_boundary(AUDIT_TEXT_MAX_BYTES.min(2_048)));
    text
}
