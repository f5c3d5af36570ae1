//! Finds out who is told of an event, and on which channel; what they are told waits there.

use ade_core::group::Group;
use ade_store::Tx;
use ade_store::events::Numbered;

use super::{Activation, Worker};
use crate::app::App;
use crate::groups::{Audience, Job, Taken, Trouble, Way, read_all};
use crate::ops::messages::tell;

pub const WORKER: Worker = Worker {
    name: "notification_service",
    period: None,
    signal: Some(|app| &app.wake.notification_service),
    run,
};

pub(crate) const JOB: Job = Job {
    group: Group::NotificationService,
    audience: Audience::Everybody,
    way: Way::Within(take),
    // Without a channel its cursor moves all the same: nobody is told of old things later.
    is_on: |_| true,
    then: |app| app.wake.message_sender.notify_one(),
};

fn take<'a>(app: &'a App, tx: &'a mut Tx, events: &'a [Numbered]) -> Taken<'a, ()> {
    Box::pin(async move { tell(app, tx, events).await.map_err(Trouble::from) })
}

fn run(app: &App) -> Activation<'_> {
    Box::pin(read_all(app, JOB))
}
