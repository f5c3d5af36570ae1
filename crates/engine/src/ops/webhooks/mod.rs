//! Webhooks: endpoints are entered, changed and looked at by admins; what is on its way to them is
//! sent by workers. The rules of sending are the core's, their state is in the record.

mod deliveries;
mod dispatch;
mod endpoints;
mod sending;
mod show;

pub use deliveries::{deliveries, ping, redeliver};
pub(crate) use dispatch::dispatch;
pub use endpoints::{change, create, delete, get, list, rotate};
pub(crate) use sending::take_up;

use ade_core::access::{Action, Object};
use ade_core::ids::WebhookId;
use ade_store::{Tx, webhooks};

use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;
use crate::ops::act::{self, Act, Begun};

async fn begin<'a>(
    app: &'a App,
    caller: &'a Caller,
    attempt: &'a Attempt,
) -> Result<Begun<'a>, Error> {
    Act::begin(app, caller, attempt, Some(Action::AdministerWebhook)).await
}

/// For reading, by those who may; who may not is noted.
async fn enter(app: &App, caller: &Caller) -> Result<Tx, Error> {
    Ok(act::enter(app, caller, Action::ReadWebhook, Object::Tenant).await?.0)
}

async fn known(tx: &mut Tx, id: WebhookId) -> Result<webhooks::Endpoint, Error> {
    webhooks::get(tx, id).await?.ok_or(Error::NotFound { what: "webhook" })
}
