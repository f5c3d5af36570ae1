//! How often one caller may do something, counted in Redis for all processes together: the
//! generic cell rate algorithm, one number for each caller.

use std::sync::Arc;
use std::time::Duration;

use ade_core::ids::TenantId;
use ade_core::limits::{LOCK_RATE_KEPT_MAX, LOCK_RATE_WINDOW};

use crate::cluster::Cluster;
use crate::error::Error;
use crate::keys::LOCK_RATE;
use crate::reply::Words;
use crate::script::Script;

/// So many in a minute, and so many at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub per_minute: u32,
    pub burst: u32,
}

impl Rate {
    /// What one call uses up.
    pub fn gap(self) -> Duration {
        Duration::from_mins(1) / self.per_minute.max(1)
    }

    /// How far ahead of its time somebody may be.
    pub fn ahead(self) -> Duration {
        self.gap() * self.burst.max(1)
    }
}

#[derive(Debug, Clone)]
pub struct Rates {
    cluster: Cluster,
    script: Arc<Script>,
}

impl Rates {
    pub fn new(cluster: Cluster) -> Self {
        let text = include_str!("../lua/rate.lua").to_owned();
        Self { cluster, script: Arc::new(Script::new("rate", text)) }
    }

    /// `None` if it may go on, else how long to wait.
    pub async fn take(
        &self,
        tenant: TenantId,
        caller: &str,
        rate: Rate,
    ) -> Result<Option<Duration>, Error> {
        let (gap, ahead) = (rate.gap(), rate.ahead());
        let args = [
            caller.to_owned(),
            gap.as_micros().to_string(),
            ahead.as_micros().to_string(),
            // Forgotten before it is used up, a slow rate would limit nobody.
            (LOCK_RATE_WINDOW + ahead).min(LOCK_RATE_KEPT_MAX).as_millis().to_string(),
        ]
        .map(String::into_bytes);
        let value = self.cluster.run(&self.script, &[LOCK_RATE.of(tenant)], &args).await?;
        let mut words = Words::of(self.script.name(), value)?;
        let wait = words.number()?;
        words.end()?;
        Ok((wait > 0).then(|| Duration::from_micros(wait)))
    }
}
