//! Sends every event out of the installation, if the settings name a sink: in order, at least once,
//! and with a ledger of what left.

use ade_core::group::Group;
use ade_store::events::Numbered;
use ade_store::groups::Exported;

use super::{Activation, Worker};
use crate::app::App;
use crate::export;
use crate::groups::{Audience, Job, Taken, Way, read_all};

pub const WORKER: Worker =
    Worker { name: "audit_logger", period: None, signal: Some(|app| &app.wake.audit_logger), run };

pub(crate) const JOB: Job = Job {
    group: Group::AuditLogger,
    audience: Audience::Everybody,
    way: Way::Outward(send),
    is_on: |app| app.sink.is_some(),
    then: |_| {},
};

fn send<'a>(app: &'a App, events: &'a [Numbered]) -> Taken<'a, Exported> {
    Box::pin(export::send(app, events))
}

fn run(app: &App) -> Activation<'_> {
    Box::pin(read_all(app, JOB))
}
