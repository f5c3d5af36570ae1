//! Every question people ask all day has a plan that rests on an index, at a size at which a scan
//! would already be cheaper to plan wrongly than to notice.

use super::*;

/// More than a planner takes for small; a minute's work at most.
const TASKS: u64 = 200_000;

#[tokio::test]
async fn no_question_reads_a_big_table_from_end_to_end() {
    let cellar = Cellar::start().await.unwrap();
    let shape = Shape::new(TASKS, 3);
    let place = cellar.place("plans", shape).await.unwrap();
    for probe in Probe::ALL {
        let plans = cellar.plans("plans", &place, probe).await.unwrap();
        check(probe, &plans).unwrap();
    }
}

#[tokio::test]
async fn a_missing_index_is_noticed() {
    let cellar = Cellar::start().await.unwrap();
    let place = cellar.place("plans", Shape::new(5_000, 1)).await.unwrap();
    let mut owner = PgConnection::connect(&cellar.postgres.url("plans")).await.unwrap();
    execute(&mut owner, "DROP INDEX audit_leaf_of_user, audit_leaf_of_object").await.unwrap();
    let plans = cellar.plans("plans", &place, Probe::AuditActor).await.unwrap();
    assert!(check(Probe::AuditActor, &plans).is_err(), "{plans}");
    execute(&mut owner, "ALTER TABLE audit_leaf DROP CONSTRAINT audit_leaf_pkey").await.unwrap();
    execute(&mut owner, "DROP INDEX audit_leaf_by_commit").await.unwrap();
    let plans = cellar.plans("plans", &place, Probe::AuditNewest).await.unwrap();
    assert!(check(Probe::AuditNewest, &plans).is_err(), "{plans}");
}

#[test]
fn a_scan_of_a_big_table_is_told_and_of_a_small_one_not() {
    assert_eq!(read_whole("-> Seq Scan on task t (cost"), ["task"]);
    assert_eq!(
        read_whole("Parallel Seq Scan on audit_leaf_2026_11 audit_leaf_3"),
        ["audit_leaf_2026_11"]
    );
    assert!(read_whole("Seq Scan on rulebook b\nIndex Scan using task_pkey on task").is_empty());
}

#[test]
fn rows_that_are_read_and_dropped_are_counted() {
    let plans = "Filter: (a)\n  Rows Removed by Filter: 3725\n x\n Rows Removed by Filter: 12\n";
    assert_eq!((wasted(plans), wasted("Index Scan")), (3725, 0));
}

#[test]
fn sizes_are_named_as_people_say_them() {
    assert_eq!([200_000, 1_000_000, 10_000_000].map(label), ["200k", "1m", "10m"]);
}
