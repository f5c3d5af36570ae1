//! Events on their way from the record to whoever listens. The record is what counts: Redis makes
//! it quick, and without it everything arrives a little later. A process reads each stream once,
//! however many listen; each tenant has one short memory of its newest events, and a listener is
//! a number in it.

mod attend;
mod channel;
mod envelope;
mod hub;
mod listener;
mod reader;
mod seats;
mod ticket;

use std::sync::Arc;

use ade_coord::streams::{Heard, Streams};
use ade_coord::{Cluster, Nodes};

pub(crate) use attend::attend;
pub use channel::Told;
pub(crate) use envelope::written;
pub use hub::Hub;
pub use listener::{Item, Listener, Wanted, listen};
pub(crate) use reader::{check, follow, read_shard, sweep};
pub use seats::End;
pub use ticket::{Issued, issue, redeem};

use crate::models::Models;

/// What the relay and the listeners of one process share.
#[derive(Debug, Default)]
pub struct Live {
    /// None in an installation without Redis.
    pub(crate) streams: Option<Streams>,
    pub(crate) hub: Arc<Hub>,
    /// Read models, over the same Redis.
    pub models: Option<Models>,
}

impl Live {
    /// Needs a runtime to connect in; whether anybody answers shows with the first call.
    pub fn over_redis(nodes: &Nodes) -> Result<Self, ade_coord::Error> {
        let hub = Arc::new(Hub::default());
        let hearer = Arc::clone(&hub);
        let streams = Streams::open(nodes, move |heard| match heard {
            Heard::Grown(shard) => hearer.grown(shard),
            Heard::Silence => hearer.unfollowed.notify_one(),
        })?;
        let models = Models::new(ade_coord::models::Models::new(Cluster::open(nodes)?));
        Ok(Self { streams: Some(streams), hub, models: Some(models) })
    }

    /// Nobody listens here any more: they go on elsewhere.
    pub fn drain(&self) {
        self.hub.drain();
    }

    /// Resolves when nobody listens.
    pub async fn emptied(&self) {
        self.hub.emptied().await;
    }

    /// Those who listen now.
    pub fn listeners(&self) -> usize {
        self.hub.seated()
    }
}
