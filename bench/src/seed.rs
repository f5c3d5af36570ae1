//! The data of a scenario: a tenant with people, five policies, and the requested number of tasks
//! under review. The first task is created through the API; the others are copies of it.

use ade_core::actor::Actor;
use ade_core::ids::{ApprovalId, PolicyId, TaskId, TenantId, UserId};
use ade_core::policy::{Document, Policy};
use ade_core::time::Timestamp;
use ade_engine::admin::bootstrap;
use ade_engine::{Pool, PoolClass, PoolSettings};
use ade_store::{TenantLock, Tx, audit, policies};
use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::client::{Client, request};
use crate::installation::{Installation, Server, run};

const SCOPES: [&str; 6] = ["read", "propose", "execute", "decide", "operate", "administer"];
const WAIT: &str = "30s";
/// The headers that a browser sends with a change from a page of the server itself.
const OWN_PAGE: &str = "sec-fetch-site: same-origin\r\nx-ade-request: 1\r\n";

/// Three of these policies apply to the tasks of the bench; each requires one reviewer.
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
    /// The token of an admin.
    pub admin: String,
    pub reviewers: Vec<Person>,
    /// The task that all others are copies of.
    pub task: Value,
}

/// A vote that can be given once.
#[derive(Debug, Clone, Copy)]
pub struct Ballot {
    pub task: Uuid,
    pub approval: ApprovalId,
    /// The index of the reviewer.
    pub reviewer: usize,
}

impl Seed {
    pub async fn plant(at: &Installation) -> Result<Self> {
        let server = Server::start(at, at.postgres.port(), true).await?;
        let owner = at.postgres.url(crate::installation::DATABASE);
        let way_in = bootstrap::bootstrap(&owner, &Installation::pepper()?, "bench").await?;
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

    /// Creates approved tasks, each with its own resource, in the order in which they are claimed.
    pub async fn approved(&self, owner: &mut PgConnection, tasks: u32) -> Result<Vec<Uuid>> {
        let (tenant, template) = (self.tenant.uuid(), self.template()?);
        run(owner, &copies(tenant, template, tasks, Copied::Approved)).await?;
        let query = sqlx::query_scalar("SELECT id FROM copied ORDER BY id");
        Ok(query.fetch_all(owner).await?)
    }

    fn template(&self) -> Result<Uuid> {
        Ok(text(&self.task, "id")?.parse::<TaskId>()?.uuid())
    }

    /// Creates more tasks like the first.
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
                bail!("a task without an approval request");
            };
            let voter = UserId::from_uuid(*voter);
            let reviewer = self.reviewers.iter().position(|person| person.id == voter);
            let reviewer = reviewer.context("the request is for another reviewer")?;
            let approval = ApprovalId::from_uuid(*approval);
            ballots.push(Ballot { task: *task, approval, reviewer });
        }
        Ok(ballots)
    }

    /// Builds the request of a reviewer that approves.
    pub fn vote(&self, address: &str, ballot: &Ballot) -> Vec<u8> {
        let body =
            json!({ "revision": self.task.get("revision"), "digest": self.task.get("digest") });
        let path = format!("/v1/tasks/{}/approve", TaskId::from_uuid(ballot.task));
        let token = self.reviewers.get(ballot.reviewer).map_or("", |person| &person.token);
        request(address, "POST", &path, token, &body.to_string(), "")
    }
}

async fn person(client: &mut Client, admin: &str, name: &str, role: &str) -> Result<Person> {
    let asked = json!({ "name": name, "roles": [role] });
    let user = client.ask("POST", "/v1/users", admin, Some(&asked), "").await?;
    let id = text(&user, "id")?;
    let path = format!("/v1/users/{id}/invitations");
    let invitation = client.ask("POST", &path, admin, None, "").await?;
    let body = json!({ "invitation": text(&invitation, "invitation")? }).to_string();
    let path = "/v1/invitations/accept";
    let request = request(client.address(), "POST", path, "", &body, OWN_PAGE);
    let accepted = client.send(&request).await?.succeeded("POST", path)?;
    let session = accepted.cookie.context("no session")?;
    let headers = format!("{OWN_PAGE}cookie: {session}\r\n");
    let asked = json!({ "scopes": SCOPES });
    let token = client.ask("POST", "/v1/tokens", "", Some(&asked), &headers).await?;
    Ok(Person { id: id.parse()?, token: text(&token, "token")? })
}

async fn publish(
    at: &Installation,
    tenant: TenantId,
    proposer: UserId,
    confirmer: UserId,
) -> Result<()> {
    let pool = Pool::new(&PoolSettings::new(&at.app_url), PoolClass::Reserved)?;
    let mut tx = Tx::begin(&pool, tenant, Actor::user(proposer), TenantLock::Exclusive).await?;
    let now = tx.now();
    for text in POLICIES {
        let document = Document::parse_yaml(text)?;
        let id = PolicyId::from_uuid(Uuid::now_v7());
        let policy = Policy { id, version: 1, document };
        policies::insert_published(&mut tx, &policy, proposer, Some(confirmer)).await?;
    }
    audit::append(&mut tx, &[audit_entry(tenant, proposer, now)]).await?;
    tx.commit().await?;
    pool.close().await;
    Ok(())
}

fn audit_entry(tenant: TenantId, user: UserId, now: Timestamp) -> ade_core::audit::AuditEntry {
    use ade_core::audit::{AuditEntry, EntryKind, What, Where, Who, Why};
    let what = What {
        object: tenant.to_string(),
        action: "policy.publish".to_owned(),
        from: None,
        to: None,
        revision: None,
        digest: None,
    };
    let place = Where::service("bench");
    let who = Who::User { user, credential: None };
    AuditEntry::new(tenant, EntryKind::Change, who, what, now, place, Why::default())
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
        bail!("no approval was requested: {task}");
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

/// The state of the first task when it is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copied {
    /// Under review. All copies touch the same resource, because no lock is requested before the
    /// approval.
    Reviewed,
    Approved,
}

/// Builds the statement that copies the rows of the first task under new ids. The copies satisfy
/// the foreign keys by construction.
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
    let due = of("scheduled_job", "object", "'object', c.id");
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
