//! How often one caller may do something, counted in Redis for all processes together: the
//! generic cell rate algorithm, one number for each caller. While Redis does not answer, each
//! process counts for itself: a limit that is too high is better than none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ade_core::ids::TenantId;
use ade_core::limits::{LOCK_RATE_KEPT_MAX, LOCK_RATE_WINDOW, LOCK_RATES_ALONE_MAX};

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
    alone: Arc<Alone>,
}

/// Who has used up how much of the time ahead, by the clock of this process.
#[derive(Debug, Default)]
struct Alone {
    used_up: Mutex<HashMap<(TenantId, String), Instant>>,
}

impl Alone {
    fn take(&self, tenant: TenantId, caller: &str, rate: Rate, now: Instant) -> Option<Duration> {
        let mut used_up = self.used_up.lock().unwrap_or_else(PoisonError::into_inner);
        if used_up.len() >= LOCK_RATES_ALONE_MAX {
            used_up.retain(|_, at| *at > now);
        }
        if used_up.len() >= LOCK_RATES_ALONE_MAX {
            used_up.clear();
        }
        let at = used_up.entry((tenant, caller.to_owned())).or_insert(now);
        let next = (*at).max(now) + rate.gap();
        let wait = next.saturating_duration_since(now + rate.ahead());
        if wait.is_zero() {
            *at = next;
            return None;
        }
        Some(wait)
    }
}

impl Rates {
    pub fn new(cluster: Cluster) -> Self {
        let text = include_str!("../lua/rate.lua").to_owned();
        Self { cluster, script: Arc::new(Script::new("rate", text)), alone: Arc::default() }
    }

    /// `None` if it may go on, else how long to wait.
    pub async fn take(
        &self,
        tenant: TenantId,
        caller: &str,
        rate: Rate,
    ) -> Result<Option<Duration>, Error> {
        match self.take_together(tenant, caller, rate).await {
            Err(Error::Unknown(_) | Error::Unavailable(_) | Error::Resting { .. }) => {
                Ok(self.alone.take(tenant, caller, rate, Instant::now()))
            }
            answered => answered,
        }
    }

    async fn take_together(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_a_process_lets_through_what_the_rate_allows_and_forgets() {
        let (alone, now) = (Alone::default(), Instant::now());
        let rate = Rate { per_minute: 60, burst: 3 };
        let tenant = TenantId::from_u128(1);
        let take = |caller: &str, at| alone.take(tenant, caller, rate, at);
        for _ in 0..3 {
            assert_eq!(take("one", now), None);
        }
        assert_eq!(take("one", now), Some(Duration::from_secs(1)));
        assert_eq!(take("other", now), None, "each has its own");
        assert_eq!(take("one", now + Duration::from_secs(1)), None);
        assert!(take("one", now + Duration::from_secs(1)).is_some());
        for nth in 0..LOCK_RATES_ALONE_MAX {
            take(&nth.to_string(), now);
        }
        assert!(alone.used_up.lock().unwrap().len() <= LOCK_RATES_ALONE_MAX);
    }
}
