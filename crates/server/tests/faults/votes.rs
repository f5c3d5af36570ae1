//! Answers that meet: with one another at the quorum, with an amendment, with a cancellation.
//! Whoever is first, the task ends in one state, every answer is kept, and none counts for what
//! its giver has not seen.

use ade_core::ids::TaskId;
use serde_json::{Value, json};

use crate::invariants;
use crate::meetings::{Meeting, Office, rounds};
use crate::world::{id, quoted, seen};

/// Of this task's decisions, those that led to APPROVED.
fn approvals_of(task: &Value) -> String {
    format!(
        "SELECT count(*) FROM audit_leaf WHERE object = '{}' AND kind = 'change'
            AND to_state = 'APPROVED' AND from_state <> 'APPROVED'",
        id(task)
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn two_approvals_that_reach_the_quorum_at_once_approve_once_and_are_both_kept() {
    let office = Office::patient(2).await;
    for (round, asked) in office.reviewing(rounds()).await.into_iter().enumerate() {
        let task = &asked.task;
        let (rea, sam) = office
            .meet(
                Meeting::of(round),
                id(task),
                async |office| office.approve(&office.rea, &asked.rea, task).await,
                async |office| office.approve(&office.sam, &asked.sam, task).await,
            )
            .await;
        let (rea, sam) = (rea.expect(200), sam.expect(200));
        let mut states = [&rea["state"], &sam["state"]];
        states.sort_by_key(|state| state.as_str());
        assert_eq!(states, [&json!("APPROVED"), &json!("REVIEWING")], "one of them completes it");
        assert_eq!([&rea["effectual"], &sam["effectual"]], [&json!(true), &json!(true)]);
        let after = office.task(id(task)).await;
        assert_eq!(after["state"], "APPROVED");
        assert_eq!(after["version"], task["version"].as_u64().unwrap() + 2);
        assert_eq!(office.number(&approvals_of(task)).await, 1);
    }
    let votes = office.number("SELECT count(*) FROM vote").await;
    assert_eq!(usize::try_from(votes).unwrap(), 2 * rounds());
    invariants::assert_hold(&office.world.database, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_meets_an_amendment_never_counts_for_the_new_revision() {
    let office = Office::patient(1).await;
    let (mut approved_first, mut amended_first) = (0, 0);
    for (round, asked) in office.reviewing(rounds()).await.into_iter().enumerate() {
        let task = &asked.task;
        let other = json!({ "parameters": { "for": format!("something else {round}") } });
        let (vote, amended) = office
            .meet(
                Meeting::of(round),
                id(task),
                async |office| office.approve(&office.rea, &asked.rea, task).await,
                async |office| {
                    let path = format!("/v1/tasks/{}", id(task));
                    let matching = [("if-match", &*quoted(task))];
                    office
                        .world
                        .send("PATCH", &office.bob.token, &path, Some(other.clone()), &matching)
                        .await
                },
            )
            .await;
        let after = office.task(id(task)).await;
        // The amendment names a version: it loses against a vote. A vote names a digest.
        if amended.status == 200 {
            amended_first += 1;
            // It waits for its review to be opened anew; only then can it be answered at all.
            vote.refused(409, "wrong_state");
            assert_eq!((&after["state"], &after["revision"]), (&json!("SUBMITTED"), &json!(2)));
            assert_eq!(office.number(&approvals_of(task)).await, 0);
        } else {
            approved_first += 1;
            amended.refused(412, "version_mismatch");
            assert_eq!(vote.expect(200)["state"], "APPROVED");
            assert_eq!((&after["state"], &after["revision"]), (&json!("APPROVED"), &json!(1)));
        }
    }
    println!("approved first {approved_first}, amended first {amended_first}");
    assert!(approved_first >= rounds() / 4 && amended_first >= rounds() / 4, "both ways were met");
    let kept = office.number("SELECT count(*) FROM vote").await;
    let kept = usize::try_from(kept).unwrap();
    assert_eq!(kept, approved_first, "what was refused left no vote");
    invariants::assert_hold(&office.world.database, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_meets_a_cancellation_never_revives_the_task() {
    let office = Office::patient(1).await;
    let (mut approved_first, mut cancelled_first) = (0, 0);
    for (round, asked) in office.reviewing(rounds()).await.into_iter().enumerate() {
        let task = &asked.task;
        let (vote, cancelled) = office
            .meet(
                Meeting::of(round),
                id(task),
                async |office| office.approve(&office.rea, &asked.rea, task).await,
                async |office| {
                    let path = format!("/v1/tasks/{}/cancel", id(task));
                    let matching = [("if-match", &*quoted(task))];
                    let body = Some(json!({}));
                    office.world.send("POST", &office.bob.token, &path, body, &matching).await
                },
            )
            .await;
        let vote = vote.expect(200);
        let after = office.task(id(task)).await;
        if cancelled.status == 200 {
            cancelled_first += 1;
            // Too late: kept as evidence, told as such, and without effect.
            assert_eq!((&vote["state"], &vote["effectual"]), (&json!("CANCELLED"), &json!(false)));
            assert_eq!(after["state"], "CANCELLED");
            assert_eq!(office.number(&approvals_of(task)).await, 0);
        } else {
            approved_first += 1;
            cancelled.refused(412, "version_mismatch");
            assert_eq!((&vote["state"], &vote["effectual"]), (&json!("APPROVED"), &json!(true)));
            assert_eq!(after["state"], "APPROVED");
        }
    }
    println!("approved first {approved_first}, cancelled first {cancelled_first}");
    assert!(approved_first >= rounds() / 4 && cancelled_first >= rounds() / 4, "both were met");
    let kept = office.number("SELECT count(*) FROM vote").await;
    assert_eq!(usize::try_from(kept).unwrap(), rounds(), "every answer is evidence");
    invariants::assert_hold(&office.world.database, 1).await;
}

/// Two ways to the same state: one of them is taken, and the other leaves no basis behind.
#[tokio::test(flavor = "multi_thread")]
async fn an_override_that_meets_an_approval_passes_once() {
    let office = Office::patient(1).await;
    let second = office.world.person("Second", &["admin"]).await;
    let (mut approved_first, mut overridden_first) = (0, 0);
    for (round, asked) in office.reviewing(rounds()).await.into_iter().enumerate() {
        let task = &asked.task;
        let path = format!("/v1/tasks/{}/override", id(task));
        let reason = json!({ "ticket": "INC-1", "reason": "it burns" });
        let matching = [("if-match", &*quoted(task))];
        let admin = &office.world.admin.token;
        office.world.send("POST", admin, &path, Some(reason), &matching).await.expect(202);
        let (vote, confirmed) = office
            .meet(
                Meeting::of(round),
                id(task),
                async |office| office.approve(&office.rea, &asked.rea, task).await,
                async |office| {
                    let path = format!("{path}/confirm");
                    office.world.post(&second.token, &path, seen(task)).await
                },
            )
            .await;
        let vote = vote.expect(200);
        assert_eq!(vote["state"], "APPROVED");
        assert_eq!(office.number(&approvals_of(task)).await, 1);
        let owed = format!(
            "SELECT count(*) FROM after_review WHERE task_id = '{}'",
            id(task).parse::<TaskId>().unwrap().uuid()
        );
        if confirmed.status == 200 {
            overridden_first += 1;
            assert_eq!(vote["effectual"], false, "it came too late to count");
            assert_eq!(office.number(&owed).await, 1);
        } else {
            approved_first += 1;
            confirmed.refused(409, "wrong_state");
            assert_eq!(vote["effectual"], true);
            assert_eq!(office.number(&owed).await, 0);
        }
    }
    println!("approved first {approved_first}, overridden first {overridden_first}");
    assert!(approved_first >= rounds() / 4 && overridden_first >= rounds() / 4, "both were met");
    invariants::assert_hold(&office.world.database, 1).await;
}
