//! Hints that there is work, within this process. A worker that misses one finds the work on its
//! next round, so nothing depends on them.

use tokio::sync::Notify;

#[derive(Debug, Default)]
pub struct Wake {
    pub review_opener: Notify,
}
