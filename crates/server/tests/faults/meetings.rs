//! A tenant with people and policies, and a way to make two calls race: they queue behind a lock on
//! the row of their task, in either order, or start at the same moment.

use std::time::Duration;

use ade_core::ids::{TaskId, TenantId};
use ade_testkit::{Database, DatabaseSession};
use serde_json::{Value, json};
use tokio::sync::{Mutex, Notify};

use crate::world::{Answer, Person, World, id, path_of, seen};

/// A generous deadline for a slow machine; no test waits for all of it.
pub const SOON: Duration = Duration::from_mins(1);
/// The number of reviews that one run of the worker opens.
const BATCH: usize = 50;

/// How often each race runs. The default is for daily use; a release uses `ADE_ROUNDS=1000`.
pub fn rounds() -> usize {
    std::env::var("ADE_ROUNDS").map_or(100, |text| text.parse().unwrap())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meeting {
    /// Both calls wait for the row, and the first of the pair is first in the queue.
    InOrder,
    /// Both calls wait for the row, and the second of the pair is first in the queue.
    Reversed,
    /// Both calls start at the same moment, in no fixed order.
    Free,
}

impl Meeting {
    pub fn of(round: usize) -> Self {
        [Self::InOrder, Self::Free, Self::Reversed, Self::Free][round % 4]
    }
}

pub struct Office {
    pub world: World,
    pub bob: Person,
    pub rea: Person,
    pub sam: Person,
    session: Mutex<DatabaseSession>,
    /// Locks rows, so that calls have to wait.
    holder: Mutex<DatabaseSession>,
}

impl Office {
    /// A new office in which `min` reviewers have to approve every task.
    pub async fn open(min: u32) -> Self {
        Self::in_world(World::new().await, min).await
    }

    pub async fn in_world(world: World, min: u32) -> Self {
        let bob = world.person("Bob", &["author"]).await;
        let rea = world.person("Rea", &["reviewer"]).await;
        let sam = world.person("Sam", &["reviewer"]).await;
        let tenant: TenantId = world.tenant.parse().unwrap();
        publish(&world.database, tenant, min).await;
        let session = Mutex::new(world.database.session().await);
        let holder = Mutex::new(world.database.session().await);
        Self { world, bob, rea, sam, session, holder }
    }

    /// A new office in which no call is refused as busy, however long it waits for a lock.
    pub async fn patient(min: u32) -> Self {
        let office = Self::open(min).await;
        office.world.database.be_patient().await;
        office
    }

    /// Creates `count` tasks under review.
    pub async fn reviewing(&self, count: usize) -> Vec<Value> {
        let mut reviewing = Vec::new();
        while reviewing.len() < count {
            let mut tasks = Vec::new();
            for _ in 0..BATCH.min(count - reviewing.len()) {
                let draft = self.world.draft(&self.bob, "Add a currency").await;
                tasks.push(self.world.submit(&self.bob, &draft).await);
            }
            // A batch contains a share of a tenant only.
            while self.world.work("review_opener").await.has_more {}
            for task in tasks {
                let task = self.task(id(&task)).await;
                assert_eq!(task["state"], "REVIEWING", "{task}");
                reviewing.push(task);
            }
        }
        reviewing
    }

    pub async fn task(&self, id: &str) -> Value {
        self.world.get(&self.bob.token, &format!("/v1/tasks/{id}")).await.expect(200)
    }

    pub async fn approve(&self, reviewer: &Person, task: &Value) -> Answer {
        let path = format!("{}/approve", path_of(task));
        self.world.post(&reviewer.token, &path, seen(task)).await
    }

    /// Makes both calls on this task at once, in the order that `meeting` gives.
    pub async fn meet(
        &self,
        meeting: Meeting,
        task: &str,
        one: impl AsyncFn(&Self) -> Answer,
        other: impl AsyncFn(&Self) -> Answer,
    ) -> (Answer, Answer) {
        let mut holder = self.holder.lock().await;
        let gates = [Notify::new(), Notify::new()];
        let conduct = async {
            let order = match meeting {
                Meeting::InOrder => [0, 1],
                Meeting::Reversed => [1, 0],
                Meeting::Free => {
                    gates.iter().for_each(Notify::notify_one);
                    return;
                }
            };
            let uuid = task.parse::<TaskId>().unwrap().uuid();
            holder.run(&format!("BEGIN; SELECT FROM task WHERE id = '{uuid}' FOR UPDATE")).await;
            for (waiting, call) in (1..).zip(order) {
                gates[call].notify_one();
                holder.wait_for_waiting(waiting, SOON).await;
            }
            holder.run("COMMIT").await;
        };
        let (one, other, ()) = tokio::join!(
            async {
                gates[0].notified().await;
                one(self).await
            },
            async {
                gates[1].notified().await;
                other(self).await
            },
            conduct,
        );
        (one, other)
    }

    pub async fn number(&self, sql: &str) -> i64 {
        self.session.lock().await.number(sql).await
    }
}

/// Publishes a policy, as if one admin had proposed and another had confirmed it.
async fn publish(database: &Database, tenant: TenantId, min: u32) {
    let document = json!({
        "name": "people-agree",
        "require": [{ "roles": ["reviewer"], "min": min }],
    });
    let tenant = tenant.uuid();
    let user = |place: u32| {
        format!(
            "(SELECT id FROM app_user WHERE tenant_id = '{tenant}' ORDER BY id OFFSET {place} \
              LIMIT 1)"
        )
    };
    let (proposer, confirmer) = (user(0), user(1));
    database
        .run(&format!(
            "WITH head AS (
                 INSERT INTO policy (tenant_id, id, name, enabled, current_version)
                 VALUES ('{tenant}', gen_random_uuid(), 'people-agree', true, 1) RETURNING id)
             INSERT INTO policy_version (tenant_id, policy_id, version, document, proposed_by,
                 confirmed_by, published_at)
             SELECT '{tenant}', id, 1, '{document}', {proposer}, {confirmer}, now() FROM head"
        ))
        .await;
}
