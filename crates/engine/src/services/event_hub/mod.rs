//! Events on their way from PostgreSQL to listeners. PostgreSQL is authoritative: Redis makes
//! delivery fast, and without it everything arrives slightly later. A process reads each stream
//! once, regardless of the number of listeners; each tenant has a short buffer of its newest
//! events, and a listener is a position in it.

pub(crate) mod channel;
mod envelope;
pub(crate) mod hub;
pub(crate) mod subscribers;

use std::sync::Arc;

use ade_coord::streams::{StreamSignal, Streams};
use ade_coord::{Cluster, Nodes};

pub use channel::StreamedEvent;
pub(crate) use envelope::written;
pub use hub::{Hub, SeatRefused};
pub use subscribers::End;

use crate::services::read_models::Models;

/// The state shared by the relay and the listeners of one process.
#[derive(Debug, Default)]
pub struct Live {
    /// `None` in an installation without Redis.
    pub(crate) streams: Option<Streams>,
    pub(crate) hub: Arc<Hub>,
    /// Read models, over the same Redis.
    pub models: Option<Models>,
}

impl Live {
    /// Creates the state over Redis. Must be called within a runtime; connection errors appear at
    /// the first call.
    pub fn over_redis(nodes: &Nodes) -> Result<Self, ade_coord::CoordError> {
        let hub = Arc::new(Hub::default());
        let hearer = Arc::clone(&hub);
        let streams = Streams::open(nodes, move |heard| match heard {
            StreamSignal::Grown(shard) => hearer.grown(shard),
            StreamSignal::Silence => hearer.unfollowed.notify_one(),
        })?;
        let models = Models::new(ade_coord::models::Models::new(Cluster::open(nodes)?));
        Ok(Self { streams: Some(streams), hub, models: Some(models) })
    }

    /// Ends all listeners of this process: they reconnect elsewhere.
    pub fn drain(&self) {
        self.hub.drain();
    }

    /// Resolves when there are no listeners.
    pub async fn emptied(&self) {
        self.hub.emptied().await;
    }

    /// Returns the number of listeners of this process.
    pub fn listeners(&self) -> usize {
        self.hub.seated()
    }
}
