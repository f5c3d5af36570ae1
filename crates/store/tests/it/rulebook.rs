//! The rulebook agrees with the tables, and its version rises with every rule change, no matter
//! who makes it and how.

use std::collections::BTreeSet;
use std::time::Duration;

use ade_core::actor::{Person, Role};
use ade_core::approval::delegation::{Conditions, Delegation, DelegationKind};
use ade_core::freeze::{Freeze, FreezeExtent};
use ade_core::ids::{AgentId, DelegationId, FreezeId, TaskId, TenantId, UserId};
use ade_core::policy::Pattern;
use ade_core::risk::Score;
use ade_core::samples::{passes_below, policy, two_dbas};
use ade_store::agents::{self, AgentProfile};
use ade_store::tenant_config::{self, AgentEntry, Base, TenantConfig};
use ade_store::users;
use ade_store::{StoreError, TenantLock, policies, tasks};

use crate::test_database::{PEOPLE, SOON, TestDatabase, connect_app, run, try_run};

async fn load(rig: &TestDatabase) -> TenantConfig {
    let mut tx = rig.begin().await;
    let book = tenant_config::load(&mut tx, Base::default()).await.unwrap();
    assert_eq!(tenant_config::version(&mut tx).await.unwrap(), book.version);
    book
}

async fn version(rig: &TestDatabase) -> i64 {
    tenant_config::version(&mut rig.begin().await).await.unwrap()
}

