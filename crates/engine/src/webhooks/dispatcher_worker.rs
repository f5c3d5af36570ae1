//! Turns events into deliveries, in the order of their numbers, tenant by tenant.

use ade_core::consumer::Consumer;
use ade_store::Tx;
use ade_store::events::Numbered;

use super::dispatch;
use crate::app::App;
use crate::events::consumers::{Audience, DeliveryMode, Job, Taken, read_all};
use crate::services::export::Trouble;
use crate::worker::{Activation, Worker};

pub const WORKER: Worker = Worker {
    name: "webhook_dispatcher",
    period: None,
    signal: Some(|app| &app.wake.webhook_dispatcher),
    run,
};

pub(crate) const JOB: Job = Job {
    group: Consumer::WebhookDispatcher,
    audience: Audience::WithEndpoints,
    way: DeliveryMode::Transactional(take),
    is_on: |_| true,
    then: |app| app.wake.webhook_sender.notify_one(),
};

fn take<'a>(_: &'a App, tx: &'a mut Tx, events: &'a [Numbered]) -> Taken<'a, ()> {
    Box::pin(async move { dispatch(tx, events).await.map_err(Trouble::from) })
}

fn run(app: &App) -> Activation<'_> {
    Box::pin(read_all(app, JOB))
}
