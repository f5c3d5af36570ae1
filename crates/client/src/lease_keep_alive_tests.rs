//! Tests of the lease heartbeat with a paused clock: when it is sent, and when it gives up.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ade_api::code::Code;
use ade_api::problem::Problem;
use ade_core::time::Timestamp;
use tokio::time::sleep;

use super::*;

const TTL: Duration = Duration::from_secs(30);

fn alive(abort_requested: bool) -> Alive {
    let expires_at = Timestamp::from_micros(0);
    let abort = abort_requested.then(|| Cause {
        by: "usr_1".to_owned(),
        reason: Some("customer called".to_owned()),
        at: expires_at,
    });
    Alive { abort_requested, abort, expires_at, ttl_seconds: TTL.as_secs() }
}

fn gone() -> Error {
    Error::Unreachable { server: "x".to_owned(), why: "refused".to_owned() }
}

fn refused(code: Code) -> Error {
    let problem = serde_json::to_string(&Problem::new(code, "as the test wants it")).unwrap();
    Error::Refused(Box::new(serde_json::from_str(&problem).unwrap()))
}

#[tokio::test(start_paused = true)]
async fn heartbeat_is_sent_at_once_and_every_third_of_the_lease() {
    let began = Instant::now();
    let beats = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&beats);
    let mut keep_alive = LeaseKeepAlive::start(TTL, move |_| {
        seen.lock().unwrap().push(began.elapsed());
        async { Ok(alive(false)) }
    });
    assert_eq!(keep_alive.settled().await, KeepAliveStatus::Held);
    sleep(Duration::from_secs(35)).await;
    let seconds: Vec<u64> = beats.lock().unwrap().iter().map(Duration::as_secs).collect();
    assert_eq!(seconds, [0, 10, 20, 30]);
}

/// The safety property: the lease ends a margin early, measured from when a heartbeat was sent.
#[tokio::test(start_paused = true)]
async fn lease_ends_a_margin_early_when_the_server_is_silent() {
    let count = Arc::new(AtomicUsize::new(0));
    let mut keep_alive = LeaseKeepAlive::start(TTL, move |_| {
        let count = count.fetch_add(1, Ordering::SeqCst);
        async move {
            match count {
                // The answer is late, but the time of sending counts.
                0 => {
                    sleep(Duration::from_secs(4)).await;
                    Ok(alive(false))
                }
                _ => std::future::pending().await,
            }
        }
    });
    let began = Instant::now();
    assert_eq!(keep_alive.settled().await, KeepAliveStatus::Held);
    let KeepAliveStatus::Lost(why) = keep_alive.stopped().await else { panic!("it was not lost") };
    assert_eq!(began.elapsed(), TTL.saturating_sub(margin(TTL)), "{why}");
    assert!(why.to_string().contains("25.0 s"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn heartbeat_retries_broken_connections_until_the_lease_ends() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let mut keep_alive = LeaseKeepAlive::start(TTL, move |_| {
        let count = counted.fetch_add(1, Ordering::SeqCst);
        async move { if (1..6).contains(&count) { Err(gone()) } else { Ok(alive(false)) } }
    });
    keep_alive.settled().await;
    sleep(Duration::from_mins(2)).await;
    assert!(count.load(Ordering::SeqCst) > 10);
    assert_eq!(*keep_alive.status.borrow(), KeepAliveStatus::Held, "five failures in a row");
}

#[tokio::test(start_paused = true)]
async fn lease_ends_a_margin_early_when_the_server_is_gone() {
    let count = Arc::new(AtomicUsize::new(0));
    let mut keep_alive = LeaseKeepAlive::start(TTL, move |_| {
        let count = count.fetch_add(1, Ordering::SeqCst);
        async move { if count == 0 { Ok(alive(false)) } else { Err(gone()) } }
    });
    let began = Instant::now();
    assert!(matches!(keep_alive.stopped().await, KeepAliveStatus::Lost(_)));
    assert_eq!(began.elapsed(), TTL.saturating_sub(margin(TTL)));
}

#[tokio::test(start_paused = true)]
async fn lease_ends_at_once_when_a_heartbeat_is_refused() {
    let mut keep_alive = LeaseKeepAlive::start(TTL, |_| async { Err(refused(Code::LeaseLost)) });
    let began = Instant::now();
    assert!(matches!(keep_alive.settled().await, KeepAliveStatus::Lost(_)));
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn abort_request_is_reported_while_the_lease_is_kept() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let mut keep_alive = LeaseKeepAlive::start(TTL, move |_| {
        let count = counted.fetch_add(1, Ordering::SeqCst);
        async move { Ok(alive(count >= 1)) }
    });
    assert_eq!(keep_alive.settled().await, KeepAliveStatus::Held);
    assert_eq!(keep_alive.stopped().await, KeepAliveStatus::AbortRequested);
    let reason = keep_alive.abort().and_then(|abort| abort.reason);
    assert_eq!(reason.as_deref(), Some("customer called"));
    sleep(Duration::from_mins(1)).await;
    assert!(count.load(Ordering::SeqCst) >= 6);
}

#[tokio::test(start_paused = true)]
async fn lease_is_given_up_without_a_call_after_a_long_pause() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let mut keep_alive = LeaseKeepAlive::start(TTL, move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(alive(false)) }
    });
    assert_eq!(keep_alive.settled().await, KeepAliveStatus::Held);
    tokio::time::advance(TTL).await;
    assert!(matches!(keep_alive.stopped().await, KeepAliveStatus::Lost(_)));
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[test]
fn lease_margin_is_a_fraction_bounded_by_the_grace() {
    assert_eq!(margin(Duration::from_secs(30)), Duration::from_secs(5));
    assert_eq!(margin(Duration::from_mins(5)), RUN_MARGIN_MAX);
    assert!(margin(Duration::from_secs(2)) < Duration::from_millis(400));
}

#[tokio::test(start_paused = true)]
async fn work_is_dropped_when_the_lease_is_lost() {
    let count = Arc::new(AtomicUsize::new(0));
    let mut keep_alive = LeaseKeepAlive::start(TTL, move |_| {
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
    let ended: Result<(), KeepAliveStatus> = keep_alive.guard(work).await;
    assert!(matches!(ended, Err(KeepAliveStatus::Lost(_))), "{ended:?}");
    let done = steps.load(Ordering::SeqCst);
    assert!((9..=11).contains(&done), "{done} steps until the lease was lost after 10 s");
    sleep(TTL).await;
    assert_eq!(steps.load(Ordering::SeqCst), done, "the work has stopped");
}

#[tokio::test(start_paused = true)]
async fn work_does_not_begin_under_an_unconfirmed_lease() {
    let mut keep_alive = LeaseKeepAlive::start(TTL, |_| async { Err(refused(Code::LeaseLost)) });
    let ended = keep_alive.guard(async { panic!("the work has begun") }).await;
    assert!(matches!(ended, Err::<(), _>(KeepAliveStatus::Lost(_))), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn work_that_ends_in_time_returns_its_result() {
    let mut keep_alive = LeaseKeepAlive::start(TTL, |_| async { Ok(alive(false)) });
    assert_eq!(keep_alive.guard(async { 7 }).await, Ok(7));
}