#[tokio::test]
async fn rulebook_has_people_agents_and_policies_as_stored() {
    let rig = TestDatabase::new().await;
    let [one, two, three] = [1, 2, 3].map(UserId::from_u128);
    let roles = BTreeSet::from(["dba", "reviewer"].map(Role::new));
    let mut tx = rig.begin_closed().await;
    let given = tx.now();
    users::set_roles(&mut tx, two, &roles).await.unwrap();
    users::add_alias(&mut tx, two, three).await.unwrap();
    let manager = Some(one);
    let profile =
        users::UserProfile { name: "Bo".to_owned(), email: None, manager, is_active: false };
    users::update(&mut tx, two, &profile).await.unwrap();
    let capabilities = vec!["cache.**".to_owned()];
    let name = "bot".to_owned();
    let bot = AgentProfile { name, capabilities, max_tasks: 7 };
    agents::insert(&mut tx, AgentId::from_u128(9), two, &bot).await.unwrap();
    agents::revoke(&mut tx, AgentId::from_u128(9)).await.unwrap();
    let (old, new) = (policy(1, 1, two_dbas()), policy(1, 2, passes_below(30)));
    for policy in [&old, &new, &policy(2, 1, two_dbas())] {
        policies::insert_published(&mut tx, policy, one, Some(three)).await.unwrap();
    }
    rig.keep(tx).await;
    let mut admin = rig.database.connect().await;
    run(&mut admin, "UPDATE policy SET enabled = false WHERE name = 'two-dbas'").await;

    let book = load(&rig).await;
    assert_eq!(book.directory.people().count(), usize::try_from(PEOPLE).unwrap());
    let aliases = BTreeSet::from([three]);
    let roles_since = roles.iter().map(|role| (role.clone(), given)).collect();
    let expected = Person {
        id: two,
        roles,
        roles_since,
        active: false,
        manager,
        aliases,
        is_unconfirmed: false,
    };
    assert_eq!(book.directory.person(two), Some(&expected));
    assert!(book.directory.same_human(three, two));
    assert_eq!((book.names[&two].as_str(), book.names[&one].as_str()), ("Bo", "person 1"));
    let entry = |name: &str, owner, is_active, capabilities, max_tasks| AgentEntry {
        name: name.to_owned(),
        owner,
        is_active,
        capabilities,
        max_tasks,
        order: None,
        config_version: 0,
    };
    let agents: Vec<AgentEntry> = book.agents.into_values().collect();
    let expected = [
        entry("infra-bot", one, true, Vec::new(), 4),
        entry("bot", two, false, vec!["cache.**".parse().unwrap()], 7),
    ];
    assert_eq!(agents, expected);
    assert_eq!(book.policies, [new], "the current version of what is enabled");
    assert_eq!((book.delegations, book.freezes), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn rulebook_has_delegations_until_they_end() {
    let rig = TestDatabase::new().await;
    let [one, two] = [1, 2].map(UserId::from_u128);
    let conditions = Conditions {
        task_types: vec![Pattern::new("database.*").unwrap()],
        resource_patterns: Vec::new(),
        risk_above: Some(Score::new(40)),
    };
    let (starts_at, expires_at) = (rig.now, rig.now.plus(Duration::from_micros(3_600_000_001)));
    let text = serde_json::to_string(&conditions).unwrap();
    let tenant = rig.tenant.uuid();
    let mut admin = rig.database.connect().await;
    let uuid = |number: u128| UserId::from_u128(number).uuid();
    let delegate = |id, ends: &str, active: bool| {
        let micros = starts_at.micros();
        format!(
            "INSERT INTO delegation VALUES ('{tenant}', '{}', '{}', '{}', 'follow', '{text}', true,
                 'epoch'::timestamptz + {micros} * interval '1 us',
                 'epoch'::timestamptz + {micros} * interval '1 us' + interval '{ends}', {active})",
            uuid(id),
            one.uuid(),
            two.uuid(),
        )
    };
    run(&mut admin, &delegate(1, "3600.000001 s", true)).await;
    run(&mut admin, &delegate(2, "1 h", false)).await;
    run(&mut admin, &delegate(3, "1 h", true)).await;
    run(
        &mut admin,
        &format!(
            "UPDATE delegation SET starts_at = now() - interval '3 h',
                 expires_at = now() - interval '2 h' WHERE id = '{}'",
            uuid(3)
        ),
    )
    .await;
    let book = load(&rig).await;
    let expected = Delegation {
        id: DelegationId::from_u128(1),
        owner: one,
        delegate_to: two,
        kind: DelegationKind::Follow,
        conditions,
        cascade: true,
        starts_at,
        expires_at,
        active: true,
    };
    assert_eq!(book.delegations, [expected]);
}

#[tokio::test]
async fn rulebook_has_freezes_until_they_end() {
    let rig = TestDatabase::new().await;
    let [one, two] = [1, 2].map(UserId::from_u128);
    let uuid = |number: u128| UserId::from_u128(number).uuid();
    let tenant = rig.tenant.uuid();
    let mut admin = rig.database.connect().await;
    let freeze = |id, scope: &str, ends: &str, lifted: bool| {
        let (lifter, at) =
            if lifted { (format!("'{}'", two.uuid()), "now()") } else { ("NULL".into(), "NULL") };
        let (tail, id, setter) = (format!("{ends}, {lifter}, {at}"), uuid(id), one.uuid());
        format!(
            "INSERT INTO \"freeze\"
             VALUES ('{tenant}', '{id}', {scope}, 'why', '{setter}', now(), {tail})"
        )
    };
    for (id, scope, ends, lifted) in [
        (1, "'tenant', NULL", "NULL", false),
        (2, "'environment', 'prod'", "now() + interval '1 day'", false),
        (3, "'resources', 'db:*'", "NULL", false),
        (4, "'tenant', NULL", "NULL", true),
        (5, "'tenant', NULL", "now() - interval '2 h'", false),
    ] {
        run(&mut admin, &freeze(id, scope, ends, lifted)).await;
    }
    let book = load(&rig).await;
    let scopes = [
        FreezeExtent::Tenant,
        FreezeExtent::Environment("prod".to_owned()),
        FreezeExtent::Resources(Pattern::new("db:*").unwrap()),
    ];
    assert_eq!(book.freezes.len(), 3);
    for ((number, scope), freeze) in (1..).zip(scopes).zip(&book.freezes) {
        let ends_at = freeze.ends_at;
        assert_eq!(ends_at.is_some(), number == 2);
        let (id, reason) = (FreezeId::from_u128(number), "why".to_owned());
        assert_eq!(*freeze, Freeze { id, scope, reason, set_by: one, ends_at });
    }
    run(&mut admin, "UPDATE \"freeze\" SET target = '{a' WHERE scope = 'resources'").await;
    let wrong = tenant_config::load(&mut rig.begin().await, Base::default()).await;
    assert!(matches!(wrong, Err(StoreError::Row(_))), "not a freeze of nothing: {wrong:?}");
}

/// Every table of rules, with a statement that changes one row and one that deletes a row, if that
/// is possible.
const CHANGES: &[&str] = &[
    "INSERT INTO app_user (tenant_id, id, issuer, subject, name)
     VALUES ('{t}', '{u}', 'idp', 'new', 'new')",
    "UPDATE app_user SET active = false WHERE tenant_id = '{t}' AND id = '{u}'",
    "INSERT INTO user_role VALUES ('{t}', '{u}', 'dba')",
    "DELETE FROM user_role WHERE tenant_id = '{t}' AND user_id = '{u}'",
    "INSERT INTO user_alias VALUES ('{t}', '{u}', '{t}')",
    "DELETE FROM user_alias WHERE tenant_id = '{t}' AND user_id = '{u}'",
    "INSERT INTO agent (tenant_id, id, name, owner_id) VALUES ('{t}', '{u}', 'b', '{u}')",
    "UPDATE agent SET max_tasks = 9 WHERE tenant_id = '{t}' AND id = '{u}'",
    "UPDATE agent SET standing_order = 'drain' WHERE tenant_id = '{t}' AND id = '{u}'",
    "UPDATE agent SET config_version = 1 WHERE tenant_id = '{t}' AND id = '{u}'",
    "UPDATE agent SET revoked_at = now() WHERE tenant_id = '{t}' AND id = '{u}'",
    "INSERT INTO policy VALUES ('{t}', '{u}', 'p')",
    "INSERT INTO policy_version VALUES ('{t}', '{u}', 1, '{}', '{u}', '{v}', now())",
    "UPDATE policy SET current_version = 1 WHERE tenant_id = '{t}' AND id = '{u}'",
    "INSERT INTO delegation VALUES ('{t}', '{u}', '{u}', '{v}', 'follow', '{}', true, now(),
         now() + interval '1 h')",
    "UPDATE delegation SET active = false WHERE tenant_id = '{t}' AND id = '{u}'",
    "INSERT INTO \"freeze\" (tenant_id, id, scope, reason, set_by, set_at)
     VALUES ('{t}', '{u}', 'tenant', 'why', '{u}', now())",
    "UPDATE \"freeze\" SET lifted_by = '{v}', lifted_at = now()
      WHERE tenant_id = '{t}' AND id = '{u}'",
    "INSERT INTO risk_setting VALUES ('{t}', 1, '{}', '{v}', now())",
    "INSERT INTO time_setting VALUES ('{t}', 1, '{}', '{v}', now())",
    "INSERT INTO feature_flag VALUES ('{t}', 'batch_approvals', true, '{v}', now())",
    "UPDATE feature_flag SET enabled = false WHERE tenant_id = '{t}'",
];

