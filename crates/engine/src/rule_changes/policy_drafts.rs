//! Publishes policy drafts: another admin publishes a draft at once. In setup, and in a tenant with
//! one admin, people publish their own drafts, like every other change to the rules.

use ade_core::access::{Action, Object};
use ade_core::ids::PolicyDraftId;
use ade_core::rule_change::admins;

use super::command::RuleChange;
use super::setup;
use super::submit::submit_permitted;
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::Reply;
use crate::command::admin_command::AdminCommand;
use crate::command::permission::person;
use crate::error::Error;
use crate::policies;

pub async fn publish_draft(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: PolicyDraftId,
) -> Result<Reply, Error> {
    let by = person(caller)?;
    let mut act = AdminCommand::begin(app, caller, attempt, None).await?;
    let draft = policies::find(&mut act.tx, id).await?;
    let is_own = act.book.directory.same_human(draft.proposed_by, by);
    let has_one_admin = admins(&act.book.directory).len() < 2;
    let is_in_setup = is_own && setup::is_open(&mut act).await?;
    let needs_second = is_own && !is_in_setup && !has_one_admin;
    let object = Object::Own { is_own: needs_second };
    let mut act = act.require(Action::PublishPolicy, object, &id).await?;
    let digest = policies::require_publishable(&mut act, &draft).await?;
    if is_own {
        let (name, reason) = (draft.document.name, draft.reason);
        let change = RuleChange::PublishPolicy { draft_id: id, name, digest, reason };
        return submit_permitted(act, by, change, is_in_setup).await;
    }
    let mut act = act.confirmed(&policies::publication_of(id, digest)).await?;
    let applied = policies::publish(&mut act, draft).await?;
    act.finish_applied(applied, false).await
}
