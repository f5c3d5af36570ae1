//! Confirms a person who joined by an invitation that its admin could read. Until then, the admin
//! could be the one who uses the account.

use ade_core::access::Action;
use ade_core::ids::UserId;
use ade_core::step_up::ConfirmationSubject;
use ade_store::users;

use super::command::RuleChange;
use super::submit::submit_permitted;
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::Reply;
use crate::command::admin_command::AdminCommand;
use crate::command::permission::person;
use crate::error::Error;
use crate::identity::confirm_user;

/// Confirms a person. An admin who neither is that person nor invited them confirms at once, with a
/// passkey; for the others it is a change to the rules, which another admin publishes.
pub async fn confirm_person(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: UserId,
) -> Result<Reply, Error> {
    let by = person(caller)?;
    let needs = Some(Action::AdministerUser);
    let mut act = AdminCommand::begin(app, caller, attempt, needs).await?;
    let user = users::get(&mut act.tx, id).await?.ok_or(Error::NotFound { what: "user" })?;
    let inviter = user.unconfirmed.map(|unconfirmed| unconfirmed.invited_by);
    let is_involved = |account: &UserId| act.book.directory.same_human(*account, by);
    if [Some(id), inviter].iter().flatten().any(is_involved) {
        // A confirmation is about a second admin by its nature, so it waits in setup as well.
        return submit_permitted(act, by, RuleChange::ConfirmPerson { id }, false).await;
    }
    act = act.confirmed(&ConfirmationSubject::confirm_person(id)).await?;
    let applied = confirm_user(&mut act, id).await?;
    act.finish_applied(applied, false).await
}
