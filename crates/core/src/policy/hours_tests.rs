//! Windows in local time: boundaries, days, midnight and the two clock changes of the year, and an
//! oracle that walks the minutes of a week.

use super::*;
use proptest::prelude::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn hours(zone: &str, days: &[Weekday], from: &str, to: &str) -> Hours {
    Hours::new(zone, days.iter().copied(), from, to).unwrap()
}

fn check(window: &Hours, cases: &[(&str, bool)]) {
    for (moment, expected) in cases {
        assert_eq!(window.holds(at(moment)), *expected, "{window:?} at {moment}");
    }
}

#[test]
fn hours_window_includes_its_start_and_excludes_its_end() {
    let window = hours("UTC", &[], "09:00", "17:30");
    check(
        &window,
        &[
            ("2026-03-18T08:59:59.999999Z", false),
            ("2026-03-18T09:00:00Z", true),
            ("2026-03-18T17:29:59.999999Z", true),
            ("2026-03-18T17:30:00Z", false),
        ],
    );
}

#[test]
fn hours_days_are_those_of_the_zone() {
    // Wednesday 23:30 UTC is Thursday 00:30 in Vienna and Wednesday 19:30 in New York.
    let moment = "2026-03-18T23:30:00Z";
    for (zone, day, expected) in [
        ("UTC", Weekday::Wednesday, true),
        ("UTC", Weekday::Thursday, false),
        ("Europe/Vienna", Weekday::Thursday, true),
        ("Europe/Vienna", Weekday::Wednesday, false),
        ("America/New_York", Weekday::Wednesday, true),
    ] {
        check(&hours(zone, &[day], "00:00", "24:00"), &[(moment, expected)]);
    }
}

#[test]
fn hours_accept_every_day_of_the_week() {
    // 2026-03-16 is a Monday.
    for (index, (_, day)) in Weekday::ALL.iter().enumerate() {
        for offset in 0..7_usize {
            let moment = format!("2026-03-{}T12:00:00Z", 16 + offset);
            let window = hours("UTC", &[*day], "00:00", "24:00");
            check(&window, &[(&moment, index == offset)]);
        }
    }
}

#[test]
fn hours_window_over_midnight_belongs_to_its_first_day() {
    let friday_night = hours("UTC", &[Weekday::Friday], "22:00", "06:00");
    check(
        &friday_night,
        &[
            ("2026-03-20T05:59:00Z", false), // Friday morning is Thursday's night.
            ("2026-03-20T21:59:00Z", false),
            ("2026-03-20T22:00:00Z", true),
            ("2026-03-21T00:00:00Z", true),
            ("2026-03-21T05:59:59Z", true),
            ("2026-03-21T06:00:00Z", false),
            ("2026-03-21T22:00:00Z", false), // Saturday evening.
        ],
    );
    let to_midnight = hours("UTC", &[Weekday::Friday], "22:00", "00:00");
    check(&to_midnight, &[("2026-03-20T23:59:59Z", true), ("2026-03-21T00:00:00Z", false)]);
}

#[test]
fn hours_skipped_by_summer_time_are_never_inside() {
    // Vienna, 2026-03-29: 02:00 becomes 03:00 at 01:00 UTC.
    let skipped = hours("Europe/Vienna", &[], "02:15", "02:45");
    check(
        &skipped,
        &[
            ("2026-03-28T01:30:00Z", true),
            ("2026-03-29T00:30:00Z", false), // 01:30
            ("2026-03-29T00:59:59Z", false), // 01:59
            ("2026-03-29T01:00:00Z", false), // 03:00
            ("2026-03-29T01:30:00Z", false), // 03:30
            ("2026-03-30T00:30:00Z", true),  // 02:30
        ],
    );
    let across = hours("Europe/Vienna", &[], "01:30", "03:30");
    check(
        &across,
        &[
            ("2026-03-29T00:29:59Z", false),
            ("2026-03-29T00:30:00Z", true),
            ("2026-03-29T01:00:00Z", true),
            ("2026-03-29T01:29:59Z", true),
            ("2026-03-29T01:30:00Z", false),
        ],
    );
}

