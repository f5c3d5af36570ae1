//! A lease over time, on a clock that the tests turn: when heartbeats go out, and when the
//! keeper gives up.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ade_api::code::Code;
use ade_api::problem::Problem;
use ade_core::time::Timestamp;
use tokio::time::sleep;

use super::*;

const TTL: Duration = Duration::from_secs(30);

fn alive(abort_requested: bool) -> Alive {
    let expires_at = Timestamp::from_micros(0);
    Alive { abort_requested, expires_at, ttl_ms: u64::try_from(TTL.as_millis()).unwrap() }
}

fn gone() -> Error {
    Error::Unreachable { server: "x".to_owned(), why: "refused".to_owned() }
}

fn refused(code: Code) -> Error {
    let problem = serde_json::to_string(&Problem::new(code, "as the test wants it")).unwrap();
    Error::Refused(Box::new(serde_json::from_str(&problem).unwrap()))
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_goes_out_at_once_and_every_third_of_the_lease() {
    let began = Instant::now();
    let beats = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&beats);
    let mut keeper = Keeper::start(TTL, move |_| {
        seen.lock().unwrap().push(began.elapsed());
        async { Ok(alive(false)) }
    });
    assert_eq!(keeper.settled().await, Standing::Held);
    sleep(Duration::from_secs(35)).await;
    let seconds: Vec<u64> = beats.lock().unwrap().iter().map(Duration::as_secs).collect();
    assert_eq!(seconds, [0, 10, 20, 30]);
}

/// The claim that safety rests on: with a margin left, counted from what was sent.
#[tokio::test(start_paused = true)]
async fn a_server_that_falls_silent_ends_the_lease_a_margin_early() {
    let count = Arc::new(AtomicUsize::new(0));
    let mut keeper = Keeper::start(TTL, move |_| {
        let count = count.fetch_add(1, Ordering::SeqCst);
        async move {
            match count {
                // Answers late: what counts is when the question was sent.
                0 => {
                    sleep(Duration::from_secs(4)).await;
                    Ok(alive(false))
                }
                _ => std::future::pending().await,
            }
        }
    });
    let began = Instant::now();
    assert_eq!(keeper.settled().await, Standing::Held);
    let Standing::Lost(why) = keeper.stopped().await else { panic!("it was not lost") };
    assert_eq!(began.elapsed(), TTL.saturating_sub(margin(TTL)), "{why}");
    assert!(why.contains("25.0 s"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn broken_connections_are_tried_again_until_the_lease_is_over() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let mut keeper = Keeper::start(TTL, move |_| {
        let count = counted.fetch_add(1, Ordering::SeqCst);
        async move { if (1..6).contains(&count) { Err(gone()) } else { Ok(alive(false)) } }
    });
    keeper.settled().await;
    sleep(Duration::from_mins(2)).await;
    assert!(count.load(Ordering::SeqCst) > 10);
    assert_eq!(*keeper.standing.borrow(), Standing::Held, "five broken ones in a row");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_gone_for_good_ends_the_lease_a_margin_early() {
    let count = Arc::new(AtomicUsize::new(0));
    let mut keeper = Keeper::start(TTL, move |_| {
        let count = count.fetch_add(1, Ordering::SeqCst);
        async move { if count == 0 { Ok(alive(false)) } else { Err(gone()) } }
    });
    let began = Instant::now();
    assert!(matches!(keeper.stopped().await, Standing::Lost(_)));
    assert_eq!(began.elapsed(), TTL.saturating_sub(margin(TTL)));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_ends_it_at_once() {
    let mut keeper = Keeper::start(TTL, |_| async { Err(refused(Code::LeaseLost)) });
    let began = Instant::now();
    assert!(matches!(keeper.settled().await, Standing::Lost(_)));
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_wish_to_stop_is_told_and_the_lease_is_kept_meanwhile() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let mut keeper = Keeper::start(TTL, move |_| {
        let count = counted.fetch_add(1, Ordering::SeqCst);
        async move { Ok(alive(count >= 1)) }
    });
    assert_eq!(keeper.settled().await, Standing::Held);
    assert_eq!(keeper.stopped().await, Standing::AbortAsked);
    sleep(Duration::from_mins(1)).await;
    assert!(count.load(Ordering::SeqCst) >= 6);
}

#[tokio::test(start_paused = true)]
async fn whoever_was_stopped_for_too_long_gives_up_without_asking() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let mut keeper = Keeper::start(TTL, move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(alive(false)) }
    });
    assert_eq!(keeper.settled().await, Standing::Held);
    tokio::time::advance(TTL).await;
    assert!(matches!(keeper.stopped().await, Standing::Lost(_)));
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[test]
fn the_margin_is_a_part_of_the_lease_and_no_longer_than_the_grace() {
    assert_eq!(margin(Duration::from_secs(30)), Duration::from_secs(5));
    assert_eq!(margin(Duration::from_mins(5)), RUN_MARGIN_MAX);
    assert!(margin(Duration::from_secs(2)) < Duration::from_millis(400));
}

#[tokio::test(start_paused = true)]
async fn work_ends_where_it_stands_when_the_lease_is_lost() {
    let count = Arc::new(AtomicUsize::new(0));
    let mut keeper = Keeper::start(TTL, move |_| {
        let count = count.fetch_add(1, Ordering::SeqCst);
        async move { if count == 0 { Ok(alive(false)) } else { Err(refused(Code::LeaseLost)) } }
    });
    let steps = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&steps);
    let work = async move {
        loop {
            counted.fetch_add(1, Ordering::SeqCst);
            sleep(Duration::from_secs(1)).await;
        }
    };
    let ended: Result<(), Standing> = keeper.guard(work).await;
    assert!(matches!(ended, Err(Standing::Lost(_))), "{ended:?}");
    let done = steps.load(Ordering::SeqCst);
    assert!((9..=11).contains(&done), "{done} seconds of a lease that ended after ten");
    sleep(TTL).await;
    assert_eq!(steps.load(Ordering::SeqCst), done, "nothing goes on");
}

#[tokio::test(start_paused = true)]
async fn work_under_a_lease_that_was_never_confirmed_does_not_begin() {
    let mut keeper = Keeper::start(TTL, |_| async { Err(refused(Code::LeaseLost)) });
    let ended = keeper.guard(async { panic!("it has begun") }).await;
    assert!(matches!(ended, Err::<(), _>(Standing::Lost(_))), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn work_that_ends_in_time_gives_its_answer() {
    let mut keeper = Keeper::start(TTL, |_| async { Ok(alive(false)) });
    assert_eq!(keeper.guard(async { 7 }).await, Ok(7));
}
