//! One idempotency key is sent a hundred times at once. It has one effect, and every caller gets
//! its result or is asked to retry.

use ade_core::ids::TaskId;
use serde_json::Value;

use crate::invariants;
use crate::meetings::{Office, rounds};
use crate::world::{Answer, id, plan, quoted};

const CALLERS: usize = 100;

/// Makes all calls at once, before any of them gets a response.
async fn at_once<T>(count: usize, call: impl AsyncFn(usize) -> T) -> Vec<T> {
    let mut calls: Vec<_> = (0..count).map(|number| Box::pin(call(number))).collect();
    let mut answers: Vec<Option<T>> = (0..count).map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (call, answer) in calls.iter_mut().zip(&mut answers) {
            if answer.is_none()
                && let std::task::Poll::Ready(done) = call.as_mut().poll(context)
            {
                *answer = Some(done);
            }
        }
        if answers.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    answers.into_iter().flatten().collect()
}

/// Returns the body that all successful responses share. Exactly one of them is not a repetition.
fn the_answer(answers: Vec<Answer>, status: u16) -> Value {
    let mut bodies = Vec::new();
    let mut fresh = 0;
    for answer in answers {
        if answer.status == 409 {
            answer.refused(409, "idempotency_in_flight");
            continue;
        }
        fresh += usize::from(!answer.is_repeated);
        bodies.push(answer.expect(status));
    }
    assert_eq!(fresh, 1, "one call made the change");
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "the responses differ: {bodies:?}");
    bodies.remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn idempotency_key_sent_concurrently_creates_one_task() {
    let office = Office::patient(1).await;
    let times = rounds() / 10;
    for round in 0..times {
        let key = format!("create-{round}");
        let answers = at_once(CALLERS, async |_| {
            let keyed = [("idempotency-key", &*key)];
            let body = Some(plan("Add a currency"));
            office.world.send("POST", &office.bob.token, "/v1/tasks", body, &keyed).await
        });
        let made = the_answer(answers.await, 201);
        let uuid = id(&made).parse::<TaskId>().unwrap().uuid();
        let found = office.number(&format!("SELECT count(*) FROM task WHERE id = '{uuid}'")).await;
        assert_eq!(found, 1);
    }
    let made = office.number("SELECT count(*) FROM task").await;
    assert_eq!(usize::try_from(made).unwrap(), times);
    let kept = office.number("SELECT count(*) FROM idempotency").await;
    assert_eq!(usize::try_from(kept).unwrap(), times);
    invariants::assert_hold(&office.world.database, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idempotency_key_sent_concurrently_moves_a_task_once() {
    let office = Office::patient(1).await;
    let times = rounds() / 10;
    for round in 0..times {
        let draft = office.world.draft(&office.bob, "Add a currency").await;
        let (path, version) = (format!("/v1/tasks/{}/submit", id(&draft)), quoted(&draft));
        let key = format!("submit-{round}");
        let answers = at_once(CALLERS, async |_| {
            let headers = [("idempotency-key", &*key), ("if-match", &*version)];
            office.world.send("POST", &office.bob.token, &path, None, &headers).await
        });
        let moved = the_answer(answers.await, 202);
        assert_eq!((&moved["state"], &moved["version"]), (&"SUBMITTED".into(), &2.into()));
        assert_eq!(office.task(id(&draft)).await["version"], 2, "moved once");
    }
    let leaves = "SELECT count(*) FROM audit_entry WHERE action = 'task.submit'";
    assert_eq!(usize::try_from(office.number(leaves).await).unwrap(), times);
    invariants::assert_hold(&office.world.database, 1).await;
}
