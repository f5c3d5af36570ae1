//! Votes race with each other at the quorum, with an amendment, and with a cancellation. Whichever
//! call is first, the task ends in one state, every vote is stored, and no vote counts for content
//! that its voter has not seen.

use ade_core::ids::TaskId;
use serde_json::{Value, json};

use crate::invariants;
use crate::meetings::{Meeting, Office, rounds};
use crate::world::{id, quoted, seen};

/// A query that counts how often this task became APPROVED.
fn approvals_of(task: &Value) -> String {
    format!(
        "SELECT count(*) FROM audit_entry WHERE object = '{}' AND kind = 'change'
            AND to_state = 'APPROVED' AND from_state <> 'APPROVED'",
        id(task)
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn approvals_racing_for_the_quorum_approve_once_and_both_count() {
    let office = Office::patient(2).await;
    for (round, task) in office.reviewing(rounds()).await.iter().enumerate() {
        let (rea, sam) = office
            .meet(
                Meeting::of(round),
                id(task),
                async |office| office.approve(&office.rea, task).await,
                async |office| office.approve(&office.sam, task).await,
            )
            .await;
        let (rea, sam) = (rea.expect(200), sam.expect(200));
        let mut states = [&rea["state"], &sam["state"]];
        states.sort_by_key(|state| state.as_str());
        assert_eq!(
            states,
            [&json!("APPROVED"), &json!("REVIEWING")],
            "one of them reaches the quorum"
        );
        assert_eq!([&rea["counted"], &sam["counted"]], [&json!(true), &json!(true)]);
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
async fn approval_racing_an_amendment_never_counts_for_the_new_one() {
    let office = Office::patient(1).await;
    let (mut approved_first, mut amended_first) = (0, 0);
    for (round, task) in office.reviewing(rounds()).await.iter().enumerate() {
        let other = json!({ "parameters": { "for": format!("something else {round}") } });
        let (vote, amended) = office
            .meet(
                Meeting::of(round),
                id(task),
                async |office| office.approve(&office.rea, task).await,
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
        // An amendment names a version, so it fails after a vote. A vote names a digest.
        if amended.status == 200 {
            amended_first += 1;
            // The task cannot be voted on before its review is opened again.
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
    assert!(
        approved_first >= rounds() / 4 && amended_first >= rounds() / 4,
        "both orders occurred"
    );
    let kept = office.number("SELECT count(*) FROM vote").await;
    let kept = usize::try_from(kept).unwrap();
    assert_eq!(kept, approved_first, "a refused vote is not stored");
    invariants::assert_hold(&office.world.database, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_racing_a_cancellation_never_revives_the_task() {
    let office = Office::patient(1).await;
    let (mut approved_first, mut cancelled_first) = (0, 0);
    for (round, task) in office.reviewing(rounds()).await.iter().enumerate() {
        let (vote, cancelled) = office
            .meet(
                Meeting::of(round),
                id(task),
                async |office| office.approve(&office.rea, task).await,
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
            // The vote came too late: it is stored as evidence and reported as having no effect.
            assert_eq!((&vote["state"], &vote["counted"]), (&json!("CANCELLED"), &json!(false)));
            assert_eq!(after["state"], "CANCELLED");
            assert_eq!(office.number(&approvals_of(task)).await, 0);
        } else {
            approved_first += 1;
            cancelled.refused(412, "version_mismatch");
            assert_eq!((&vote["state"], &vote["counted"]), (&json!("APPROVED"), &json!(true)));
            assert_eq!(after["state"], "APPROVED");
        }
    }
    println!("approved first {approved_first}, cancelled first {cancelled_first}");
    assert!(
        approved_first >= rounds() / 4 && cancelled_first >= rounds() / 4,
        "both orders occurred"
    );
    let kept = office.number("SELECT count(*) FROM vote").await;
    assert_eq!(usize::try_from(kept).unwrap(), rounds(), "every vote is stored as evidence");
    invariants::assert_hold(&office.world.database, 1).await;
}

/// Both calls lead to the same state: one of them makes the transition, and the other one has no
/// effect on it.
#[tokio::test(flavor = "multi_thread")]
async fn override_racing_an_approval_passes_once() {
    let office = Office::patient(1).await;
    let second = office.world.person("Second", &["admin"]).await;
    let (mut approved_first, mut overridden_first) = (0, 0);
    for (round, task) in office.reviewing(rounds()).await.iter().enumerate() {
        let path = format!("/v1/tasks/{}/override", id(task));
        let reason = json!({ "ticket": "INC-1", "reason": "it burns" });
        let matching = [("if-match", &*quoted(task))];
        let admin = &office.world.admin.token;
        office.world.send("POST", admin, &path, Some(reason), &matching).await.expect(202);
        let (vote, confirmed) = office
            .meet(
                Meeting::of(round),
                id(task),
                async |office| office.approve(&office.rea, task).await,
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
            assert_eq!(vote["counted"], false, "the vote came too late to count");
            assert_eq!(office.number(&owed).await, 1);
        } else {
            approved_first += 1;
            confirmed.refused(409, "wrong_state");
            assert_eq!(vote["counted"], true);
            assert_eq!(office.number(&owed).await, 0);
        }
    }
    println!("approved first {approved_first}, overridden first {overridden_first}");
    assert!(
        approved_first >= rounds() / 4 && overridden_first >= rounds() / 4,
        "both orders occurred"
    );
    invariants::assert_hold(&office.world.database, 1).await;
}
