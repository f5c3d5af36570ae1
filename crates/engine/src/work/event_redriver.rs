//! Sends dead letters through their groups once more, when an operator has asked for it.

use super::{Activation, Worker};
use crate::app::App;
use crate::groups::{REDRIVER, redrive_due};

pub const WORKER: Worker =
    Worker { name: REDRIVER, period: None, signal: Some(|app| &app.wake.event_redriver), run };

fn run(app: &App) -> Activation<'_> {
    Box::pin(redrive_due(app))
}
