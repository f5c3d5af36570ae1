//! Tests of the judge: each history has one thing wrong.

use super::*;

const BITS: u32 = 33;
const SECOND: u64 = 1_000_000;

fn token(counter: u64) -> u64 {
    (1 << BITS) + counter
}

fn event(at: u64, lease: &str, what: What) -> HistoryEvent {
    HistoryEvent { at, lease: lease.to_owned(), what }
}

fn queued(at: u64, lease: &str, place: u64) -> HistoryEvent {
    let (place, resource) = (token(place), "db:a".to_owned());
    event(at, lease, What::Queued { resource, place, arrival: place, sent: at - 1 })
}

fn granted(at: u64, lease: &str, number: u64) -> HistoryEvent {
    let resource = "db:a".to_owned();
    event(at, lease, What::Granted { resource, token: token(number), sent: at - 1 })
}

fn judged(events: &[HistoryEvent]) -> HistoryVerdict {
    judge(events, &[], BITS)
}

#[test]
fn history_in_order_has_no_failures() {
    let events = [
        granted(10, "a", 1),
        queued(20, "b", 1),
        queued(30, "c", 2),
        event(40, "a", What::Registered),
        event(50, "a", What::Committed { is_stale: false }),
        granted(60, "b", 2),
        event(65, "b", What::Fenced { is_early: false }),
        granted(70, "c", 3),
    ];
    let verdict = judged(&events);
    assert_eq!(verdict.failures(), Vec::<String>::new());
    let counts = (verdict.grants, verdict.commits, verdict.registered, verdict.fenced);
    assert_eq!(counts, (3, 1, 1, 1));
}

#[test]
fn history_names_stale_commits_and_early_fences() {
    let stale = event(5, "a", What::Committed { is_stale: true });
    let early = event(6, "b", What::Fenced { is_early: true });
    let failures = judged(&[stale, early]).failures();
    assert!(
        failures[0].contains("stale commit: a") && failures[1].contains("deadline: b"),
        "{failures:?}"
    );
}

#[test]
fn history_wait_without_an_end_in_the_limit_is_lost() {
    let bound = u64::try_from(WAIT_BOUND.as_micros()).unwrap();
    let events = [
        queued(10, "never", 1),
        queued(20, "late", 2),
        granted(30 + bound, "late", 1),
        queued(40, "left", 3),
        event(50, "left", What::Left),
        // The lease received its place twice, but it is one wait.
        queued(60, "again", 4),
        queued(30 + bound, "again", 5),
        event(70 + bound, "again", What::Left),
    ];
    assert_eq!(judged(&events).lost, ["again", "late", "never"]);
}

#[test]
fn history_overtaking_counts_queued_waiters_only() {
    let overtaken = [queued(10, "b", 1), queued(20, "c", 2), granted(30, "c", 1)];
    let verdict = judged(&[overtaken.as_slice(), &[granted(40, "b", 2)]].concat());
    assert_eq!(verdict.inversions.len(), 1, "{verdict:?}");
    assert!(verdict.inversions[0].starts_with("b by c"), "{verdict:?}");
    // It returned to its old place after the other one had been granted.
    let back = [queued(20, "c", 2), granted(30, "c", 1), queued(35, "b", 1), granted(40, "b", 2)];
    assert_eq!(judged(&back).inversions, Vec::<String>::new());
    // It left the queue before.
    let gone = [overtaken.as_slice(), &[event(25, "b", What::Left)]].concat();
    assert_eq!(judged(&gone).inversions, Vec::<String>::new());
}

#[test]
fn history_gap_after_a_fault_ends_with_the_first_new_grant() {
    let events = [granted(SECOND, "a", 1), granted(4 * SECOND, "b", 2)];
    let fault = InjectedFault { at: SECOND, name: "kill".to_owned() };
    let verdict = judge(&events, &[fault], BITS);
    assert_eq!(verdict.gap_p99("other"), Some(Duration::from_secs(3)));
    assert_eq!(verdict.gap_p99("kill"), None);
    assert!(verdict.to_string().ends_with("kill:3000ms"), "{verdict}");
}

#[test]
fn history_events_round_trip() {
    let events = [
        queued(10, "a", 1),
        granted(20, "a", 1),
        event(30, "a", What::Left),
        event(40, "a", What::Registered),
        event(50, "a", What::Committed { is_stale: true }),
        event(60, "a", What::Fenced { is_early: true }),
        event(70, "a", What::Doubled),
    ];
    for event in events {
        assert_eq!(event.to_string().parse(), Ok(event));
    }
    assert!(
        "12 a".parse::<HistoryEvent>().is_err()
            && "12 a granted db".parse::<HistoryEvent>().is_err()
    );
}
