//! The audit log is read from a streaming replica. The response contains the replica's position,
//! also when it lags. If the replica is down, this is reported and nothing else is affected.

use std::time::Duration;

use ade_engine::admin::bootstrap;
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
        let primary = OwnedPostgres::start(postgres::PostgresSettings::test()).await;
        let made = Database::clone_on((*primary).clone(), "server", async |url: String| {
            bootstrap::migrate(&url).await
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

    /// Reads the audit log once the connections have been reestablished.
    async fn read_again(&self) -> Value {
        let token = &self.world.admin.token;
        let read =
            eventually("the audit log is available again", Duration::from_secs(20), async || {
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
async fn audit_is_read_from_the_replica_with_its_position() {
    let copied = Copied::new().await;
    copied.world.person("Bob", &["author"]).await;
    copied.replica.caught_up_with(&copied.primary).await;
    let page = copied.audit().await;
    assert_eq!(newest(&page), "token.create");
    // The first read has left an entry itself.
    copied.replica.caught_up_with(&copied.primary).await;
    // Entries that are written while replication is paused are not in the response.
    copied.replica.stand_still().await;
    let before = copied.audit().await;
    let bot = copied.world.person("Late", &["author"]).await;
    let behind = copied.audit().await;
    assert_eq!(behind["items"], before["items"], "the entries come from the replica");
    assert_eq!(behind["as_of"], before["as_of"], "the replica has not advanced");
    let written = copied.world.get(&bot.token, "/v1/me").await.expect(200);
    assert_eq!(written["name"], "Late", "everything else is read from the primary");
    copied.replica.go_on().await;
    copied.replica.caught_up_with(&copied.primary).await;
    let after = copied.audit().await;
    // The user, the invitation, its acceptance, the session and the token of the new person.
    assert_eq!(
        after["items"].as_array().unwrap().len(),
        behind["items"].as_array().unwrap().len() + 5
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
async fn audit_alone_fails_while_the_replica_is_down() {
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

/// The replica has replayed nothing since its start, so it knows no commit time.
#[tokio::test]
async fn restarted_replica_does_not_report_the_current_time() {
    let copied = Copied::new().await;
    // The first read leaves an entry, which the replica must have replayed before its restart.
    copied.audit().await;
    copied.replica.caught_up_with(&copied.primary).await;
    copied.primary.run("CHECKPOINT").await;
    copied.replica.caught_up_with(&copied.primary).await;
    copied.replica.run("CHECKPOINT").await;
    copied.replica.restart().await;
    let first = copied.read_again().await;
    let second = copied.audit().await;
    assert_eq!(first["as_of"], second["as_of"], "the current time would have advanced");
}

#[tokio::test]
async fn audit_without_a_replica_reports_the_current_time() {
    let world = World::new().await;
    // The first read leaves an entry itself.
    world.get(&world.admin.token, "/v1/audit").await.expect(200);
    let first = world.get(&world.admin.token, "/v1/audit").await.expect(200);
    let second = world.get(&world.admin.token, "/v1/audit").await.expect(200);
    assert_eq!(first["items"], second["items"]);
    assert!(first["as_of"].as_str() < second["as_of"].as_str(), "the clock advances");
}
