//! Counts events by kind and hour, each once: the rates that the overview shows.

use ade_core::group::Group;
use ade_store::events::Numbered;
use ade_store::{Tx, rates};

use super::{Activation, Worker};
use crate::app::App;
use crate::groups::{Audience, Job, Taken, Trouble, Way, read_all};

pub const WORKER: Worker = Worker {
    name: "analytics_pipeline",
    period: None,
    signal: Some(|app| &app.wake.analytics_pipeline),
    run,
};

pub(crate) const JOB: Job = Job {
    group: Group::AnalyticsPipeline,
    audience: Audience::Everybody,
    way: Way::Within(take),
    is_on: |_| true,
    then: |_| {},
};

fn take<'a>(_: &'a App, tx: &'a mut Tx, events: &'a [Numbered]) -> Taken<'a, ()> {
    Box::pin(async move { rates::count(tx, events).await.map_err(Trouble::from) })
}

fn run(app: &App) -> Activation<'_> {
    Box::pin(read_all(app, JOB))
}
