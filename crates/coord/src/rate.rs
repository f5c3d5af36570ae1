//! Rate limits, counted in Redis for all processes together. While Redis is unavailable, each
//! process counts for itself: a limit that is too high is better than none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ade_core::rate::{self, Rate, Taken};

use crate::cluster::Cluster;
use crate::error::CoordError;
use crate::reply::Words;
use crate::script::Script;

/// Callers whose rate a process counts itself while Redis is unavailable.
const RATES_ALONE_MAX: usize = 100_000;

/// A counted caller, by its key in Redis, with its rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    pub key: String,
    pub rate: Rate,
}

#[derive(Debug, Clone)]
pub struct Rates {
    together: Option<(Cluster, Arc<Script>)>,
    alone: Arc<Alone>,
}

/// The rates that a process counts itself, by its own clock.
#[derive(Debug)]
struct Alone {
    began: Instant,
    used_up: Mutex<HashMap<String, Duration>>,
}

impl Alone {
    fn take(&self, counted: &[Counted], calls: u32, at: Instant) -> Taken {
        let now = at.saturating_duration_since(self.began);
        let mut used_up = self.used_up.lock().unwrap_or_else(PoisonError::into_inner);
        if used_up.len() >= RATES_ALONE_MAX {
            used_up.retain(|_, until| *until > now);
        }
        if used_up.len() >= RATES_ALONE_MAX {
            used_up.clear();
        }
        let before = |one: &Counted| used_up.get(&one.key).copied().unwrap_or_default();
        let rates: Vec<_> = counted.iter().map(|one| (one.rate, before(one))).collect();
        let taken = rate::take(&rates, now, calls);
        if taken.calls > 0 {
            for (one, (rate, before)) in counted.iter().zip(rates) {
                used_up.insert(one.key.clone(), rate.used_up(before, now, taken.calls));
            }
        }
        taken
    }
}

impl Rates {
    pub fn new(cluster: Cluster) -> Self {
        let text = include_str!("../lua/rate.lua").to_owned();
        Self { together: Some((cluster, Arc::new(Script::new("rate", text)))), ..Self::alone() }
    }

    /// Creates limits without Redis, where each process counts for itself.
    pub fn alone() -> Self {
        let alone = Alone { began: Instant::now(), used_up: Mutex::default() };
        Self { together: None, alone: Arc::new(alone) }
    }

    /// Takes `calls` calls at once from all counted callers, or one, or none. All keys must belong
    /// to one tenant or shard.
    pub async fn take(&self, counted: &[Counted], calls: u32) -> Taken {
        if let Some((cluster, script)) = &self.together {
            match take_together(cluster, script, counted, calls).await {
                Ok(taken) => return taken,
                Err(
                    CoordError::Unknown(_)
                    | CoordError::Unavailable(_)
                    | CoordError::Resting { .. },
                ) => {}
                Err(error) => tracing::error!(%error, "rate limiting fell back to local counters"),
            }
        }
        self.alone.take(counted, calls, Instant::now())
    }
}

async fn take_together(
    cluster: &Cluster,
    script: &Script,
    counted: &[Counted],
    calls: u32,
) -> Result<Taken, CoordError> {
    let keys: Vec<String> = counted.iter().map(|one| one.key.clone()).collect();
    let rates = counted.iter().flat_map(|one| [one.rate.gap(), one.rate.ahead()]);
    let rates = rates.map(|span| span.as_micros().to_string().into_bytes());
    let args: Vec<Vec<u8>> = [calls.to_string().into_bytes()].into_iter().chain(rates).collect();
    let value = cluster.run(script, &keys, &args).await?;
    let mut words = Words::of(script.name(), value)?;
    let taken = Taken {
        calls: small(&mut words)?,
        at: small(&mut words)?,
        left: small(&mut words)?,
        reset: Duration::from_micros(words.number()?),
        wait: Duration::from_micros(words.number()?),
    };
    words.end()?;
    Ok(taken)
}

fn small<T: TryFrom<u64, Error: ToString>>(words: &mut Words) -> Result<T, CoordError> {
    T::try_from(words.number()?).map_err(|error| words.wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use ade_testkit::Namespace;

    use super::*;
    use crate::keys::RATE;

    const RATE_OF_ONE: Rate = Rate { per_minute: 60, burst: 3 };

    fn counted(key: &str, rate: Rate) -> Counted {
        Counted { key: key.to_owned(), rate }
    }

    #[test]
    fn rate_of_one_process_is_enforced_and_then_forgotten() {
        let Rates { alone, .. } = Rates::alone();
        let now = Instant::now();
        let take = |key: &str, at| alone.take(&[counted(key, RATE_OF_ONE)], 1, at).wait;
        for _ in 0..3 {
            assert_eq!(take("one", now), Duration::ZERO);
        }
        assert_eq!(take("one", now), Duration::from_secs(1));
        assert_eq!(take("other", now), Duration::ZERO, "each caller has its own rate");
        assert_eq!(take("one", now + Duration::from_secs(1)), Duration::ZERO);
        assert!(!take("one", now + Duration::from_secs(1)).is_zero());
        for nth in 0..RATES_ALONE_MAX {
            take(&nth.to_string(), now);
        }
        assert!(alone.used_up.lock().unwrap().len() <= RATES_ALONE_MAX);
    }

    /// Compares the script with the rule: what it admits, what it reports as left, and which rate
    /// it names.
    #[tokio::test]
    async fn rate_of_several_processes_is_enforced_together() {
        let nodes = ade_testkit::Cluster::shared().await.urls().into();
        let open = || Rates::new(Cluster::patient(&nodes));
        let (one, other) = (open(), open());
        let tenant = Namespace::fresh().tenant();
        let of = |id: &str, rate| {
            let key = RATE.of_endpoint(tenant, "tasks_submit", id);
            Counted { key, rate }
        };
        // The rate is so slow that nothing is restored while the test runs.
        let (narrow, wide) = (Rate { per_minute: 1, burst: 5 }, Rate { per_minute: 1, burst: 50 });
        let both = [of("agt_1", narrow), of("usr_1", wide)];
        for left in [4, 3] {
            let taken = one.take(&both, 1).await;
            assert_eq!((taken.calls, taken.at, taken.left), (1, 0, left));
        }
        let taken = other.take(&both, 3).await;
        assert_eq!((taken.calls, taken.left), (3, 0), "it counts for all processes");
        let refused = one.take(&both, 1).await;
        assert_eq!((refused.calls, refused.at, refused.left), (0, 0, 0));
        assert!(refused.wait > Duration::from_secs(50) && refused.wait <= Duration::from_mins(1));
        assert!(refused.reset > Duration::from_mins(4) && refused.reset <= Duration::from_mins(5));
        let second = of("usr_1", wide);
        let taken = one.take(std::slice::from_ref(&second), 46).await;
        assert_eq!((taken.calls, taken.left), (1, 44), "46 were requested but 45 were left");
        let taken = one.take(&[second], 44).await;
        assert_eq!((taken.calls, taken.left), (44, 0), "the refused call has used up nothing");
    }
}
