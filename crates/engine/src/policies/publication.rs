//! What a draft means for approvals, and what happens when the person who proposed it publishes it.

use ade_api::policies::DraftPublication;
use ade_api::problem::NextAction;
use ade_core::actor::Role;
use ade_core::policy::Document;
use ade_core::rule_change::{
    RuleFinding, admins, compare_versions, is_at_least_as_strict, overall,
};
use ade_store::policies::Published;
use ade_store::policy_drafts::Draft;
use ade_store::tenant_config::TenantConfig;
use ade_store::{Tx, pending_changes};

use crate::command::setup::is_in_setup;
use crate::error::Error;

/// Compares the draft with the version in force, for every task.
pub(super) fn compare_draft(
    book: &TenantConfig,
    current: Option<&Published>,
    draft: &Draft,
) -> Vec<RuleFinding> {
    let others = book.policies.iter().filter(|policy| policy.id != draft.policy);
    let others: Vec<&Document> = others.map(|policy| &policy.document).collect();
    let current = current.map(|published| &published.policy.document);
    compare_versions(current, &draft.document, &others, book.timeouts.approval)
}

pub(super) async fn publication(
    tx: &mut Tx,
    book: &TenantConfig,
    current: Option<&Published>,
    draft: &Draft,
) -> Result<DraftPublication, Error> {
    if draft.closed.is_some() {
        return Ok(DraftPublication::Closed);
    }
    if pending_changes::of_draft(tx, draft.id).await?.is_some() {
        return Ok(DraftPublication::Waiting);
    }
    let directory = &book.directory;
    let is_of_admin =
        directory.holders(Role::ADMIN).any(|admin| directory.same_human(admin, draft.proposed_by));
    if !is_of_admin {
        return Ok(DraftPublication::SecondAdmin);
    }
    if is_in_setup(tx, book).await? {
        return Ok(DraftPublication::AtOnce);
    }
    if admins(directory).len() > 1 {
        return Ok(DraftPublication::SecondAdmin);
    }
    let verdict = overall(&compare_draft(book, current, draft));
    if is_at_least_as_strict(verdict) {
        return Ok(DraftPublication::AtOnce);
    }
    Ok(DraftPublication::AfterWait)
}

pub(super) fn next_action(
    draft: &Draft,
    is_stale: bool,
    publication: DraftPublication,
) -> NextAction {
    let message = match publication {
        DraftPublication::Closed => return NextAction::new("nothing: the draft is closed"),
        _ if is_stale => {
            let message = "propose the change again: another version has been published since";
            return NextAction::new(message);
        }
        DraftPublication::Waiting => {
            return NextAction::new(
                "wait: the draft is a pending change, which people can object to",
            )
            .with_call("GET /v1/pending-changes")
            .with_command("ade changes list");
        }
        DraftPublication::SecondAdmin => "another admin must publish it",
        DraftPublication::AtOnce => "publish it: it takes effect at once",
        DraftPublication::AfterWait => {
            "publish it: it makes approvals easier, so it takes effect 24 hours later unless \
             someone objects"
        }
    };
    NextAction::new(message)
        .with_call(format!("POST /v1/policy-drafts/{}/publish", draft.id))
        .with_command(format!("ade policies publish {}", draft.id))
}
