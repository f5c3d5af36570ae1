//! Sends queued notifications to people, channel by channel: one message per person, however many
//! notifications there are.

use ade_core::limits::WORKER_BATCH;
use ade_core::preference::Channel;
use ade_store::messages::due_kind;
use ade_store::scheduled_jobs::{self, JobBatch};

use super::messages::send_due;
use crate::app::App;
use crate::error::Error;
use crate::worker::{Activation, Done, Worker};

pub const WORKER: Worker = Worker {
    name: "message_sender",
    period: None,
    signal: Some(|app| &app.wake.message_sender),
    run,
};

fn run(app: &App) -> Activation<'_> {
    Box::pin(send(app))
}

async fn send(app: &App) -> Result<Done, Error> {
    let (mut done, mut has_failed) = (Done::default(), false);
    for channel in Channel::ALL.into_iter().filter(|channel| app.notify.is_on(*channel)) {
        let batch = JobBatch::shared(WORKER_BATCH);
        let due = scheduled_jobs::next(&app.pools.worker, due_kind(channel), batch).await?;
        done.has_more |= batch.is_used_up(&due);
        for (tenant, due) in due {
            match send_due(app, tenant, channel, due).await {
                Ok(is_sent) => done.items += u64::from(is_sent),
                Err(error) => {
                    has_failed = true;
                    let channel = channel.as_str();
                    tracing::warn!(
                        %tenant, channel, %error,
                        "notification delivery failed; will retry"
                    );
                }
            }
        }
    }
    done.has_more &= !has_failed;
    Ok(done)
}
