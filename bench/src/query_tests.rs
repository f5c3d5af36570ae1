//! Every frequent query has a plan that uses an index, at a size at which the planner would choose
//! a sequential scan only if the index were missing.

use super::*;

/// Large enough for the planner to prefer an index. The nightly suite `query` checks the plans at
/// ten million tasks.
const TASKS: u64 = 50_000;

#[tokio::test]
async fn queries_never_scan_a_big_table() {
    let cellar = Cellar::start().await.unwrap();
    let shape = Shape::new(TASKS, 3);
    let place = cellar.place("plans", shape).await.unwrap();
    for probe in Probe::ALL {
        let plans = cellar.plans("plans", &place, probe).await.unwrap();
        check(probe, &plans).unwrap();
    }
}

#[tokio::test]
async fn missing_index_is_detected() {
    let cellar = Cellar::start().await.unwrap();
    let place = cellar.place("plans", Shape::new(5_000, 1)).await.unwrap();
    let mut owner = PgConnection::connect(&cellar.postgres.url("plans")).await.unwrap();
    execute(&mut owner, "DROP INDEX audit_entry_of_user, audit_entry_of_object").await.unwrap();
    let plans = cellar.plans("plans", &place, Probe::AuditActor).await.unwrap();
    assert!(check(Probe::AuditActor, &plans).is_err(), "{plans}");
    execute(&mut owner, "ALTER TABLE audit_entry DROP CONSTRAINT audit_entry_pkey").await.unwrap();
    execute(&mut owner, "DROP INDEX audit_entry_by_commit").await.unwrap();
    let plans = cellar.plans("plans", &place, Probe::AuditNewest).await.unwrap();
    assert!(check(Probe::AuditNewest, &plans).is_err(), "{plans}");
}

#[test]
fn plan_scan_is_reported_for_big_tables_only() {
    assert_eq!(read_whole("-> Seq Scan on task t (cost"), ["task"]);
    assert_eq!(
        read_whole("Parallel Seq Scan on audit_entry_2026_11 audit_entry_3"),
        ["audit_entry_2026_11"]
    );
    assert!(read_whole("Seq Scan on rulebook b\nIndex Scan using task_pkey on task").is_empty());
}

#[test]
fn plan_rows_removed_by_a_filter_are_read() {
    let plans = "Filter: (a)\n  Rows Removed by Filter: 3725\n x\n Rows Removed by Filter: 12\n";
    assert_eq!((wasted(plans), wasted("Index Scan")), (3725, 0));
}

#[test]
fn size_label_is_abbreviated() {
    assert_eq!([200_000, 1_000_000, 10_000_000].map(label), ["200k", "1m", "10m"]);
}
