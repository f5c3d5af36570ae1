//! How the server ends: what has begun is answered, what is new is not taken, and time is short.

use std::time::Duration;

use ade_server::serve::Ended;

use crate::rig::Rig;

#[tokio::test]
async fn a_request_in_progress_is_answered_and_a_new_one_is_not_taken() {
    let mut rig = Rig::start().await;
    let held = tokio::spawn(rig.get("/test/held").send());
    rig.gate.entered.notified().await;
    rig.stop();
    // The listener is gone as soon as a connection is refused.
    let refused = tokio::time::timeout(Duration::from_secs(30), async {
        while tokio::net::TcpStream::connect(rig.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    });
    assert!(refused.await.is_ok(), "it still listens");
    assert!(!held.is_finished());
    rig.gate.leave.notify_one();
    assert_eq!(held.await.unwrap().unwrap().status(), 200);
    assert_eq!(rig.ended().await, Ended::Drained);
}

#[tokio::test]
async fn an_idle_connection_does_not_hold_the_end_up() {
    let mut rig = Rig::start().await;
    let _idle = rig.connect().await;
    assert_eq!(rig.get("/healthz").send().await.unwrap().status(), 200);
    rig.stop();
    let ended = tokio::time::timeout(Duration::from_secs(30), rig.ended()).await;
    assert_eq!(ended.unwrap(), Ended::Drained);
}

#[tokio::test]
async fn time_to_end_is_bounded() {
    let mut rig = Rig::with(&[("drain_s", "1")]).await;
    let held = tokio::spawn(rig.get("/test/held").send());
    rig.gate.entered.notified().await;
    rig.stop();
    let ended = tokio::time::timeout(Duration::from_secs(30), rig.ended()).await;
    assert_eq!(ended.unwrap(), Ended::Cut);
    held.abort();
}

#[tokio::test]
async fn a_change_whose_caller_was_told_to_come_back_is_waited_for() {
    let mut rig = Rig::with(&[("answer_timeout_s", "1"), ("drain_s", "20")]).await;
    let response = rig.post("/test/held").send().await.unwrap();
    assert_eq!(response.status(), 503);
    let gate = rig.gate.clone();
    rig.stop();
    let ended = tokio::spawn(rig.ended());
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!ended.is_finished(), "it ended before the change did");
    gate.leave.notify_one();
    assert_eq!(ended.await.unwrap(), Ended::Drained);
}