#[tokio::test]
async fn rulebook_version_rises_with_every_rule_change() {
    let rig = TestDatabase::new().await;
    let mut app = connect_app(&rig).await;
    run(&mut app, &format!("SET ade.tenant = '{}'", rig.tenant.uuid())).await;
    let other = async || tenant_config::version(&mut rig.begin_as(rig.other).await).await.unwrap();
    let foreign = other().await;
    for change in CHANGES {
        let sql = change
            .replace("{t}", &rig.tenant.uuid().to_string())
            .replace("{u}", &UserId::from_u128(99).uuid().to_string())
            .replace("{v}", &UserId::from_u128(1).uuid().to_string());
        let before = version(&rig).await;
        assert_eq!(try_run(&mut app, &sql).await.unwrap(), 1, "{sql}");
        assert_eq!(version(&rig).await, before + 1, "{sql}");
    }
    assert_eq!(other().await, foreign);
    let mut admin = rig.database.connect().await;
    let fenced: Vec<String> = sqlx::query_scalar(
        "SELECT tgrelid::regclass::text FROM pg_trigger
          WHERE tgfoid = 'bump_rulebook'::regproc GROUP BY 1 HAVING count(*) = 3 ORDER BY 1",
    )
    .fetch_all(&mut admin)
    .await
    .unwrap();
    for table in &fenced {
        let is_tried = CHANGES.iter().any(|change| change.contains(table.as_str()));
        assert!(is_tried, "{table} has a change that is tried");
    }
    assert_eq!(fenced.len(), 11, "{fenced:?}");
}

