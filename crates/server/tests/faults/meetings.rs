//! An office with people and policies, and calls that truly meet: behind one lock on the row of
//! their task, in either order, or let go at the same moment.

use std::time::Duration;

use ade_core::ids::{TaskId, TenantId};
use ade_testkit::{Database, Session};
use serde_json::{Value, json};
use tokio::sync::{Mutex, Notify};

use crate::world::{Answer, Person, World, id, seen};

/// A deadline, not a wait: a starved machine may need it.
pub const SOON: Duration = Duration::from_mins(1);
/// Opened together by one activation of the worker.
const BATCH: usize = 50;

/// How often each race is run. The default is for every day; `ADE_ROUNDS=1000` for a release.
pub fn rounds() -> usize {
    std::env::var("ADE_ROUNDS").map_or(100, |text| text.parse().unwrap())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meeting {
    /// Both wait for the row; the first of the pair came first.
    InOrder,
    Reversed,
    /// Whoever comes first.
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
    session: Mutex<Session>,
    /// Holds rows while calls run into it.
    holder: Mutex<Session>,
}

/// A task under review, and the requests that wait for Rea and Sam.
pub struct Asked {
    pub task: Value,
    pub rea: String,
    pub sam: String,
}

impl Office {
    /// `min` reviewers have to agree on everything.
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

    /// Where nobody is told to come back, however long they stand in line.
    pub async fn patient(min: u32) -> Self {
        let office = Self::open(min).await;
        office.world.database.be_patient().await;
        office
    }

    /// So many tasks under review, ready to be answered.
    pub async fn reviewing(&self, count: usize) -> Vec<Asked> {
        let mut asked = Vec::new();
        while asked.len() < count {
            let mut tasks = Vec::new();
            for _ in 0..BATCH.min(count - asked.len()) {
                let draft = self.world.draft(&self.bob, "Add a currency").await;
                tasks.push(self.world.submit(&self.bob, &draft).await);
            }
            self.world.work("review_opener").await;
            for task in tasks {
                asked.push(self.asked(id(&task)).await);
            }
        }
        asked
    }

    pub async fn asked(&self, task: &str) -> Asked {
        let task = self.task(task).await;
        assert_eq!(task["state"], "REVIEWING", "{task}");
        let path = format!("/v1/tasks/{}/approvals", id(&task));
        let found = self.world.get(&self.bob.token, &path).await.expect(200);
        let of = |person: &Person| {
            let mut requests = found["approvals"].as_array().unwrap().iter();
            let request = requests
                .find(|request| request["reviewer"] == person.id && request["status"] == "PENDING");
            id(request.unwrap_or_else(|| panic!("{found}"))).to_owned()
        };
        Asked { rea: of(&self.rea), sam: of(&self.sam), task }
    }

    pub async fn task(&self, id: &str) -> Value {
        self.world.get(&self.bob.token, &format!("/v1/tasks/{id}")).await.expect(200)
    }

    pub async fn approve(&self, reviewer: &Person, request: &str, task: &Value) -> Answer {
        let path = format!("/v1/approvals/{request}/approve");
        self.world.post(&reviewer.token, &path, seen(task)).await
    }

    /// Both calls at once on this task, so that they meet as `meeting` says.
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

/// As an admin would who publishes a policy and another who confirms it.
async fn publish(database: &Database, tenant: TenantId, min: u32) {
    let document = json!({
        "name": "people-agree",
        "require": [{ "roles": ["reviewer"], "min": min }],
    });
    let tenant = tenant.uuid();
    let somebody = |place: u32| {
        format!(
            "(SELECT id FROM app_user WHERE tenant_id = '{tenant}' ORDER BY id OFFSET {place} \
              LIMIT 1)"
        )
    };
    let (proposer, confirmer) = (somebody(0), somebody(1));
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
