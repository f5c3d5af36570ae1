//! The audit read from a streaming replica: it says how far the copy had come, also when it lags,
//! and when the copy is away that is told, and nothing else suffers.

use std::time::Duration;

use ade_engine::setup;
use ade_testkit::{Database, OwnedPostgres, eventually, postgres};
use serde_json::Value;

use crate::world::World;

struct Copied {
    world: World,
    primary: OwnedPostgres,
    replica: OwnedPostgres,
}

impl Copied {
    async fn new() -> Self {
        let primary = OwnedPostgres::start(postgres::Settings::test()).await;
        let made = Database::clone_on((*primary).clone(), "server", async |url: String| {
            setup::migrate(&url).await
        });
        let database = made.await.unwrap();
        let replica = primary.replica().await;
        let world = World::over(database, Some(replica.port())).await;
        replica.caught_up_with(&primary).await;
        Self { world, primary, replica }
    }

    async fn audit(&self) -> Value {
        self.world.get(&self.world.admin.token, "/v1/audit").await.expect(200)
    }

    /// Once its connections have been made anew.
    async fn read_again(&self) -> Value {
        let token = &self.world.admin.token;
        let read = eventually("the audit is back", Duration::from_secs(20), async || {
            let answer = self.world.get(token, "/v1/audit").await;
            if answer.status == 200 { Ok(answer.body) } else { Err(answer.body) }
        });
        read.await
    }

    async fn degraded(&self) -> Vec<String> {
        let status = self.world.get(&self.world.admin.token, "/v1/status").await.expect(200);
        let parts = status["degradations"].as_array().unwrap().iter();
        parts.map(|one| one["part"].as_str().unwrap().to_owned()).collect()
    }
}

fn newest(page: &Value) -> &str {
    page["items"][0]["leaf"]["what"]["action"].as_str().unwrap()
}

#[tokio::test]
async fn the_audit_is_read_from_the_replica_and_says_how_far_it_had_come() {
    let copied = Copied::new().await;
    copied.world.person("Bob", &["author"]).await;
    copied.replica.caught_up_with(&copied.primary).await;
    let page = copied.audit().await;
    assert_eq!(newest(&page), "token.create");
    // What arrives while the copy stands still is on the record and not in the answer.
    copied.replica.stand_still().await;
    let before = copied.audit().await;
    let bot = copied.world.person("Late", &["author"]).await;
    let behind = copied.audit().await;
    assert_eq!(behind["items"], before["items"], "read from somewhere else");
    assert_eq!(behind["as_of"], before["as_of"], "it had come no further");
    let written = copied.world.get(&bot.token, "/v1/me").await.expect(200);
    assert_eq!(written["name"], "Late", "everything else is read from the record");
    copied.replica.go_on().await;
    copied.replica.caught_up_with(&copied.primary).await;
    let after = copied.audit().await;
    assert_eq!(
        after["items"].as_array().unwrap().len(),
        behind["items"].as_array().unwrap().len() + 2
    );
    assert!(
        after["as_of"].as_str() > behind["as_of"].as_str(),
        "{} {}",
        after["as_of"],
        behind["as_of"]
    );
    assert_eq!(copied.degraded().await, [""; 0]);
}

#[tokio::test]
async fn without_its_replica_the_audit_is_away_and_the_rest_is_not() {
    let copied = Copied::new().await;
    copied.audit().await;
    copied.replica.kill();
    let token = &copied.world.admin.token;
    copied.world.get(token, "/v1/audit").await.refused(503, "database_unavailable");
    assert_eq!(copied.degraded().await, ["replica"]);
    copied.world.person("Bob", &["author"]).await;
    assert_eq!(copied.world.get(token, "/readyz").await.status, 200);
    copied.replica.restart().await;
    assert_eq!(newest(&copied.read_again().await), "token.create");
    assert_eq!(copied.degraded().await, [""; 0]);
}

/// Nothing replayed since its start: no moment of a commit is known to it.
#[tokio::test]
async fn a_replica_that_has_just_begun_does_not_claim_the_present() {
    let copied = Copied::new().await;
    copied.primary.run("CHECKPOINT").await;
    copied.replica.caught_up_with(&copied.primary).await;
    copied.replica.run("CHECKPOINT").await;
    copied.replica.restart().await;
    let first = copied.read_again().await;
    let second = copied.audit().await;
    assert_eq!(first["as_of"], second["as_of"], "the present would have gone on");
}

#[tokio::test]
async fn without_a_replica_the_record_says_the_present() {
    let world = World::new().await;
    let first = world.get(&world.admin.token, "/v1/audit").await.expect(200);
    let second = world.get(&world.admin.token, "/v1/audit").await.expect(200);
    assert_eq!(first["items"], second["items"]);
    assert!(first["as_of"].as_str() < second["as_of"].as_str(), "the clock goes on");
}
