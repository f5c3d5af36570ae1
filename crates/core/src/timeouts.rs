//! Default timeouts: leases, answers of reviewers, attempts. The names are those of the settings.
//! An installation configures them; a tenant may have its own.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::limits::{
    AGENT_LATE_AFTER, APPLY_TIMEOUT_DEFAULT_SECONDS, APPLY_TIMEOUT_MAX_SECONDS,
    APPROVAL_TIMEOUT_MAX_DEFAULT, APPROVAL_TIMEOUT_MIN, HEARTBEAT_INTERVAL_DEFAULT,
    LEASE_TTL_DEFAULT, LEASE_TTL_MAX, LEASE_TTL_MIN, POLICY_PERIOD_MAX, RESPOND_WITHIN_DEFAULT,
    RUN_HEARTBEATS_PER_TTL,
};

/// The timeouts, all in whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timeouts {
    pub lock: LockTimeouts,
    pub approval: ApprovalTimeouts,
    pub task: TaskTimeouts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockTimeouts {
    pub default_ttl_seconds: u32,
    pub max_ttl_seconds: u32,
    pub heartbeat_interval_seconds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalTimeouts {
    pub default_timeout_seconds: u32,
    pub max_timeout_seconds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskTimeouts {
    pub default_timeout_seconds: u32,
}

/// The timeouts that a tenant has set, group by group; the others are those of the installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overrides {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<LockTimeouts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalTimeouts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskTimeouts>,
}

impl Overrides {
    /// Applies the overrides. No time of one group depends on another group, so each group can be
    /// validated separately.
    pub fn over(self, base: Timeouts) -> Timeouts {
        Timeouts {
            lock: self.lock.unwrap_or(base.lock),
            approval: self.approval.unwrap_or(base.approval),
            task: self.task.unwrap_or(base.task),
        }
    }
}

impl Default for LockTimeouts {
    fn default() -> Self {
        Self {
            default_ttl_seconds: whole(LEASE_TTL_DEFAULT),
            max_ttl_seconds: whole(LEASE_TTL_MAX),
            heartbeat_interval_seconds: whole(HEARTBEAT_INTERVAL_DEFAULT),
        }
    }
}

impl Default for ApprovalTimeouts {
    fn default() -> Self {
        Self {
            default_timeout_seconds: whole(RESPOND_WITHIN_DEFAULT),
            max_timeout_seconds: whole(APPROVAL_TIMEOUT_MAX_DEFAULT),
        }
    }
}

impl Default for TaskTimeouts {
    fn default() -> Self {
        Self { default_timeout_seconds: APPLY_TIMEOUT_DEFAULT_SECONDS }
    }
}

/// A setting by its name, and the range that the others allow.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{name}` is {given} s: it must be {least} to {most} s{because}")]
pub struct TimeoutsError {
    pub name: &'static str,
    given: u32,
    least: u32,
    most: u32,
    because: &'static str,
}

impl Timeouts {
    /// Checks that the timeouts fit each other and the bounds of the product.
    pub fn checked(self) -> Result<Self, TimeoutsError> {
        let Self { lock, approval, task } = self;
        let (least_ttl, most_ttl) = (whole(LEASE_TTL_MIN), whole(LEASE_TTL_MAX));
        within("lock.max_ttl_seconds", lock.max_ttl_seconds, (least_ttl, most_ttl), "")?;
        let most = (least_ttl, lock.max_ttl_seconds);
        within(
            "lock.default_ttl_seconds",
            lock.default_ttl_seconds,
            most,
            ", at most `lock.max_ttl_seconds`",
        )?;
        // Two consecutive heartbeats may be lost before the lease or the agent is late.
        let ttl = lock.default_ttl_seconds.min(whole(AGENT_LATE_AFTER));
        let most = (1, (ttl / RUN_HEARTBEATS_PER_TTL).max(1));
        let because = ", at most a third of `lock.default_ttl_seconds` and of the time after \
                       which an agent counts as late";
        within("lock.heartbeat_interval_seconds", lock.heartbeat_interval_seconds, most, because)?;
        let (least, most) = (whole(APPROVAL_TIMEOUT_MIN), whole(POLICY_PERIOD_MAX));
        within("approval.max_timeout_seconds", approval.max_timeout_seconds, (least, most), "")?;
        let most = (least, approval.max_timeout_seconds);
        let because = ", at most `approval.max_timeout_seconds`";
        within(
            "approval.default_timeout_seconds",
            approval.default_timeout_seconds,
            most,
            because,
        )?;
        let most = (1, APPLY_TIMEOUT_MAX_SECONDS);
        within("task.default_timeout_seconds", task.default_timeout_seconds, most, "")?;
        Ok(self)
    }
}

impl LockTimeouts {
    pub fn ttl(&self) -> Duration {
        seconds(self.default_ttl_seconds)
    }

    pub fn longest_ttl(&self) -> Duration {
        seconds(self.max_ttl_seconds)
    }
}

impl ApprovalTimeouts {
    /// Returns the response time for the value of a policy; without one, the default.
    pub fn respond_within(&self, asked: Option<Duration>) -> Duration {
        asked
            .unwrap_or(seconds(self.default_timeout_seconds))
            .min(seconds(self.max_timeout_seconds))
    }
}

fn within(
    name: &'static str,
    given: u32,
    (least, most): (u32, u32),
    because: &'static str,
) -> Result<(), TimeoutsError> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    Err(TimeoutsError { name, given, least, most, because })
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
    fn times_defaults_are_valid() {
        let timeouts = Timeouts::default().checked().unwrap();
        assert_eq!(
            (timeouts.lock.default_ttl_seconds, timeouts.lock.heartbeat_interval_seconds),
            (30, 10)
        );
        assert_eq!(timeouts.approval.default_timeout_seconds, 48 * 3_600);
    }

    #[test]
    fn times_are_bounded_relative_to_each_other() {
        type Set = fn(&mut Timeouts, u32);
        let cases: [(&str, Set, u32, u32); 6] = [
            ("lock.max_ttl_seconds", |timeouts, to| timeouts.lock.max_ttl_seconds = to, 30, 300),
            (
                "lock.default_ttl_seconds",
                |timeouts, to| timeouts.lock.default_ttl_seconds = to,
                30,
                300,
            ),
            (
                "lock.heartbeat_interval_seconds",
                |timeouts, to| timeouts.lock.heartbeat_interval_seconds = to,
                1,
                10,
            ),
            (
                "approval.max_timeout_seconds",
                |timeouts, to| timeouts.approval.max_timeout_seconds = to,
                172_800,
                31_536_000,
            ),
            (
                "approval.default_timeout_seconds",
                |timeouts, to| timeouts.approval.default_timeout_seconds = to,
                60,
                2_592_000,
            ),
            (
                "task.default_timeout_seconds",
                |timeouts, to| timeouts.task.default_timeout_seconds = to,
                1,
                86_400,
            ),
        ];
        for (name, set, least, most) in cases {
            for (given, fits) in
                [(least - 1, false), (least, true), (most, true), (most + 1, false)]
            {
                let mut timeouts = Timeouts::default();
                set(&mut timeouts, given);
                assert_eq!(timeouts.checked().is_ok(), fits, "{name} {given}");
            }
        }
    }

    #[test]
    fn times_error_names_the_field_and_its_range() {
        let mut timeouts = Timeouts::default();
        timeouts.lock.heartbeat_interval_seconds = 11;
        let error = timeouts.checked().unwrap_err();
        let says = "`lock.heartbeat_interval_seconds` is 11 s: it must be 1 to 10 s, at most \
                    a third of `lock.default_ttl_seconds` and of the time after which an agent \
                    counts as late";
        assert_eq!(error.to_string(), says);
    }

    #[test]
    fn times_of_a_policy_may_only_be_shorter() {
        let timeouts =
            ApprovalTimeouts { default_timeout_seconds: 3_600, max_timeout_seconds: 7_200 };
        let asked = [(None, 1), (Some(2), 2), (Some(3), 2)];
        for (asked, hours) in asked {
            let asked = asked.map(Duration::from_hours);
            assert_eq!(timeouts.respond_within(asked), Duration::from_hours(hours));
        }
    }
}
