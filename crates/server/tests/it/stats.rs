//! Statistics are exact at any time, whether or not the worker has aggregated them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::coverage::cases;
use crate::world::{Person, World, id, path_of, seen};

cases! {
    reviewer_stats_count_pending_and_answered_today:
        Happy "GET /v1/stats/reviewers/{id}",
        Denied "GET /v1/stats/reviewers/{id}";
    task_stats_report_the_progress_of_the_review:
        Happy "GET /v1/stats/tasks/{id}",
        Denied "GET /v1/stats/tasks/{id}";
    overview_counts_each_day_once_folded_or_not:
        Happy "GET /v1/stats/overview",
        Denied "GET /v1/stats/overview";
    pair_that_always_agrees_stands_out_for_auditors:
        Happy "GET /v1/stats/pairs",
        Denied "GET /v1/stats/pairs";
}

const ME: &str = "/v1/stats/reviewers/me";
const OVERVIEW: &str = "/v1/stats/overview";

async fn answer(world: &World, who: &Person, task: &Value, verb: &str) -> Value {
    let mut vote = seen(task);
    vote["reason"] = json!("because");
    world.post(&who.token, &format!("{}/{verb}", path_of(task)), vote).await.expect(200)
}

fn figures(stats: &Value) -> [u64; 4] {
    ["pending_count", "overdue_count", "approved_today", "rejected_today"]
        .map(|name| stats[name].as_u64().unwrap_or_else(|| panic!("{name}: {stats}")))
}

/// Moves the clock past midnight if the day could end during the test.
async fn away_from_midnight(world: &World) {
    let left = "SELECT 86400 - extract(epoch FROM moment())::bigint % 86400";
    let left = world.database.number(left).await.unsigned_abs();
    if left < 300 {
        world.pass(Duration::from_secs(left + 60)).await;
    }
}

async fn reviewer_stats_count_pending_and_answered_today(world: &World) {
    away_from_midnight(world).await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let before = world.get(&rea.token, ME).await.expect(200);
    assert_eq!(figures(&before), [0; 4]);
    assert_eq!(
        (&before["avg_response_seconds"], &before["last_action_at"]),
        (&json!(null), &json!(null))
    );
    let mut tasks = Vec::new();
    for title in ["one", "two", "three", "four"] {
        tasks.push(world.reviewing(&bob, title).await);
    }
    world.database.run("UPDATE approval SET requested_at = requested_at - interval '60 s'").await;
    answer(world, &rea, &tasks[0], "approve").await;
    answer(world, &rea, &tasks[1], "approve").await;
    answer(world, &rea, &tasks[2], "reject").await;
    let now = world.get(&rea.token, ME).await.expect(200);
    assert_eq!(figures(&now), [1, 0, 2, 1], "{now}");
    let average = now["avg_response_seconds"].as_f64().unwrap();
    assert!((60.0..120.0).contains(&average), "{now}");
    assert!(now["last_action_at"].is_string(), "{now}");
    world.database.run("UPDATE approval SET due_at = now() - interval '1 s'").await;
    assert_eq!(figures(&world.get(&rea.token, ME).await.expect(200)), [1, 1, 2, 1]);

    // The day ends at midnight UTC, wherever the reviewer is.
    let last_second =
        "date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - interval '1 us'";
    world
        .database
        .run(&format!("UPDATE vote SET at = {last_second} WHERE answer = 'reject'"))
        .await;
    assert_eq!(figures(&world.get(&rea.token, ME).await.expect(200)), [1, 1, 2, 0]);

    let path = format!("/v1/stats/reviewers/{}", rea.id);
    let of_rea = world.get(&world.admin.token, &path).await.expect(200);
    assert_eq!((figures(&of_rea), &of_rea["user_id"]), ([1, 1, 2, 0], &json!(rea.id)));
    world.get(&bob.token, &path).await.refused(403, "not_allowed");
    world.get("", ME).await.refused(401, "unauthenticated");
    world.get(&rea.token, "/v1/stats/reviewers/you").await.refused(404, "not_found");
}

async fn task_stats_report_the_progress_of_the_review(world: &World) {
    world.policy("name: two\nrequire: [{roles: [dba], min: 2}]\n").await;
    let bob = world.person("Bob", &["author"]).await;
    let dbas = [
        world.person("D1", &["dba"]).await,
        world.person("D2", &["dba"]).await,
        world.person("D3", &["dba"]).await,
    ];
    let task = world.reviewing(&bob, "counted").await;
    let path = format!("/v1/stats/tasks/{}", id(&task));
    let figures = async || {
        let stats = world.get(&bob.token, &path).await.expect(200);
        let count = |name: &str| stats[name].as_u64().unwrap();
        let counts =
            ["required_count", "approved_count", "rejected_count", "pending_count"].map(count);
        (counts, stats["quorum_reached"].as_bool().unwrap())
    };
    assert_eq!(figures().await, ([2, 0, 0, 3], false));
    answer(world, &dbas[0], &task, "approve").await;
    assert_eq!(figures().await, ([2, 1, 0, 2], false));
    answer(world, &dbas[1], &task, "approve").await;
    assert_eq!(figures().await, ([2, 2, 0, 0], true));
    let other = world.agent("stranger", &world.person("Eve", &["author"]).await).await;
    world.get(&other.token, &path).await.refused(404, "not_found");
}

/// The statistics of one day, this many days before today.
fn day(overview: &Value, back: usize) -> Value {
    let days = overview["days"].as_array().unwrap();
    days[days.len() - 1 - back].clone()
}

