//! Hints that there is work, within this process. A worker that misses one finds the work on its
//! next round, so nothing depends on them.

use std::sync::Arc;

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub struct Wake {
    pub review_opener: Notify,
    pub apply_runner: Notify,
    pub relay: Notify,
    pub webhook_dispatcher: Notify,
    pub audit_logger: Notify,
    pub analytics_pipeline: Notify,
    pub event_redriver: Notify,
    pub notification_service: Notify,
    pub message_sender: Notify,
    pub read_model_projector: Notify,
    /// Shared with what is on its way, which outlives an activation.
    pub webhook_sender: Arc<Notify>,
}

impl Wake {
    /// Everybody who reads events: some have their numbers now.
    pub fn readers(&self) {
        for reader in [
            &self.webhook_dispatcher,
            &self.audit_logger,
            &self.analytics_pipeline,
            &self.notification_service,
            &self.read_model_projector,
        ] {
            reader.notify_one();
        }
    }
}
