//! Limits on the load and on slow callers.

use std::time::{Duration, Instant};

use crate::test_server::{TestServer, problem, rest_of, send};

#[tokio::test]
async fn request_head_that_does_not_arrive_closes_the_connection() {
    let rig = TestServer::with(&[("head_timeout_s", "1")]).await;
    for begun in ["", "G", "GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: "] {
        let began = Instant::now();
        let mut stream = rig.connect().await;
        send(&mut stream, begun).await;
        let read = tokio::time::timeout(Duration::from_secs(30), rest_of(&mut stream)).await;
        assert!(read.is_ok(), "{begun:?} is still open after {:?}", began.elapsed());
        assert!(began.elapsed() >= Duration::from_millis(900), "{begun:?}");
    }
}

#[tokio::test]
async fn connection_that_is_idle_is_closed() {
    let rig = TestServer::with(&[("head_timeout_s", "1")]).await;
    let mut stream = rig.connect().await;
    send(&mut stream, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let read = tokio::time::timeout(Duration::from_secs(30), rest_of(&mut stream)).await;
    let answer = read.expect("closed in time");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn headers_over_the_limits_are_refused() {
    let rig = TestServer::start().await;
    let many = "x-one: 1\r\n".repeat(65);
    let long = format!("x-long: {}\r\n", "x".repeat(20_000));
    for headers in [many, long] {
        let mut stream = rig.connect().await;
        send(&mut stream, &format!("GET /healthz HTTP/1.1\r\nhost: x\r\n{headers}\r\n")).await;
        let answer = rest_of(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    }
}

#[tokio::test]
async fn request_over_the_limit_is_refused_until_there_is_room() {
    let rig = TestServer::with(&[("requests_max", "1")]).await;
    let first = tokio::spawn(rig.get("/test/held").send());
    rig.gate.entered.notified().await;
    let response = rig.get("/test/held").send().await.unwrap();
    assert_eq!(response.headers()["retry-after"], "1");
    problem(response, 503, "overloaded").await;
    let probe = rig.get("/healthz").send().await.unwrap();
    assert_eq!(probe.status(), 200, "probes have their own room");
    rig.gate.leave.notify_one();
    assert_eq!(first.await.unwrap().unwrap().status(), 200);
    let again = tokio::spawn(rig.get("/test/held").send());
    rig.gate.leave.notify_one();
    assert_eq!(again.await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn long_poll_takes_no_room_from_other_requests() {
    let rig = TestServer::with(&[("requests_max", "1"), ("answer_timeout_s", "1")]).await;
    let waiting = tokio::spawn(rig.get("/test/waits?wait=55s").send());
    rig.gate.entered.notified().await;
    assert_eq!(rig.get("/healthz").send().await.unwrap().status(), 200);
    // The call outlasts the normal response timeout.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(!waiting.is_finished());
    rig.gate.leave.notify_one();
    assert_eq!(waiting.await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn request_over_its_time_limit_times_out() {
    let rig = TestServer::with(&[("answer_timeout_s", "1")]).await;
    let response = rig.get("/test/held").send().await.unwrap();
    problem(response, 503, "timed_out").await;
    // Without `wait`, the normal timeout also applies to a route that can wait.
    let response = rig.get("/test/waits").send().await.unwrap();
    problem(response, 503, "timed_out").await;
}

#[tokio::test]
async fn change_that_times_out_still_completes() {
    let rig = TestServer::with(&[("answer_timeout_s", "1")]).await;
    let response = rig.post("/test/held").send().await.unwrap();
    problem(response, 503, "timed_out").await;
    rig.gate.leave.notify_one();
    let left = tokio::time::timeout(Duration::from_secs(30), rig.gate.left.notified()).await;
    assert!(left.is_ok(), "the handler was cancelled");
}

#[tokio::test]
async fn change_whose_caller_disconnects_still_completes() {
    let rig = TestServer::start().await;
    let mut stream = rig.connect().await;
    send(&mut stream, "POST /test/held HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n").await;
    rig.gate.entered.notified().await;
    drop(stream);
    // The next call on another connection shows that the server has noticed the disconnect.
    assert_eq!(rig.get("/healthz").send().await.unwrap().status(), 200);
    rig.gate.leave.notify_one();
    let left = tokio::time::timeout(Duration::from_secs(30), rig.gate.left.notified()).await;
    assert!(left.is_ok(), "the handler was cancelled");
}
