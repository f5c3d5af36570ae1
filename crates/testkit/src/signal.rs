//! Signals instead of sleeps: code under test raises a name, and a test waits for it with a
//! deadline and reports on failure what was raised instead. Raises are counted and never lost, so
//! the order of raise and wait does not matter. `eventually` is the only way to poll, for what
//! cannot raise a signal.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

use crate::failure::{Failure, or_fail};

const POLL_FIRST: Duration = Duration::from_millis(2);
const POLL_MAX: Duration = Duration::from_millis(100);
const MEASUREMENTS_MIN: usize = 3;
const MEASUREMENTS_MAX: usize = 100;
const MEASURED_FOR: Duration = Duration::from_secs(30);

#[derive(Debug, Clone)]
pub struct Signals {
    counts: Arc<watch::Sender<BTreeMap<String, usize>>>,
}

impl Default for Signals {
    fn default() -> Self {
        Self { counts: Arc::new(watch::Sender::new(BTreeMap::new())) }
    }
}

impl Signals {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn raise(&self, name: &str) {
        self.counts.send_modify(|counts| {
            *counts.entry(name.to_owned()).or_default() += 1;
        });
    }

    /// Returns a callback for code under test, which does not know this crate.
    pub fn hook(&self) -> impl Fn(&str) + Clone + Send + Sync + 'static {
        let signals = self.clone();
        move |name| signals.raise(name)
    }

    pub fn count(&self, name: &str) -> usize {
        self.counts.borrow().get(name).copied().unwrap_or_default()
    }

    /// Returns once `name` has been raised at least `times` in total, and fails the test at the
    /// deadline.
    pub async fn wait(&self, name: &str, times: usize, deadline: Duration) {
        or_fail(self.try_wait(name, times, deadline).await);
    }

    pub async fn try_wait(
        &self,
        name: &str,
        times: usize,
        deadline: Duration,
    ) -> Result<(), Failure> {
        let mut counts = self.counts.subscribe();
        let enough = counts.wait_for(|counts| counts.get(name).copied().unwrap_or(0) >= times);
        if timeout_at(Instant::now() + deadline, enough).await.is_ok() {
            return Ok(());
        }
        let mut seen = String::new();
        for (name, count) in self.counts.borrow().iter() {
            let _ = write!(seen, " {name}×{count}");
        }
        let what = format!("waited {deadline:?} for signal `{name}` ×{times}");
        let seen = if seen.is_empty() { " nothing" } else { &seen };
        Err(Failure::new(what, format!("raised so far:{seen}")))
    }
}

/// Repeats a check with growing pauses until it returns `Ok`. Fails the test at the deadline with
/// what was awaited and the last answer.
pub async fn eventually<T, E: Display>(
    what: &str,
    deadline: Duration,
    ask: impl AsyncFnMut() -> Result<T, E>,
) -> T {
    or_fail(poll_until(what, deadline, ask).await)
}

/// Works like [`eventually`], but returns the failure to callers that have more to report.
pub async fn poll_until<T, E: Display>(
    what: &str,
    deadline: Duration,
    mut ask: impl AsyncFnMut() -> Result<T, E>,
) -> Result<T, Failure> {
    let end = Instant::now() + deadline;
    let mut pause = POLL_FIRST;
    let mut last = None;
    let mut tries = 0;
    loop {
        tries += 1;
        // The deadline also applies to a check that hangs.
        match timeout_at(end, ask()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => last = Some(error.to_string()),
            Err(_) => {}
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let last = last.unwrap_or_else(|| "no answer at all".to_owned());
            let what = format!("waited {deadline:?} until {what}");
            return Err(Failure::new(what, format!("{last} (after {tries} tries)")));
        }
        sleep(pause.min(left)).await;
        pause = (pause * 3 / 2).min(POLL_MAX);
    }
}

/// Measures until one time is within the bound, and fails the test if none is. Other load on the
/// machine only adds to a time, so one good measurement is enough. A shared machine can be slow for
/// several seconds, so the measurements span a longer time than that.
pub async fn within(bound: Duration, mut measure: impl AsyncFnMut() -> Duration) {
    let mut times = Vec::new();
    let end = Instant::now() + MEASURED_FOR;
    let goes_on =
        |count| count < MEASUREMENTS_MIN || (count < MEASUREMENTS_MAX && Instant::now() < end);
    while goes_on(times.len()) {
        let took = measure().await;
        if took < bound {
            return;
        }
        times.push(took);
    }
    or_fail::<()>(Err(Failure::new(format!("be done within {bound:?}"), format!("{times:?}"))));
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(10);
    const BRIEF: Duration = Duration::from_millis(30);

    #[tokio::test]
    async fn bound_is_met_by_one_measurement_within_it() {
        let mut times = [BRIEF, BRIEF / 2].into_iter();
        within(BRIEF, async || times.next().unwrap()).await;
        let never = tokio::spawn(within(BRIEF, async || BRIEF));
        assert!(never.await.unwrap_err().is_panic());
    }

    #[tokio::test]
    async fn signal_raised_before_the_wait_is_not_lost() {
        let signals = Signals::new();
        signals.hook()("relayed");
        signals.wait("relayed", 1, SOON).await;
        assert_eq!(signals.count("relayed"), 1);
        assert_eq!(signals.count("other"), 0);
    }

    #[tokio::test]
    async fn signal_wait_ends_with_the_raise_that_fills_the_count() {
        let signals = Signals::new();
        let raiser = signals.clone();
        let task = tokio::spawn(async move {
            for _ in 0..3 {
                tokio::task::yield_now().await;
                raiser.raise("swept");
            }
        });
        signals.wait("swept", 3, SOON).await;
        task.await.unwrap();
    }

    #[tokio::test]
    async fn signal_timeout_reports_what_was_raised_instead() {
        let signals = Signals::new();
        let alone = signals.try_wait("swept", 1, BRIEF).await.unwrap_err();
        assert!(alone.to_string().ends_with("raised so far: nothing"), "{alone}");
        signals.raise("swept");
        signals.raise("relayed");
        let failure = signals.try_wait("swept", 2, BRIEF).await.unwrap_err();
        assert_eq!(
            failure.to_string(),
            "waited 30ms for signal `swept` ×2: raised so far: relayed×1 swept×1"
        );
    }

    #[tokio::test]
    async fn eventually_returns_the_first_good_answer() {
        let mut asked = 0;
        let answer = eventually("the third try is good", SOON, async || {
            asked += 1;
            if asked == 3 { Ok(asked) } else { Err("not yet") }
        });
        assert_eq!(answer.await, 3);
    }

    #[tokio::test]
    #[should_panic(expected = "waited 30ms until pigs fly: no wings (after ")]
    async fn eventually_reports_what_was_awaited_and_the_last_answer() {
        eventually("pigs fly", BRIEF, async || Err::<(), _>("no wings")).await;
    }

    #[tokio::test]
    async fn eventually_ends_at_the_deadline_when_a_check_hangs() {
        let hung = poll_until("it answers", BRIEF, async || {
            std::future::pending::<Result<(), String>>().await
        });
        let failure = hung.await.unwrap_err();
        assert!(failure.to_string().contains("no answer at all"), "{failure}");
    }
}
