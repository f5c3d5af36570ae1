//! What a scenario works on: a tenant with people, five policies, and as many tasks under review
//! as are asked for. The first task comes the way of every task; the others are copies of it.

use ade_core::actor::Actor;
use ade_core::ids::{ApprovalId, PolicyId, TenantId, UserId};
use ade_core::policy::{Document, Policy};
use ade_core::time::Timestamp;
use ade_engine::{Class, Pool, PoolSettings, setup};
use ade_store::{Gate, Tx, audit, policies};
use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::client::{Client, request};
use crate::installation::{Installation, Server, run};

const SCOPES: [&str; 6] = ["read", "propose", "execute", "decide", "operate", "administer"];
const WAIT: &str = "30s";

/// Three of them speak about the tasks of the bench; each asks for one reviewer.
pub const POLICIES: [&str; 5] = [
    "name: everything\nrequire:\n  - roles: [reviewer]\n",
    "name: databases\nmatch:\n  task_types: [\"db.*\"]\nrequire:\n  - roles: [reviewer]\n\
     respond_within: 24h\n",
    "name: orders\nmatch:\n  resource_patterns: [\"database:orders\"]\nrequire:\n  \
     - roles: [reviewer]\napproval_valid_for: 3d\n",
    "name: secrets\nmatch:\n  task_types: [\"secret.*\"]\nrequire:\n  - roles: [reviewer]\n    \
     min: 2\n",
    "name: dangerous\nmatch:\n  risk_at_least: 90\nrequire:\n  - roles: [reviewer]\n    min: 2\n",
];

#[derive(Debug, Clone)]
pub struct Person {
    pub id: UserId,
    pub token: String,
}

#[derive(Debug)]
pub struct Seed {
    pub tenant: TenantId,
    /// A token.
    pub admin: String,
    pub reviewers: Vec<Person>,
    /// The task of which all others are copies.
    pub task: Value,
}

/// A vote that can be given once.
#[derive(Debug, Clone, Copy)]
pub struct Ballot {
    pub task: Uuid,
    pub approval: ApprovalId,
    /// Its place among the reviewers.
    pub reviewer: usize,
}

impl Seed {
    pub async fn plant(at: &Installation) -> Result<Self> {
        let server = Server::start(at, at.postgres.port(), true).await?;
        let owner = at.postgres.url(crate::installation::DATABASE);
        let way_in = setup::bootstrap(&owner, &Installation::pepper()?, "bench").await?;
        let mut client = Client::connect(&server.address).await?;
        let asked = json!({ "scopes": SCOPES });
        let first = way_in.token.reveal();
        let made = client.ask("POST", "/v1/tokens", &first, Some(&asked), "").await?;
        let admin = text(&made, "token")?;
        let author = person(&mut client, &admin, "Author", "author").await?;
        let mut reviewers = Vec::new();
        for name in ["First", "Second"] {
            reviewers.push(person(&mut client, &admin, name, "reviewer").await?);
        }
        publish(at, way_in.tenant, way_in.admin, author.id).await?;
        let task = under_review(&mut client, &author).await?;
        Ok(Self { tenant: way_in.tenant, admin, reviewers, task })
    }

    /// Approved tasks, each of a resource of its own, in the order in which they are claimed.
    pub async fn approved(&self, owner: &mut PgConnection, tasks: u32) -> Result<Vec<Uuid>> {
        let (tenant, template) = (self.tenant.uuid(), self.template()?);
        run(owner, &copies(tenant, template, tasks, Copied::Approved)).await?;
        let query = sqlx::query_scalar("SELECT id FROM copied ORDER BY id");
        Ok(query.fetch_all(owner).await?)
    }

    fn template(&self) -> Result<Uuid> {
        Ok(text(&self.task, "id")?.parse::<ade_core::ids::TaskId>()?.uuid())
    }

    /// More tasks like the first.
    pub async fn copy(&self, owner: &mut PgConnection, tasks: u32) -> Result<Vec<Ballot>> {
        let (tenant, template) = (self.tenant.uuid(), self.template()?);
        run(owner, &copies(tenant, template, tasks, Copied::Reviewed)).await?;
        let query = sqlx::query_as::<_, (Uuid, Uuid, Uuid)>(
            "SELECT a.task_id, a.id, a.reviewer_id FROM approval a
               JOIN copied c ON c.id = a.task_id
              WHERE a.tenant_id = $1 ORDER BY c.nth, a.reviewer_id",
        );
        let rows = query.bind(tenant).fetch_all(&mut *owner).await?;
        let mut ballots = Vec::new();
        for (nth, asked) in rows.chunks(self.reviewers.len()).enumerate() {
            let Some((task, approval, voter)) = asked.get(nth % self.reviewers.len()) else {
                bail!("a task with nobody to ask");
            };
            let voter = UserId::from_uuid(*voter);
            let reviewer = self.reviewers.iter().position(|person| person.id == voter);
            let reviewer = reviewer.context("somebody else was asked")?;
            let approval = ApprovalId::from_uuid(*approval);
            ballots.push(Ballot { task: *task, approval, reviewer });
        }
        Ok(ballots)
    }

    /// What a reviewer sends who agrees.
    pub fn vote(&self, address: &str, ballot: &Ballot) -> Vec<u8> {
        let body =
            json!({ "revision": self.task.get("revision"), "digest": self.task.get("digest") });
        let path = format!("/v1/approvals/{}/approve", ballot.approval);
        let token = self.reviewers.get(ballot.reviewer).map_or("", |person| &person.token);
        request(address, "POST", &path, token, &body.to_string(), "")
    }
}

