//! What one person was told, for that person alone.

use ade_api::notifications::Notification;
use ade_core::ids::NotificationId;
use ade_store::notifications;

use super::act::{look, person};
use super::{Paged, Span, paged};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;

pub async fn list(
    app: &App,
    caller: &Caller,
    span: Span<NotificationId>,
) -> Result<Paged<Notification, NotificationId>, Error> {
    let me = person(caller)?;
    let mut tx = look(app, caller).await?;
    let limit = span.limit.saturating_add(1);
    let found = notifications::list(&mut tx, me, span.after, limit).await?.into_iter();
    let shown = found.map(|told| Notification {
        id: told.id,
        task: told.task,
        number: told.number,
        title: told.title,
        kind: told.kind,
        at: told.at,
    });
    Ok(paged(shown.collect(), span.limit, |told: &Notification| told.id))
}
