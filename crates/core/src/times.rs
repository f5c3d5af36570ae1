//! How long things may take where nobody says: leases, answers of reviewers, attempts. The names
//! are those of the settings. An installation has them in its file; a tenant may have its own.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::limits::{
    AGENT_LATE_AFTER, APPLY_TIMEOUT_DEFAULT_SECONDS, APPLY_TIMEOUT_MAX_SECONDS,
    APPROVAL_TIMEOUT_MAX_DEFAULT, APPROVAL_TIMEOUT_MIN, HEARTBEAT_INTERVAL_DEFAULT,
    LEASE_TTL_DEFAULT, LEASE_TTL_MAX, LEASE_TTL_MIN, POLICY_PERIOD_MAX, RESPOND_WITHIN_DEFAULT,
    RUN_HEARTBEATS_PER_TTL,
};

/// All in whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    pub lock: LockTimes,
    pub approval: ApprovalTimes,
    pub task: TaskTimes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockTimes {
    pub default_ttl: u32,
    pub max_ttl: u32,
    pub heartbeat_interval: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalTimes {
    pub default_timeout: u32,
    pub max_timeout: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskTimes {
    pub default_timeout: u32,
}

/// What a tenant has set itself, group by group; the rest is the installation's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overrides {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<LockTimes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalTimes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskTimes>,
}

impl Overrides {
    /// No time of one group depends on another group, so what fits by itself fits over anything.
    pub fn over(self, base: Times) -> Times {
        Times {
            lock: self.lock.unwrap_or(base.lock),
            approval: self.approval.unwrap_or(base.approval),
            task: self.task.unwrap_or(base.task),
        }
    }
}

impl Default for LockTimes {
    fn default() -> Self {
        Self {
            default_ttl: whole(LEASE_TTL_DEFAULT),
            max_ttl: whole(LEASE_TTL_MAX),
            heartbeat_interval: whole(HEARTBEAT_INTERVAL_DEFAULT),
        }
    }
}

impl Default for ApprovalTimes {
    fn default() -> Self {
        Self {
            default_timeout: whole(RESPOND_WITHIN_DEFAULT),
            max_timeout: whole(APPROVAL_TIMEOUT_MAX_DEFAULT),
        }
    }
}

impl Default for TaskTimes {
    fn default() -> Self {
        Self { default_timeout: APPLY_TIMEOUT_DEFAULT_SECONDS }
    }
}

/// A setting by its name, and what it may be beside the others.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{name}` is {given} s: {least} to {most} s are possible{because}")]
pub struct TimesError {
    pub name: &'static str,
    given: u32,
    least: u32,
    most: u32,
    because: &'static str,
}

impl Times {
    /// Whether they fit each other and the bounds of the product.
    pub fn checked(self) -> Result<Self, TimesError> {
        let Self { lock, approval, task } = self;
        let (least_ttl, most_ttl) = (whole(LEASE_TTL_MIN), whole(LEASE_TTL_MAX));
        within("lock.max_ttl", lock.max_ttl, (least_ttl, most_ttl), "")?;
        let most = (least_ttl, lock.max_ttl);
        within("lock.default_ttl", lock.default_ttl, most, ", no more than `lock.max_ttl`")?;
        // Two heartbeats in a row may be lost: neither the lease nor the agent is late by then.
        let ttl = lock.default_ttl.min(whole(AGENT_LATE_AFTER));
        let most = (1, (ttl / RUN_HEARTBEATS_PER_TTL).max(1));
        let because = ", a third of `lock.default_ttl` and of what makes an agent late";
        within("lock.heartbeat_interval", lock.heartbeat_interval, most, because)?;
        let (least, most) = (whole(APPROVAL_TIMEOUT_MIN), whole(POLICY_PERIOD_MAX));
        within("approval.max_timeout", approval.max_timeout, (least, most), "")?;
        let most = (least, approval.max_timeout);
        let because = ", no more than `approval.max_timeout`";
        within("approval.default_timeout", approval.default_timeout, most, because)?;
        let most = (1, APPLY_TIMEOUT_MAX_SECONDS);
        within("task.default_timeout", task.default_timeout, most, "")?;
        Ok(self)
    }
}

impl LockTimes {
    pub fn ttl(&self) -> Duration {
        seconds(self.default_ttl)
    }

    pub fn longest_ttl(&self) -> Duration {
        seconds(self.max_ttl)
    }
}

impl ApprovalTimes {
    /// What a policy's own word comes to; without one, what everybody has.
    pub fn respond_within(&self, asked: Option<Duration>) -> Duration {
        asked.unwrap_or(seconds(self.default_timeout)).min(seconds(self.max_timeout))
    }
}

fn within(
    name: &'static str,
    given: u32,
    (least, most): (u32, u32),
    because: &'static str,
) -> Result<(), TimesError> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    Err(TimesError { name, given, least, most, because })
}

const fn seconds(count: u32) -> Duration {
    Duration::from_secs(count as u64)
}

fn whole(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_product_comes_with_fits() {
        let times = Times::default().checked().unwrap();
        assert_eq!((times.lock.default_ttl, times.lock.heartbeat_interval), (30, 10));
        assert_eq!(times.approval.default_timeout, 48 * 3_600);
    }

    #[test]
    fn each_time_has_a_least_and_a_most_beside_the_others() {
        type Set = fn(&mut Times, u32);
        let cases: [(&str, Set, u32, u32); 6] = [
            ("lock.max_ttl", |times, to| times.lock.max_ttl = to, 30, 300),
            ("lock.default_ttl", |times, to| times.lock.default_ttl = to, 30, 300),
            ("lock.heartbeat_interval", |times, to| times.lock.heartbeat_interval = to, 1, 10),
            (
                "approval.max_timeout",
                |times, to| times.approval.max_timeout = to,
                172_800,
                31_536_000,
            ),
            (
                "approval.default_timeout",
                |times, to| times.approval.default_timeout = to,
                60,
                2_592_000,
            ),
            ("task.default_timeout", |times, to| times.task.default_timeout = to, 1, 86_400),
        ];
        for (name, set, least, most) in cases {
            for (given, fits) in
                [(least - 1, false), (least, true), (most, true), (most + 1, false)]
            {
                let mut times = Times::default();
                set(&mut times, given);
                assert_eq!(times.checked().is_ok(), fits, "{name} {given}");
            }
        }
    }

    #[test]
    fn whoever_is_told_no_hears_the_name_and_the_room() {
        let mut times = Times::default();
        times.lock.heartbeat_interval = 11;
        let error = times.checked().unwrap_err();
        let says = "`lock.heartbeat_interval` is 11 s: 1 to 10 s are possible, a third of \
                    `lock.default_ttl` and of what makes an agent late";
        assert_eq!(error.to_string(), says);
    }

    #[test]
    fn a_policy_may_ask_for_less_and_never_for_more() {
        let times = ApprovalTimes { default_timeout: 3_600, max_timeout: 7_200 };
        let asked = [(None, 1), (Some(2), 2), (Some(3), 2)];
        for (asked, hours) in asked {
            let asked = asked.map(Duration::from_hours);
            assert_eq!(times.respond_within(asked), Duration::from_hours(hours));
        }
    }
}
