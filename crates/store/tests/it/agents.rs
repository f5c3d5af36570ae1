//! Agents are read back as registered; one that is revoked stays so.

use ade_core::ids::{AgentId, UserId};
use ade_store::Error;
use ade_store::agents::{self, Agent, Profile, Status};

use crate::rig::{Rig, broken_rule};

const BOT: AgentId = AgentId::from_u128(50);
const OWNER: UserId = UserId::from_u128(2);

fn profile(name: &str, status: Status) -> Profile {
    let capabilities = vec!["database.migrate".to_owned(), "cache.**".to_owned()];
    Profile { name: name.to_owned(), capabilities, status }
}

#[tokio::test]
async fn an_agent_is_read_back_as_registered_changed_and_revoked() {
    let rig = Rig::new().await;
    let mut tx = rig.begin_closed().await;
    let first = profile("deploy-bot", Status::Offline);
    agents::insert(&mut tx, BOT, OWNER, &first).await.unwrap();
    let mut expected =
        Agent { id: BOT, owner: OWNER, profile: first, registered_at: rig.now, revoked_at: None };
    assert_eq!(agents::get(&mut tx, BOT).await.unwrap(), Some(expected.clone()));
    for status in Status::ALL {
        expected.profile = profile("renamed", status);
        agents::update(&mut tx, BOT, &expected.profile).await.unwrap();
        assert_eq!(agents::get(&mut tx, BOT).await.unwrap(), Some(expected.clone()));
    }
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
    let twin = profile("infra-bot", Status::Offline);
    let refused = broken_rule(agents::insert(&mut tx, AgentId::from_u128(51), OWNER, &twin).await);
    assert_eq!(refused, "agent_name_is_taken");
}

#[tokio::test]
async fn pages_and_tenants_keep_to_themselves() {
    let rig = Rig::new().await;
    let mut tx = rig.begin_closed().await;
    for number in 50..55 {
        let profile = profile(&format!("bot {number}"), Status::Active);
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
