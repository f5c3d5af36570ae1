//! Counts events by kind and hour, each once, for the rates in the overview.

use ade_core::consumer::Consumer;
use ade_store::events::Numbered;
use ade_store::{Tx, rates};

use super::consumers::{Audience, DeliveryMode, Job, Taken, read_all};
use crate::app::App;
use crate::services::export::Trouble;
use crate::worker::{Activation, Worker};

pub const WORKER: Worker = Worker {
    name: "analytics_pipeline",
    period: None,
    signal: Some(|app| &app.wake.analytics_pipeline),
    run,
};

pub(crate) const JOB: Job = Job {
    group: Consumer::AnalyticsPipeline,
    audience: Audience::Everybody,
    way: DeliveryMode::Transactional(take),
    is_on: |_| true,
    then: |_| {},
};

fn take<'a>(_: &'a App, tx: &'a mut Tx, events: &'a [Numbered]) -> Taken<'a, ()> {
    Box::pin(async move { rates::count(tx, events).await.map_err(Trouble::from) })
}

fn run(app: &App) -> Activation<'_> {
    Box::pin(read_all(app, JOB))
}
