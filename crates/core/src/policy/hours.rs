//! A weekly window in which a policy applies, in the local time of its zone. The zone table is
//! compiled in, so that the result does not depend on the machine.

use std::collections::BTreeSet;
use std::fmt;

use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use crate::time::Timestamp;

const MINUTES_OF_DAY: u16 = 24 * 60;

/// The window from the minute `from` up to, not including, the minute `to`. If `to` is earlier, the
/// window ends on the following day, and `days` are those on which it begins. No days means every
/// day.
///
/// Only the local clock counts. Times that a change to summer time skips are never inside; times
/// that the change back repeats are inside twice.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Hours {
    zone: String,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    days: BTreeSet<Weekday>,
    from: Minute,
    to: Minute,
    #[serde(skip)]
    rules: TimeZone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Weekday {
    #[serde(rename = "mon")]
    Monday,
    #[serde(rename = "tue")]
    Tuesday,
    #[serde(rename = "wed")]
    Wednesday,
    #[serde(rename = "thu")]
    Thursday,
    #[serde(rename = "fri")]
    Friday,
    #[serde(rename = "sat")]
    Saturday,
    #[serde(rename = "sun")]
    Sunday,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HoursError {
    #[error("`{given}` is not a time zone: use an IANA name such as Europe/Vienna or UTC")]
    UnknownZone { given: String },
    #[error("`{given}` is not a time of day: write it as HH:MM, from 00:00 to 24:00")]
    BadTime { given: String },
    #[error("a window from {at} to {at} is empty: write 00:00 to 24:00 for the whole day")]
    Empty { at: String },
    #[error("a window cannot begin at 24:00: write 00:00 and the following day")]
    BeginsAtEnd,
}

impl Hours {
    pub fn new(
        zone: &str,
        days: impl IntoIterator<Item = Weekday>,
        from: &str,
        to: &str,
    ) -> Result<Self, HoursError> {
        let (zone, rules) = rules(zone)?;
        let (from, to) = (Minute::parse(from)?, Minute::parse(to)?);
        if from == to {
            return Err(HoursError::Empty { at: from.to_string() });
        }
        if from.0 == MINUTES_OF_DAY {
            return Err(HoursError::BeginsAtEnd);
        }
        Ok(Self { zone, days: days.into_iter().collect(), from, to, rules })
    }

    /// Returns whether `now` is inside the window. Outside the years of any calendar it is, because
    /// applying a policy adds requirements and leaving one out removes them.
    pub fn holds(&self, now: Timestamp) -> bool {
        let Some(instant) = now.calendar() else {
            return true;
        };
        let local = self.rules.to_datetime(instant);
        let minute = Minute::at(local.hour(), local.minute());
        let today = Weekday::of(local.weekday());
        if self.from < self.to {
            return self.begins_on(today) && self.from <= minute && minute < self.to;
        }
        let yesterday = Weekday::of(local.weekday().previous());
        (self.begins_on(today) && self.from <= minute)
            || (self.begins_on(yesterday) && minute < self.to)
    }

    fn begins_on(&self, day: Weekday) -> bool {
        self.days.is_empty() || self.days.contains(&day)
    }
}

impl fmt::Debug for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}–{} {} {:?}", self.from, self.to, self.zone, self.days)
    }
}

/// Looks up a zone by name and returns the name as the table spells it. A bare offset such as
/// `+02:00` is refused, because it would be wrong for half the year.
fn rules(zone: &str) -> Result<(String, TimeZone), HoursError> {
    TimeZoneDatabase::bundled()
        .get(zone)
        .ok()
        .filter(|rules| !rules.is_unknown())
        .and_then(|rules| Some((rules.iana_name()?.to_owned(), rules)))
        .ok_or_else(|| HoursError::UnknownZone { given: zone.to_owned() })
}

impl Weekday {
    pub(super) const ALL: [(&'static str, Self); 7] = [
        ("mon", Self::Monday),
        ("tue", Self::Tuesday),
        ("wed", Self::Wednesday),
        ("thu", Self::Thursday),
        ("fri", Self::Friday),
        ("sat", Self::Saturday),
        ("sun", Self::Sunday),
    ];

    fn of(day: jiff::civil::Weekday) -> Self {
        match day {
            jiff::civil::Weekday::Monday => Self::Monday,
            jiff::civil::Weekday::Tuesday => Self::Tuesday,
            jiff::civil::Weekday::Wednesday => Self::Wednesday,
            jiff::civil::Weekday::Thursday => Self::Thursday,
            jiff::civil::Weekday::Friday => Self::Friday,
            jiff::civil::Weekday::Saturday => Self::Saturday,
            jiff::civil::Weekday::Sunday => Self::Sunday,
        }
    }
}

/// Minutes since midnight, up to and including the 1440 of 24:00.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Minute(u16);

impl Minute {
    fn parse(text: &str) -> Result<Self, HoursError> {
        let bad = || HoursError::BadTime { given: text.to_owned() };
        let (hour, minute) = text.split_once(':').ok_or_else(bad)?;
        let number = |digits: &str| -> Option<u16> {
            let two = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
            two.then(|| digits.parse().ok()).flatten()
        };
        let hour = number(hour).ok_or_else(bad)?;
        let minute = number(minute).ok_or_else(bad)?;
        let total = hour * 60 + minute;
        if minute > 59 || total > MINUTES_OF_DAY {
            return Err(bad());
        }
        Ok(Self(total))
    }

    fn at(hour: i8, minute: i8) -> Self {
        let part = |value: i8| u16::from(value.unsigned_abs());
        Self(part(hour) * 60 + part(minute))
    }
}

impl fmt::Display for Minute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

impl Serialize for Minute {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
#[path = "hours_tests.rs"]
mod tests;
