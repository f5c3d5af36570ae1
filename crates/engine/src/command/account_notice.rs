//! Notifies a person of a change to their account.

use ade_core::preference::{AccountNotice, Channel, Preference};
use ade_store::users::User;
use ade_store::{Tx, account_messages, messages, notifications};

use crate::app::App;
use crate::error::Error;

/// Returns the channels of the installation on which a person can be reached.
pub(crate) fn channels(
    app: &App,
    has_mail: bool,
    preference: &Preference,
) -> impl Iterator<Item = Channel> {
    let has_slack = preference.slack_member.is_some();
    Channel::ALL.into_iter().filter(move |channel| {
        let has_address = match channel {
            Channel::Mail => has_mail,
            Channel::Slack => has_slack,
        };
        has_address && app.notify.is_on(*channel)
    })
}

/// Notifies the owner of an account in the transaction that changes it: in their list of
/// notifications, and immediately on every channel on which they can be reached.
pub(crate) async fn notify_owner(
    app: &App,
    tx: &mut Tx,
    owner: &User,
    notice: AccountNotice,
    detail: &str,
) -> Result<(), Error> {
    notifications::add_of_account(tx, owner.id, notice, detail).await?;
    let (preference, _) = messages::preference(tx, owner.id).await?;
    for channel in channels(app, owner.profile.email.is_some(), &preference) {
        account_messages::add(tx, owner.id, channel, notice, detail).await?;
        messages::send_at(tx, owner.id, channel, tx.now()).await?;
    }
    Ok(())
}
