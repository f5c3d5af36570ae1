//! Inbound events of other systems. Admins configure the senders and the task template; a message
//! that is signed, recent and new becomes a draft, and nothing more.

mod receive;
mod sources;

use ade_api::tasks::NewTask;

use crate::app::App;
use crate::error::Error;

pub use receive::{Arrived, receive};
pub use sources::{change, create, delete, get, list, rotate};

/// Refuses a task whose preview would execute text of another system before anyone has read it.
fn check_type(app: &App, field: &'static str, new: &NewTask) -> Result<(), Error> {
    let task_type = &new.task_type;
    if app.executors.executes_parameters(task_type) {
        let problem = format!(
            "a preview of `{task_type}` would execute what the message contains: use a type that \
             is not previewed in this way"
        );
        return Err(Error::invalid(field, problem));
    }
    Ok(())
}
