//! Agents are read back as registered; one that is revoked stays so.

use ade_core::agent::{Order, Status};
use ade_core::ids::{AgentId, AgentSessionId, UserId};
use ade_store::Error;
use ade_store::agents::{self, Agent, Profile};
use ade_store::locks::sessions;
use ade_store::rulebook::{self, Base};

use crate::rig::{Rig, broken_rule};

const BOT: AgentId = AgentId::from_u128(50);
const OWNER: UserId = UserId::from_u128(2);

fn profile(name: &str) -> Profile {
    let capabilities = vec!["database.migrate".to_owned(), "cache.**".to_owned()];
    Profile { name: name.to_owned(), capabilities, max_tasks: 4 }
}

#[tokio::test]
async fn an_agent_is_read_back_as_registered_changed_and_revoked() {
    let rig = Rig::new().await;
    let mut tx = rig.begin_closed().await;
    let first = profile("deploy-bot");
    agents::insert(&mut tx, BOT, OWNER, &first).await.unwrap();
    let mut expected = Agent {
        id: BOT,
        owner: OWNER,
        profile: first,
        order: None,
        status: Status::Offline,
        seen_at: None,
        load: None,
        config_version: 0,
        registered_at: rig.now,
        revoked_at: None,
    };
    assert_eq!(agents::get(&mut tx, BOT).await.unwrap(), Some(expected.clone()));
    expected.profile = Profile { max_tasks: 5, ..profile("renamed") };
    agents::update(&mut tx, BOT, &expected.profile).await.unwrap();
    assert_eq!(agents::get(&mut tx, BOT).await.unwrap(), Some(expected.clone()));
    for (order, status) in [(Order::Drain, Status::Draining), (Order::Pause, Status::Paused)] {
        (expected.order, expected.status) = (Some(order), status);
        agents::set_order(&mut tx, BOT, Some(order)).await.unwrap();
        assert_eq!(agents::get(&mut tx, BOT).await.unwrap(), Some(expected.clone()));
        let book = rulebook::load(&mut tx, Base::default()).await.unwrap();
        let entry = &book.agents[&BOT];
        assert_eq!((entry.order, entry.is_taking_work()), (Some(order), false));
    }
    (expected.order, expected.status) = (None, Status::Offline);
    assert!(agents::revoke(&mut tx, BOT).await.unwrap());
    assert!(!agents::revoke(&mut tx, BOT).await.unwrap(), "once");
    expected.revoked_at = Some(rig.now);
    rig.keep(tx).await;

    let mut tx = rig.begin_closed().await;
    assert_eq!(agents::get(&mut tx, BOT).await.unwrap(), Some(expected.clone()));
    let late = agents::update(&mut tx, BOT, &expected.profile).await;
    assert!(matches!(late, Err(Error::Conflict { .. })), "{late:?}");
    tx.roll_back().await;
    let mut tx = rig.begin_closed().await;
    let late = agents::set_order(&mut tx, BOT, Some(Order::Drain)).await;
    assert!(matches!(late, Err(Error::Conflict { .. })), "{late:?}");
    tx.roll_back().await;
    let mut tx = rig.begin_closed().await;
    let twin = profile("infra-bot");
    let refused = broken_rule(agents::insert(&mut tx, AgentId::from_u128(51), OWNER, &twin).await);
    assert_eq!(refused, "agent_name_is_taken");
    for max_tasks in [0, 10_001] {
        tx.roll_back().await;
        tx = rig.begin_closed().await;
        let wide = Profile { max_tasks, ..profile("wide") };
        let other = AgentId::from_u128(52);
        let refused = broken_rule(agents::insert(&mut tx, other, OWNER, &wide).await);
        assert_eq!(refused, "agent_max_tasks_is_in_range");
    }
}

#[tokio::test]
async fn pages_and_tenants_keep_to_themselves() {
    let rig = Rig::new().await;
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
async fn the_last_heartbeat_of_any_session_counts_and_is_told_once() {
    let rig = Rig::new().await;
    let mut tx = rig.begin_closed().await;
    agents::insert(&mut tx, BOT, OWNER, &profile("bot")).await.unwrap();
    let book = rulebook::load(&mut tx, Base::default()).await.unwrap();
    assert!(book.agents[&BOT].is_taking_work());
    let ttl = std::time::Duration::from_mins(1);
    for (number, load) in [(1, Some(7)), (2, None)] {
        let id = AgentSessionId::from_u128(number);
        sessions::open(&mut tx, id, Some(BOT), "here", ttl).await.unwrap();
        let seen = agents::presence(&mut tx, &[BOT]).await.unwrap();
        assert_eq!(seen[0].silence.is_some(), number == 2, "opened is not heard");
        assert!(sessions::beat(&mut tx, id, ttl, load).await.unwrap());
    }
    let agent = agents::get(&mut tx, BOT).await.unwrap().unwrap();
    assert_eq!((agent.status, agent.load), (Status::Active, None), "of the last one");
    let nobody = AgentId::from_u128(99);
    let seen = agents::presence(&mut tx, &[BOT, nobody]).await.unwrap();
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].status, seen[0].told), (Status::Active, Status::Offline));
    assert!(agents::tell(&mut tx, BOT, Status::Active).await.unwrap());
    assert!(!agents::tell(&mut tx, BOT, Status::Active).await.unwrap(), "once");
    let after = rulebook::version(&mut tx).await.unwrap();
    assert_eq!(after, book.version, "presence is no rule");
    assert!(agents::revoke(&mut tx, BOT).await.unwrap());
    let seen = agents::presence(&mut tx, &[BOT]).await.unwrap();
    assert_eq!((seen[0].status, seen[0].silence), (Status::Offline, None));
}