/// Aggregates all audit entries. This may have to wait for open transactions of other databases on
/// the same server.
pub async fn fold_all(world: &World) {
    let left = "SELECT count(*) FROM audit_entry l LEFT JOIN tally_cursor c USING (tenant_id)
                 WHERE l.kind = 'change' AND l.xid >= coalesce(c.below, '0'::xid8)";
    ade_testkit::eventually("all entries are aggregated", Duration::from_secs(30), async || {
        world.work("tally_keeper").await;
        let left = world.database.number(left).await;
        if left == 0 { Ok(()) } else { Err(format!("{left} entries are left")) }
    })
    .await;
}

async fn overview_counts_each_day_once_folded_or_not(world: &World) {
    away_from_midnight(world).await;
    let bob = world.person("Bob", &["author"]).await;
    let rea = world.person("Rea", &["reviewer"]).await;
    let approved = world.approved(&bob, &rea, "yes").await;
    let rejected = world.reviewing(&bob, "no").await;
    answer(world, &rea, &rejected, "reject").await;
    world.draft(&bob, "later").await;
    let look = async || world.get(&bob.token, OVERVIEW).await.expect(200);
    let unfolded = look().await;
    let today = day(&unfolded, 0);
    let entered = json!({
        "DRAFT": 3, "SUBMITTED": 2, "REVIEWING": 2, "APPROVED": 1, "REJECTED": 1
    });
    assert_eq!(today["entered"], entered, "{unfolded}");
    assert_eq!(today["actions"]["task.create"], 3);
    assert_eq!(today["actions"]["task.approve"], 1);
    assert_eq!(unfolded["days"].as_array().unwrap().len(), 7);

    fold_all(world).await;
    assert_eq!(look().await["days"], unfolded["days"], "aggregation changes nothing");
    assert_eq!(world.work("tally_keeper").await.items, 0, "each entry is counted once");
    world.draft(&bob, "one more").await;
    assert_eq!(
        day(&look().await, 0)["entered"]["DRAFT"],
        4,
        "entries that are not aggregated yet count"
    );
    fold_all(world).await;
    assert_eq!(day(&look().await, 0)["entered"]["DRAFT"], 4);

    // Moved twice, because one statement could meet the counts of the day before: the setup of the
    // test may have happened before midnight.
    let back = "UPDATE daily_count SET day = day - 1001; UPDATE daily_count SET day = day + 1000";
    world.database.run(back).await;
    let shifted = look().await;
    assert_eq!(day(&shifted, 0)["entered"], json!({}));
    assert_eq!(day(&shifted, 1)["entered"]["DRAFT"], 4);
    let states = shifted["open_tasks"].as_array().unwrap();
    let of = |name: &str| {
        states.iter().find(|one| one["state"] == name).unwrap()["count"].as_u64().unwrap()
    };
    assert_eq!((of("DRAFT"), of("APPROVED"), of("REVIEWING")), (2, 1, 0));
    assert_eq!(shifted["pending_approvals"], json!({ "count": 0, "is_more": false }));
    assert_eq!(approved["state"], "APPROVED");
    let one = world.get(&bob.token, "/v1/stats/overview?days=1").await.expect(200);
    assert_eq!(one["days"].as_array().unwrap().len(), 1);
    for days in ["0", "91"] {
        let path = format!("{OVERVIEW}?days={days}");
        world.get(&bob.token, &path).await.refused(400, "invalid_query");
    }
    world.get("", OVERVIEW).await.refused(401, "unauthenticated");
    let (_, other) = world.tenant("other").await;
    let theirs = world.get(&other.token, OVERVIEW).await.expect(200);
    assert_eq!(day(&theirs, 0)["entered"], json!({}), "other tenants are not counted");
}

async fn pair_that_always_agrees_stands_out_for_auditors(world: &World) {
    let [bob, eve] =
        [world.person("Bob", &["author"]).await, world.person("Eve", &["author"]).await];
    let mut reviewers = Vec::new();
    for name in ["Rea", "Rob", "Rut"] {
        reviewers.push(world.person(name, &["reviewer"]).await);
    }
    let [rea, rob, rut] = &reviewers[..] else { unreachable!("three") };
    for number in 0..20 {
        world.approved(&bob, rea, &format!("of Bob {number}")).await;
    }
    for who in [rea, rob, rut] {
        world.approved(&eve, who, &format!("of Eve for {}", who.id)).await;
    }
    let path = "/v1/stats/pairs";
    let report = world.get(&world.admin.token, path).await.expect(200);
    let pairs = report["pairs"].as_array().unwrap();
    let expected = json!({
        "author_id": bob.id, "reviewer_id": rea.id, "approvals": 20, "of": 20, "stands_out": true
    });
    assert_eq!(pairs[0], expected, "{report}");
    assert_eq!(pairs.len(), 4, "{report}");
    for pair in &pairs[1..] {
        let figures = (&pair["author_id"], &pair["approvals"], &pair["of"], &pair["stands_out"]);
        assert_eq!(figures, (&json!(eve.id), &json!(1), &json!(3), &json!(false)), "{report}");
    }
    assert_eq!((&report["days"], &report["is_more"]), (&json!(30), &json!(false)));
    let auditor = world.person("Aud", &["auditor"]).await;
    world.get(&auditor.token, path).await.expect(200);
    for who in [&bob, rea] {
        world.get(&who.token, path).await.refused(403, "not_allowed");
    }
    let (_, other) = world.tenant("other").await;
    let theirs = world.get(&other.token, path).await.expect(200);
    assert_eq!(theirs["pairs"], json!([]), "pairs of other tenants are not listed");
    world.database.run("UPDATE vote SET at = at - interval '31 days'").await;
    let later = world.get(&world.admin.token, path).await.expect(200);
    assert_eq!(later["pairs"], json!([]), "older votes do not count");
}
