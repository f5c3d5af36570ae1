//! Determines who is notified of an event, and on which channel; the notifications are queued
//! there.

use ade_core::consumer::Consumer;
use ade_store::Tx;
use ade_store::events::Numbered;

use super::messages::tell;
use crate::app::App;
use crate::events::consumers::{Audience, DeliveryMode, Job, Taken, read_all};
use crate::services::export::Trouble;
use crate::worker::{Activation, Worker};

pub const WORKER: Worker = Worker {
    name: "notification_service",
    period: None,
    signal: Some(|app| &app.wake.notification_service),
    run,
};

pub(crate) const JOB: Job = Job {
    group: Consumer::NotificationService,
    audience: Audience::Everybody,
    way: DeliveryMode::Transactional(take),
    // Without a channel the cursor still advances, so that no one is notified of old events later.
    is_on: |_| true,
    then: |app| app.wake.message_sender.notify_one(),
};

fn take<'a>(app: &'a App, tx: &'a mut Tx, events: &'a [Numbered]) -> Taken<'a, ()> {
    Box::pin(async move { tell(app, tx, events).await.map_err(Trouble::from) })
}

fn run(app: &App) -> Activation<'_> {
    Box::pin(read_all(app, JOB))
}
