//! Hints within this process that there is work. A worker that misses one finds the work in its
//! next round, so correctness does not depend on them.

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
    /// Shared with running deliveries, which outlive an activation.
    pub webhook_sender: Arc<Notify>,
}

impl Wake {
    /// Wakes all readers of events, because events have been numbered.
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
