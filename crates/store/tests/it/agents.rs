//! Agents round-trip through the store, and a revoked agent stays revoked.

use ade_core::agent::{AgentStatus, OrderKind};
use ade_core::ids::{AgentId, ProcessId, UserId};
use ade_store::StoreError;
use ade_store::agents::{self, Agent, AgentProfile};
use ade_store::locks::sessions;
use ade_store::tenant_config::{self, Base};

use crate::test_database::{TestDatabase, broken_rule};

const BOT: AgentId = AgentId::from_u128(50);
const OWNER: UserId = UserId::from_u128(2);

fn profile(name: &str) -> AgentProfile {
    let capabilities = vec!["database.migrate".to_owned(), "cache.**".to_owned()];
    AgentProfile { name: name.to_owned(), capabilities, max_tasks: 4 }
}

#[tokio::test]
async fn agent_is_stored_changed_and_revoked() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin_closed().await;
    let first = profile("deploy-bot");
    agents::insert(&mut tx, BOT, OWNER, &first).await.unwrap();
    let mut expected = Agent {
        id: BOT,
        owner: OWNER,
        profile: first,
        order: None,
        status: AgentStatus::Offline,
        seen_at: None,
        load: None,
        config_version: 0,
        registered_at: rig.now,
        revoked_at: None,
    };
    assert_eq!(agents::get(&mut tx, BOT).await.unwrap(), Some(expected.clone()));
    expected.profile = AgentProfile { max_tasks: 5, ..profile("renamed") };
    agents::update(&mut tx, BOT, &expected.profile).await.unwrap();
    assert_eq!(agents::get(&mut tx, BOT).await.unwrap(), Some(expected.clone()));
    for (order, status) in
        [(OrderKind::Drain, AgentStatus::Draining), (OrderKind::Pause, AgentStatus::Paused)]
    {
        (expected.order, expected.status) = (Some(order), status);
        agents::set_order(&mut tx, BOT, Some(order)).await.unwrap();
        assert_eq!(agents::get(&mut tx, BOT).await.unwrap(), Some(expected.clone()));
        let book = tenant_config::load(&mut tx, Base::default()).await.unwrap();
        let entry = &book.agents[&BOT];
        assert_eq!((entry.order, entry.is_taking_work()), (Some(order), false));
    }
    (expected.order, expected.status) = (None, AgentStatus::Offline);
    assert!(agents::revoke(&mut tx, BOT).await.unwrap());
    assert!(!agents::revoke(&mut tx, BOT).await.unwrap(), "once");
    expected.revoked_at = Some(rig.now);
    rig.keep(tx).await;

    let mut tx = rig.begin_closed().await;
    assert_eq!(agents::get(&mut tx, BOT).await.unwrap(), Some(expected.clone()));
    let late = agents::update(&mut tx, BOT, &expected.profile).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "{late:?}");
    tx.roll_back().await;
    let mut tx = rig.begin_closed().await;
    let late = agents::set_order(&mut tx, BOT, Some(OrderKind::Drain)).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. })), "{late:?}");
    tx.roll_back().await;
    let mut tx = rig.begin_closed().await;
    let twin = profile("infra-bot");
    let refused = broken_rule(agents::insert(&mut tx, AgentId::from_u128(51), OWNER, &twin).await);
    assert_eq!(refused, "agent_name_is_taken");
    for max_tasks in [0, 10_001] {
        tx.roll_back().await;
        tx = rig.begin_closed().await;
        let wide = AgentProfile { max_tasks, ..profile("wide") };
        let other = AgentId::from_u128(52);
        let refused = broken_rule(agents::insert(&mut tx, other, OWNER, &wide).await);
        assert_eq!(refused, "agent_max_tasks_is_in_range");
    }
}

#[tokio::test]
async fn agent_pages_are_bounded_and_tenants_isolated() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin_closed().await;
    for number in 50..55 {
        let profile = profile(&format!("bot {number}"));
        agents::insert(&mut tx, AgentId::from_u128(number), OWNER, &profile).await.unwrap();
    }
    let ids = |page: Vec<Agent>| page.into_iter().map(|agent| agent.id).collect::<Vec<_>>();
    let first = ids(agents::list(&mut tx, None, 4).await.unwrap());
    assert_eq!(first, [1, 50, 51, 52].map(AgentId::from_u128));
    let second = ids(agents::list(&mut tx, first.last().copied(), 4).await.unwrap());
    assert_eq!(second, [53, 54].map(AgentId::from_u128));
    rig.keep(tx).await;
    let mut foreign = rig.begin_as(rig.other).await;
    assert_eq!(agents::get(&mut foreign, BOT).await.unwrap(), None);
    assert_eq!(ids(agents::list(&mut foreign, None, 9).await.unwrap()), [AgentId::from_u128(1)]);
    assert!(!agents::revoke(&mut foreign, BOT).await.unwrap());
}

#[tokio::test]
async fn agent_presence_uses_the_last_heartbeat_of_any_session() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin_closed().await;
    agents::insert(&mut tx, BOT, OWNER, &profile("bot")).await.unwrap();
    let book = tenant_config::load(&mut tx, Base::default()).await.unwrap();
    assert!(book.agents[&BOT].is_taking_work());
    let ttl = std::time::Duration::from_mins(1);
    for (number, load) in [(1, Some(7)), (2, None)] {
        let id = ProcessId::from_u128(number);
        sessions::open(&mut tx, id, Some(BOT), "here", ttl).await.unwrap();
        let seen = agents::presence(&mut tx, &[BOT]).await.unwrap();
        assert_eq!(seen[0].silence.is_some(), number == 2, "opening is not a heartbeat");
        assert!(sessions::beat(&mut tx, id, ttl, load).await.unwrap());
    }
    let agent = agents::get(&mut tx, BOT).await.unwrap().unwrap();
    assert_eq!((agent.status, agent.load), (AgentStatus::Active, None), "of the last heartbeat");
    let unknown = AgentId::from_u128(99);
    let seen = agents::presence(&mut tx, &[BOT, unknown]).await.unwrap();
    assert_eq!(seen.len(), 1);
    assert_eq!(
        (seen[0].status, seen[0].reported_status),
        (AgentStatus::Active, AgentStatus::Offline)
    );
    assert!(agents::tell(&mut tx, BOT, AgentStatus::Active).await.unwrap());
    assert!(!agents::tell(&mut tx, BOT, AgentStatus::Active).await.unwrap(), "once");
    let after = tenant_config::version(&mut tx).await.unwrap();
    assert_eq!(after, book.version, "presence is not a rule");
    assert!(agents::revoke(&mut tx, BOT).await.unwrap());
    let seen = agents::presence(&mut tx, &[BOT]).await.unwrap();
    assert_eq!((seen[0].status, seen[0].silence), (AgentStatus::Offline, None));
}
