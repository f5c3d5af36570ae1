//! Sends dead letters through their groups again, at the request of an operator.

use super::consumers;
use crate::app::App;
use crate::events::consumers::{REDRIVER, redrive_due};
use crate::worker::{Activation, Worker};

pub(super) const WORKER: Worker =
    Worker { name: REDRIVER, period: None, signal: Some(|app| &app.wake.event_redriver), run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(redrive_due(app, consumers::of))
}