#[tokio::test]
async fn rulebook_version_ignores_other_changes() {
    let rig = TestDatabase::new().await;
    let before = version(&rig).await;
    let mut app = connect_app(&rig).await;
    run(&mut app, &format!("SET ade.tenant = '{}'", rig.tenant.uuid())).await;
    for change in [
        "UPDATE agent SET status = 'active'",
        "UPDATE app_user SET active = active",
        "DELETE FROM user_role",
        "INSERT INTO resource (tenant_id, name) SELECT current_tenant(), 'db:a'",
    ] {
        run(&mut app, change).await;
        assert_eq!(version(&rig).await, before, "{change}");
    }
    let refused =
        StoreError::from(try_run(&mut app, "UPDATE rulebook SET version = 1").await.unwrap_err());
    assert!(matches!(refused, StoreError::Forbidden { .. }), "{refused}");
    let mut foreign = rig.begin_as(rig.other).await;
    assert!(!tenant_config::load(&mut foreign, Base::default()).await.unwrap().names.is_empty());
}

#[tokio::test]
async fn rulebook_version_is_read_with_the_task() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin_closed().await;
    let gathered = tasks::gather(&mut tx, TaskId::from_u128(1), None).await.unwrap();
    let before = gathered.rulebook;
    assert!(before > 0 && before == version(&rig).await);
    let roles = BTreeSet::from([Role::new("dba")]);
    users::set_roles(&mut tx, UserId::from_u128(2), &roles).await.unwrap();
    let gathered = tasks::gather(&mut tx, TaskId::from_u128(1), None).await.unwrap();
    assert_eq!(gathered.rulebook, before + 1);
    let mut empty = rig.begin_as(TenantId::from_u128(0xdead)).await;
    let gathered = tasks::gather(&mut empty, TaskId::from_u128(1), None).await.unwrap();
    assert_eq!(gathered.rulebook, 0);
}

#[tokio::test]
async fn rulebook_of_an_unknown_tenant_is_refused() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin_as(TenantId::from_u128(0xdead)).await;
    assert_eq!(tenant_config::version(&mut tx).await.unwrap(), 0);
    let refused = tenant_config::load(&mut tx, Base::default()).await.unwrap_err();
    assert!(refused.to_string().contains("the tenant does not exist"), "{refused}");
}

/// A writer that does not take the gate still waits for the decisions in flight.
#[tokio::test]
async fn rule_change_waits_for_decisions_in_flight() {
    let rig = TestDatabase::patient().await;
    let mut decision = rig.begin_through(&rig.pool, rig.tenant, TenantLock::Shared).await.unwrap();
    let before = tenant_config::version(&mut decision).await.unwrap();
    let mut watcher = rig.database.session().await;
    let change = async {
        let mut tx = rig.begin().await;
        let roles = BTreeSet::from([Role::new("dba")]);
        users::set_roles(&mut tx, UserId::from_u128(2), &roles).await.unwrap();
        rig.keep(tx).await;
    };
    let decide = async {
        watcher.wait_for_waiting(1, SOON).await;
        assert_eq!(tenant_config::version(&mut decision).await.unwrap(), before);
        decision.commit().await.unwrap();
    };
    tokio::join!(change, decide);
    assert_eq!(version(&rig).await, before + 1);
}