#[test]
fn hours_repeated_by_winter_time_are_inside_twice() {
    // Vienna, 2026-10-25: 03:00 becomes 02:00 at 01:00 UTC.
    let repeated = hours("Europe/Vienna", &[], "02:15", "02:45");
    check(
        &repeated,
        &[
            ("2026-10-25T00:14:59Z", false), // 02:14, first time
            ("2026-10-25T00:15:00Z", true),
            ("2026-10-25T00:44:59Z", true),
            ("2026-10-25T00:45:00Z", false),
            ("2026-10-25T01:00:00Z", false), // 02:00, second time
            ("2026-10-25T01:15:00Z", true),
            ("2026-10-25T01:45:00Z", false),
        ],
    );
}

#[test]
fn hours_follow_the_local_clock_through_the_year() {
    let office = hours("Europe/Vienna", &[], "09:00", "17:00");
    check(
        &office,
        &[
            ("2026-01-14T08:00:00Z", true),  // 09:00 in winter
            ("2026-01-14T07:00:00Z", false), // 08:00
            ("2026-07-15T07:00:00Z", true),  // 09:00 in summer
            ("2026-07-15T15:00:00Z", false), // 17:00
        ],
    );
    // Far past any explicit table the rule continues.
    check(&office, &[("2090-07-12T07:00:00Z", true)]);
    let kathmandu = hours("Asia/Kathmandu", &[], "09:00", "17:00");
    check(&kathmandu, &[("2026-03-18T03:15:00Z", true), ("2026-03-18T03:14:59Z", false)]);
}

#[test]
fn hours_past_the_end_of_the_calendar_apply() {
    let window = hours("UTC", &[Weekday::Monday], "09:00", "09:01");
    assert!(window.holds(Timestamp::from_micros(i64::MAX)));
}

#[test]
fn hours_window_that_is_invalid_is_refused_with_the_reason() {
    let refused = |zone: &str, from: &str, to: &str| Hours::new(zone, [], from, to).unwrap_err();
    for zone in ["", "Vienna", "+02:00", "Etc/Unknown", "EST5EDT4,M3"] {
        assert_eq!(
            refused(zone, "09:00", "17:00"),
            HoursError::UnknownZone { given: zone.to_owned() },
        );
    }
    for time in [
        "", "9:00", "09:0", "0900", "09:60", "24:01", "25:00", "-1:00", "+9:00", "09:00:00",
        "a9:00",
    ] {
        let bad = HoursError::BadTime { given: time.to_owned() };
        assert_eq!(refused("UTC", time, "17:00"), bad);
        assert_eq!(refused("UTC", "08:00", time), bad);
    }
    assert_eq!(
        refused("UTC", "09:00", "09:00").to_string(),
        "a window from 09:00 to 09:00 is empty: write 00:00 to 24:00 for the whole day"
    );
    assert_eq!(refused("UTC", "24:00", "09:00"), HoursError::BeginsAtEnd);
}

#[test]
fn hours_zone_is_normalized_to_the_table_spelling() {
    let window = hours("europe/VIENNA", &[Weekday::Sunday, Weekday::Monday], "09:05", "24:00");
    assert_eq!(
        serde_json::to_string(&window).unwrap(),
        r#"{"zone":"Europe/Vienna","days":["mon","sun"],"from":"09:05","to":"24:00"}"#
    );
    assert_eq!(format!("{window:?}"), "09:05–24:00 Europe/Vienna {Monday, Sunday}");
}

proptest! {
    /// In UTC a week is 10,080 equal minutes: the test walks from each start to its end and checks
    /// whether the minute in question is passed.
    #[test]
    fn hours_in_utc_agree_with_counting_minutes(
        begins in proptest::collection::btree_set(0..7_usize, 0..=7),
        from in 0..1440_u16,
        to in 0..=1440_u16,
        asked in 0..10_080_i64,
    ) {
        prop_assume!(from != to);
        let text = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        let days = begins.iter().map(|day| Weekday::ALL[*day].1);
        let window = Hours::new("UTC", days, &text(from), &text(to)).unwrap();
        let begins: Vec<usize> = if begins.is_empty() {
            (0..7).collect()
        } else {
            begins.into_iter().collect()
        };
        let length = if to > from { to - from } else { 1440 - from + to };
        let inside = begins.iter().any(|day| {
            let begin = i64::try_from(*day).unwrap() * 1440 + i64::from(from);
            (0..i64::from(length)).any(|passed| (begin + passed) % 10_080 == asked)
        });
        let monday = at("2026-03-16T00:00:00Z");
        let now = Timestamp::from_micros(monday.micros() + asked * 60_000_000);
        prop_assert_eq!(window.holds(now), inside);
    }
}
