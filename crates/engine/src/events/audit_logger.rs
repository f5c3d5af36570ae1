//! Exports every event if the settings name a sink: in order, at least once, and with a ledger of
//! the exported batches.

use ade_core::consumer::Consumer;
use ade_store::consumers::Exported;
use ade_store::events::Numbered;

use super::consumers::{Audience, DeliveryMode, Job, Taken, read_all};
use super::export;
use crate::app::App;
use crate::worker::{Activation, Worker};

pub const WORKER: Worker =
    Worker { name: "audit_logger", period: None, signal: Some(|app| &app.wake.audit_logger), run };

pub(crate) const JOB: Job = Job {
    group: Consumer::AuditLogger,
    audience: Audience::Everybody,
    way: DeliveryMode::Outward(send),
    is_on: |app| app.sink.is_some(),
    then: |_| {},
};

fn send<'a>(app: &'a App, events: &'a [Numbered]) -> Taken<'a, Exported> {
    Box::pin(export::send(app, events))
}

fn run(app: &App) -> Activation<'_> {
    Box::pin(read_all(app, JOB))
}
