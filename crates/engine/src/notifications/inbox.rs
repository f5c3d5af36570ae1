//! The notifications of one person, for that person only.

use ade_api::notifications::Notification;
use ade_core::ids::NotificationId;
use ade_store::notifications::{self, NotificationSubject};

use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::{look, person};
use crate::command::{Paged, Span, paged};
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
    let shown = found.map(shown);
    Ok(paged(shown.collect(), span.limit, |item: &Notification| item.id))
}

fn shown(item: notifications::Notification) -> Notification {
    let notifications::Notification { id, subject, kind, at } = item;
    let (task_id, number, title) = match subject {
        NotificationSubject::Task { id, number, title } => (Some(id), Some(number), title),
        NotificationSubject::Account { detail } => (None, None, detail),
    };
    Notification { id, task_id, number, title, kind, at }
}
