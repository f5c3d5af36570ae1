//! The freeze of all tenants: only the owner changes it, everyone sees it, there is one at a time,
//! and it waits for permits in flight.

use ade_store::{StoreError, TenantLock, claimable, installation};
use sqlx::PgConnection;

use crate::test_database::{SOON, TestDatabase, connect_app, run, try_run};

async fn forbidden(app: &mut PgConnection, sql: &str) {
    let refused = StoreError::from(try_run(app, sql).await.unwrap_err());
    assert!(matches!(refused, StoreError::Forbidden { .. }), "{sql}: {refused}");
}

#[tokio::test]
async fn installation_freeze_is_read_only_for_the_application() {
    let rig = TestDatabase::new().await;
    let mut app = connect_app(&rig).await;
    let insert = "INSERT INTO installation_freeze (reason, set_by, set_at)
                  VALUES ('r', 'spy', now())";
    let lift = "UPDATE installation_freeze
                   SET lifted_by = 'spy', lifted_at = now(), lifted_because = 'r'";
    forbidden(&mut app, insert).await;
    let app_url = rig.database.url_as("app");
    let refused = installation::freeze(&app_url, "spy", "r").await.unwrap_err();
    assert!(matches!(refused, StoreError::Forbidden { .. }), "{refused}");
    assert_eq!(installation::in_force(&rig.pool).await.unwrap(), None);

    let owner = rig.database.url();
    let set = installation::freeze(&owner, "root", "INC-9").await.unwrap();
    assert!(set.is_new && set.is_drained, "{set:?}");
    let stored = [&set.freeze.reason, &set.freeze.set_by].map(String::as_str);
    assert_eq!((stored, set.freeze.since), (["INC-9", "root"], rig.now));
    for (tenant, sql) in [(rig.tenant, lift), (rig.other, "DELETE FROM installation_freeze")] {
        run(&mut app, &format!("SET ade.tenant = '{}'", tenant.uuid())).await;
        forbidden(&mut app, sql).await;
        let mut tx = rig.begin_as(tenant).await;
        assert_eq!(installation::look(&mut tx).await.unwrap(), Some(set.freeze.clone()));
        assert_eq!(installation::pass_gate(&mut tx).await.unwrap(), Some(set.freeze.clone()));
        assert_eq!(claimable::types_now(&mut tx).await.unwrap(), Vec::<String>::new());
        tx.roll_back().await;
    }
    assert!(installation::thaw(&app_url, "spy", "r").await.is_err());
    assert_eq!(installation::in_force(&rig.pool).await.unwrap(), Some(set.freeze));
}

#[tokio::test]
async fn installation_freeze_is_unique_and_keeps_its_history() {
    let rig = TestDatabase::new().await;
    let owner = rig.database.url();
    assert_eq!(installation::thaw(&owner, "root", "nothing was").await.unwrap(), None);
    let first = installation::freeze(&owner, "root", "INC-1").await.unwrap();
    let again = installation::freeze(&owner, "other", "INC-2").await.unwrap();
    assert!(first.is_new && !again.is_new && again.is_drained);
    assert_eq!(again.freeze, first.freeze, "the first one stands");
    let lifted = installation::thaw(&owner, "other", "it is over").await.unwrap();
    assert_eq!(lifted, Some(first.freeze.clone()));
    let next = installation::freeze(&owner, "root", "INC-3").await.unwrap();
    assert!(next.is_new && next.freeze.number > first.freeze.number);
    let history = "SELECT count(*) FROM installation_freeze
                    WHERE (set_by, reason, lifted_by, lifted_because)
                        = ('root', 'INC-1', 'other', 'it is over') OR lifted_at IS NULL";
    assert_eq!(rig.database.number(history).await, 2);
}

#[tokio::test]
async fn installation_freeze_waits_for_permits_in_flight() {
    let rig = TestDatabase::patient().await;
    let mut passing = rig.begin_through(&rig.pool, rig.tenant, TenantLock::Shared).await.unwrap();
    assert_eq!(installation::pass_gate(&mut passing).await.unwrap(), None);
    let owner = rig.database.url();
    let mut freezing =
        tokio::spawn(async move { installation::freeze(&owner, "root", "INC-9").await });
    let mut observer = rig.database.session().await;
    tokio::select! {
        set = &mut freezing => panic!("it had to wait: {set:?}"),
        () = observer.wait_for_waiting(1, SOON) => {}
    }
    // It already applies to new requests, in other tenants too.
    let mut late = rig.begin_as(rig.other).await;
    let seen = installation::look(&mut late).await.unwrap();
    assert_eq!(seen.map(|freeze| freeze.reason).as_deref(), Some("INC-9"));
    late.roll_back().await;
    passing.roll_back().await;
    let set = freezing.await.unwrap().unwrap();
    assert!(set.is_new && set.is_drained, "{set:?}");
}