async fn person(client: &mut Client, admin: &str, name: &str, role: &str) -> Result<Person> {
    let asked = json!({ "name": name, "roles": [role] });
    let user = client.ask("POST", "/v1/users", admin, Some(&asked), "").await?;
    let id = text(&user, "id")?;
    let asked = json!({ "user": id, "scopes": SCOPES });
    let token = client.ask("POST", "/v1/tokens", admin, Some(&asked), "").await?;
    Ok(Person { id: id.parse()?, token: text(&token, "token")? })
}

async fn publish(
    at: &Installation,
    tenant: TenantId,
    proposer: UserId,
    confirmer: UserId,
) -> Result<()> {
    let pool = Pool::new(&PoolSettings::new(&at.app_url), Class::Reserved)?;
    let mut tx = Tx::begin(&pool, tenant, Actor::user(proposer), Gate::Exclusive).await?;
    let now = tx.now();
    for text in POLICIES {
        let document = Document::parse_yaml(text)?;
        let id = PolicyId::from_uuid(Uuid::now_v7());
        let policy = Policy { id, version: 1, document };
        policies::insert_published(&mut tx, &policy, proposer, confirmer).await?;
    }
    audit::append(&mut tx, &[leaf(tenant, proposer, now)]).await?;
    tx.commit().await?;
    pool.close().await;
    Ok(())
}

fn leaf(tenant: TenantId, user: UserId, now: Timestamp) -> ade_core::audit::Leaf {
    use ade_core::audit::{Kind, Leaf, What, Where, Who, Why};
    let what = What {
        object: tenant.to_string(),
        action: "policy.publish".to_owned(),
        from: None,
        to: None,
        revision: None,
        digest: None,
    };
    let place = Where { address: None, user_agent: None, service: "bench".to_owned() };
    let who = Who::User { user, session: None };
    Leaf::new(tenant, Kind::Change, who, what, now, place, Why::default())
}

async fn under_review(client: &mut Client, author: &Person) -> Result<Value> {
    let asked = json!({
        "title": "Add a column",
        "type": "db.change",
        "parameters": { "table": "orders" },
        "resources": [{ "resource": "database:orders", "mode": "exclusive" }],
        "tags": ["bench"],
        "plan": { "changes": [{
            "resource": "database:orders", "action": "add", "irreversible": false,
            "summary": "one column"
        }] }
    });
    let draft = client.ask("POST", "/v1/tasks", &author.token, Some(&asked), "").await?;
    let path = format!("/v1/tasks/{}", text(&draft, "id")?);
    let version = format!("if-match: \"{}\"\r\n", number(&draft, "version")?);
    let submit = format!("{path}/submit");
    let sent = client.ask("POST", &submit, &author.token, None, &version).await?;
    let wait = format!("{path}?wait={WAIT}&since_version={}", number(&sent, "version")?);
    client.ask("GET", &wait, &author.token, None, "").await?;
    let task = client.ask("GET", &path, &author.token, None, "").await?;
    if text(&task, "state")? != "REVIEWING" {
        bail!("nobody was asked: {task}");
    }
    Ok(task)
}

fn number(value: &Value, name: &str) -> Result<u64> {
    let found = value.get(name).and_then(Value::as_u64);
    found.with_context(|| format!("no number `{name}` in {value}"))
}

pub fn text(value: &Value, name: &str) -> Result<String> {
    let found = value[name].as_str().map(str::to_owned);
    found.with_context(|| format!("no `{name}` in {value}"))
}

/// What the first task has become before it is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copied {
    /// All touch the same resource: nobody asks for it before they are approved.
    Reviewed,
    Approved,
}

/// Rows as the first task has them, under ids of their own. Foreign keys hold by construction.
fn copies(tenant: Uuid, template: Uuid, tasks: u32, copied: Copied) -> String {
    let of = |table: &str, key: &str, changed: &str| {
        format!(
            "INSERT INTO {table} OVERRIDING SYSTEM VALUE
             SELECT (jsonb_populate_record(t, jsonb_build_object({changed}))).*
               FROM {table} t, copied c
              WHERE t.tenant_id = '{tenant}' AND t.{key} = '{template}';"
        )
    };
    let mut inner = ["task_revision", "task_tag", "risk_assessment"]
        .map(|table| of(table, "task_id", "'task_id', c.id"))
        .join("\n");
    let name = match copied {
        Copied::Reviewed => "",
        Copied::Approved => ", 'resource', 'database:d' || c.nth",
    };
    inner.push_str(&of("task_resource", "task_id", &format!("'task_id', c.id{name}")));
    if copied == Copied::Approved {
        inner.push_str(&of("vote", "task_id", "'task_id', c.id, 'id', uuid_v7()"));
    }
    let task = of("task", "id", "'id', c.id, 'number', 1000000000 - c.nth");
    let pin = of("task_policy_pin", "task_id", "'task_id', c.id");
    let approval = of("approval", "task_id", "'task_id', c.id, 'id', uuid_v7()");
    let due = of("due", "object", "'object', c.id");
    format!(
        "SET session_replication_role = replica;
         DROP TABLE IF EXISTS copied;
         CREATE TEMP TABLE copied AS
             SELECT nth, uuid_v7() AS id
               FROM generate_series(1 + (SELECT count(*) FROM task), {tasks}
                                    + (SELECT count(*) FROM task)) AS nth;
         {task} {inner} {pin} {approval} {due}
         SET session_replication_role = origin;
         ANALYZE; CHECKPOINT;"
    )
}
