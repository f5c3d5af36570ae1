//! Fills a migrated database with tasks like those of an installation of some age: most are closed,
//! and a few wait for a reviewer. Rows are written by COPY in the order of their ids, and indexes
//! other than primary keys are created afterwards. The first tenant has half of all tasks.

use std::time::Duration;

use ade_core::audit::{AuditEntry, EntryKind, What, Where, Who, Why, leaf_hash};
use ade_core::ids::{TaskId, TenantId, UserId};
use ade_core::time::Timestamp;
use anyhow::Result;
use sqlx::{Connection as _, PgConnection};
use uuid::{Builder, Uuid};

use crate::installation::run;

const PEOPLE: u64 = 200;
const RESOURCES: u64 = 2_000;
const TYPES: u64 = 20;
const BATCH: u64 = 5_000;
/// The period over which the tasks are spread.
const AGE: Duration = Duration::from_hours(60 * 24);
const MICROS: i64 = 1_000_000;

/// The big tables, which no plan may scan completely.
pub const TABLES: [&str; 7] =
    ["task", "task_revision", "task_resource", "task_tag", "approval", "vote", "audit_entry"];

#[derive(Debug, clap::Args)]
pub struct GenerateArgs {
    /// Database URL of the owner; the database must be migrated and contain no tasks
    #[arg(long)]
    url: String,
    #[arg(long)]
    tasks: u64,
    #[arg(long, default_value_t = 10)]
    tenants: u64,
}

pub async fn start(args: &GenerateArgs) -> Result<()> {
    fill(&args.url, &Shape::new(args.tasks, args.tenants.max(1))).await
}

/// The size of the data set. Everything else follows from it, so that readers know which values
/// exist.
#[derive(Debug, Default, Clone, Copy)]
pub struct Shape {
    pub tasks: u64,
    pub tenants: u64,
    /// The number of people in each tenant; at least two, because authors cannot review their own
    /// tasks.
    people: u64,
    resources: u64,
}

impl Shape {
    pub fn new(tasks: u64, tenants: u64) -> Self {
        Self { tasks, tenants, people: PEOPLE, resources: RESOURCES }
    }

    /// Returns a shape with so few people and resources that even a small number of tasks fills the
    /// first page of each, because a short page would not be comparable with a full one.
    pub fn crowded(tasks: u64, tenants: u64) -> Self {
        let (people, resources) = ((tasks / 2_500).max(2), (tasks / 100).max(1));
        Self { people, resources, ..Self::new(tasks, tenants) }
    }

    pub fn tenant(nth: u64) -> TenantId {
        TenantId::from_u128(u128::from(nth) + 0xade)
    }

    pub fn person(&self, nth: u64) -> UserId {
        UserId::from_u128(u128::from(nth % self.people) + 1)
    }

    pub fn resource(&self, nth: u64) -> String {
        format!("database:db-{:04}", mixed(nth) % self.resources)
    }

    pub fn task_type(nth: u64) -> String {
        format!("db.kind{}", mixed(nth ^ 0x51) % TYPES)
    }

    fn author(&self, nth: u64) -> UserId {
        self.person(mixed(nth ^ 0xa0))
    }

    /// Returns a reviewer other than the author.
    fn reviewer(&self, nth: u64) -> UserId {
        let after = 1 + mixed(nth ^ 0xb0) % (self.people - 1);
        self.person(mixed(nth ^ 0xa0) % self.people + after)
    }

    /// Returns the tenant of a task; every second task belongs to the first tenant.
    fn owner(&self, nth: u64) -> u64 {
        if nth.is_multiple_of(2) || self.tenants == 1 {
            0
        } else {
            1 + nth / 2 % (self.tenants - 1)
        }
    }

    pub fn task(&self, nth: u64, now: Timestamp) -> TaskId {
        TaskId::from_uuid(id(self.made_at(nth, now), nth, 0))
    }

    fn made_at(&self, nth: u64, now: Timestamp) -> Timestamp {
        let age = i128::from(AGE.as_secs()) * i128::from(MICROS);
        let since = age * i128::from(nth) / i128::from(self.tasks.max(1));
        let since = i64::try_from(since - age).unwrap_or_default();
        Timestamp::from_micros(now.micros() + since - 3_600 * MICROS)
    }
}

/// Spreads neighbouring numbers far apart, in the same way in every run.
pub fn mixed(nth: u64) -> u64 {
    let mut value = nth.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

fn id(at: Timestamp, nth: u64, kind: u16) -> Uuid {
    let mut rest = [0; 10];
    let bytes = kind.to_be_bytes().into_iter().chain(nth.to_be_bytes());
    rest.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
    let millis = u64::try_from(at.micros() / 1_000).unwrap_or_default();
    Builder::from_unix_timestamp_millis(millis, &rest).into_uuid()
}

pub async fn fill(url: &str, shape: &Shape) -> Result<()> {
    let mut owner = PgConnection::connect(url).await?;
    let micros = "SELECT (extract(epoch FROM moment()) * 1000000)::bigint";
    let now = Timestamp::from_micros(sqlx::query_scalar(micros).fetch_one(&mut owner).await?);
    let people = shape.people;
    let tenants: Vec<String> = (0..shape.tenants)
        .map(|nth| {
            let id = Shape::tenant(nth).uuid();
            format!(
                "INSERT INTO tenant (tenant_id, name) VALUES ('{id}', 'tenant {nth}');
                 INSERT INTO app_user (tenant_id, id, issuer, subject, name)
                 SELECT '{id}', ('00000000-0000-0000-0000-' || lpad(to_hex(n), 12, '0'))::uuid,
                        'local', n::text, 'Person ' || n FROM generate_series(1, {people}) AS n;"
            )
        })
        .collect();
    run(&mut owner, &tenants.join("\n")).await?;
    let partitions = "SELECT make_partitions('90 days', now() - interval '70 days')";
    run(&mut owner, partitions).await?;
    let indexes = drop_indexes(&mut owner).await?;
    run(&mut owner, "SET session_replication_role = replica").await?;
    let mut nth = 0;
    while nth < shape.tasks {
        let end = (nth + BATCH).min(shape.tasks);
        let mut rows = Rows { shape: *shape, ..Rows::default() };
        for nth in nth..end {
            rows.add(nth, now)?;
        }
        rows.copy(&mut owner).await?;
        nth = end;
    }
    for index in indexes {
        run(&mut owner, &index).await?;
    }
    run(&mut owner, "VACUUM (ANALYZE)").await?;
    run(&mut owner, "CHECKPOINT").await
}

/// Drops the indexes that no constraint needs, and returns the statements that create them again.
async fn drop_indexes(owner: &mut PgConnection) -> Result<Vec<String>> {
    let found: Vec<(String, String)> = sqlx::query_as(
        "SELECT c.oid::regclass::text, pg_get_indexdef(c.oid)
           FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
          WHERE i.indrelid::regclass::text = ANY ($1)
            AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = c.oid)",
    )
    .bind(TABLES.map(str::to_owned).to_vec())
    .fetch_all(&mut *owner)
    .await?;
    for (name, _) in &found {
        run(owner, &format!("DROP INDEX {name}")).await?;
    }
    // As PostgreSQL prints it, the index would be created on the partitioned table only.
    Ok(found.into_iter().map(|(_, made)| made.replace(" ON ONLY ", " ON ")).collect())
}

/// Lines in COPY's text format, by table.
#[derive(Debug, Default)]
struct Rows {
    shape: Shape,
    task: String,
    revision: String,
    resource: String,
    tag: String,
    approval: String,
    vote: String,
    entry: String,
}

const NONE: &str = "\\N";
const COPIES: [&str; 7] = [
    "task (tenant_id, id, number, state, since, version, revision, title, task_type, priority, \
     risk, level, digest, author_id, submitter_id, round, review_opened_at, basis, created_at, \
     updated_at, closed_at, submitted_at)",
    "task_revision (tenant_id, task_id, revision, digest, shape, task_type, risk, level, origin, \
     author_kind, author_roles, parameters, effect, preview_versions, created_at)",
    "task_resource (tenant_id, task_id, revision, resource, mode)",
    "task_tag (tenant_id, task_id, revision, tag)",
    "approval (tenant_id, task_id, revision, reviewer_id, id, status, places, requested_at, \
     due_at, score)",
    "vote (tenant_id, task_id, id, voter_id, answer, revision, digest, round, places, at, \
     effectual)",
    "audit_entry (tenant_id, at, id, format, kind, user_id, object, action, to_state, revision, \
     service, canonical, hash)",
];

/// Returns the state of a task, and the state of the request to its reviewer.
fn states(nth: u64) -> (&'static str, Option<&'static str>) {
    match mixed(nth ^ 0xc0) % 1_000 {
        0..10 => ("DRAFT", None),
        10..30 => ("REVIEWING", Some("PENDING")),
        30..35 => ("APPROVED", Some("APPROVED")),
        35..40 => ("SUBMITTED", None),
        40..120 => ("REJECTED", Some("REJECTED")),
        120..170 => ("CANCELLED", Some("SUPERSEDED")),
        170..200 => ("EXPIRED", Some("EXPIRED")),
        _ => ("COMPLETED", Some("APPROVED")),
    }
}

impl Rows {
    fn add(&mut self, nth: u64, now: Timestamp) -> Result<()> {
        let shape = self.shape;
        let made_at = shape.made_at(nth, now);
        let task = shape.task(nth, now);
        let tenant = Shape::tenant(shape.owner(nth));
        let (state, asked) = states(nth);
        self.add_task(nth, tenant, task, made_at, state);
        if let Some(status) = asked {
            self.add_approval(nth, tenant, task, made_at, status);
        }
        let doers = [("task.create", shape.author(nth)), ("task.approve", shape.reviewer(nth))];
        for (kind, (action, user)) in (10_u16..).zip(doers) {
            let at = made_at.plus(Duration::from_secs(u64::from(kind) * 60));
            self.add_entry(id(at, nth, kind), at, tenant, task, action, user)?;
        }
        Ok(())
    }

    fn add_task(&mut self, nth: u64, tenant: TenantId, id: TaskId, at: Timestamp, state: &str) {
        let (tenant, id, at) = (tenant.uuid(), id.uuid(), at.to_string());
        let author = self.shape.author(nth).uuid();
        let (kind, resource) = (Shape::task_type(nth), self.shape.resource(nth));
        let (risk, priority) = (mixed(nth ^ 0xd0) % 100, mixed(nth ^ 0xe0) % 100);
        let level = match risk {
            0..25 => "LOW",
            25..50 => "MEDIUM",
            50..75 => "HIGH",
            _ => "CRITICAL",
        };
        let is_draft = state == "DRAFT";
        let is_closed = matches!(state, "COMPLETED" | "REJECTED" | "CANCELLED" | "EXPIRED");
        let basis = if state == "APPROVED" { "{\"basis\":\"quorum\"}" } else { NONE };
        let number = nth + 1;
        let digest = format!("\\\\x{:064x}", nth + 1);
        let [submitter, opened, handed_in] = [author.to_string(), at.clone(), at.clone()]
            .map(|text| if is_draft { NONE.to_owned() } else { text });
        let closed = if is_closed { at.as_str() } else { NONE };
        push(
            &mut self.task,
            &format!(
                "{tenant}\t{id}\t{number}\t{state}\t{at}\t4\t1\tChange {nth}\t{kind}\t{priority}\t\
             {risk}\t{level}\t{digest}\t{author}\t{submitter}\t1\t{opened}\t{basis}\t{at}\t{at}\t\
             {closed}\t{handed_in}"
            ),
        );
        let effect = format!(
            "{{\"origin\":\"declared\",\"changes\":[{{\"resource\":\"{resource}\",\
             \"action\":\"add\",\"irreversible\":false,\"summary\":\"one column\"}}],\
             \"warnings\":[],\"errors\":[]}}"
        );
        push(
            &mut self.revision,
            &format!(
                "{tenant}\t{id}\t1\t{digest}\t{digest}\t{kind}\t{risk}\t{level}\tdeclared\tuser\t\
             {{author}}\t{{\"n\":{nth}}}\t{effect}\t{{}}\t{at}"
            ),
        );
        push(&mut self.resource, &format!("{tenant}\t{id}\t1\t{resource}\texclusive"));
        let tag = mixed(nth ^ 0xf0) % 100;
        push(&mut self.tag, &format!("{tenant}\t{id}\t1\ttag-{tag:02}"));
    }

    fn add_approval(
        &mut self,
        nth: u64,
        tenant: TenantId,
        task: TaskId,
        at: Timestamp,
        status: &str,
    ) {
        let reviewer = self.shape.reviewer(nth).uuid();
        // One in three is overdue, however old the task is.
        let waits = Duration::from_hours(if nth.is_multiple_of(3) { 1 } else { 24 * 100 });
        let due = at.plus(waits).to_string();
        let score = mixed(nth ^ 0xd0) % 100 * 10;
        let request = id(at, nth, 1);
        let (tenant, task) = (tenant.uuid(), task.uuid());
        push(
            &mut self.approval,
            &format!(
                "{tenant}\t{task}\t1\t{reviewer}\t{request}\t{status}\t[]\t{at}\t{due}\t{score}"
            ),
        );
        if status == "APPROVED" {
            let vote = id(at, nth, 2);
            let digest = format!("\\\\x{:064x}", nth + 1);
            push(
                &mut self.vote,
                &format!(
                    "{tenant}\t{task}\t{vote}\t{reviewer}\tapprove\t1\t{digest}\t1\t{{}}\t{at}\tt"
                ),
            );
        }
    }

    fn add_entry(
        &mut self,
        id: Uuid,
        at: Timestamp,
        tenant: TenantId,
        task: TaskId,
        action: &str,
        user: UserId,
    ) -> Result<()> {
        let what = What {
            object: task.to_string(),
            action: action.to_owned(),
            from: None,
            to: Some("DRAFT".to_owned()),
            revision: Some(1),
            digest: None,
        };
        let place = Where::service("api");
        let who = Who::User { user, credential: None };
        let why = Why::default();
        let entry = AuditEntry::new(tenant, EntryKind::Change, who, what, at, place, why);
        let canonical = entry.to_bytes()?;
        let hash = hex(leaf_hash(&canonical).bytes());
        let (tenant, user) = (tenant.uuid(), user.uuid());
        let canonical = hex(&canonical);
        push(
            &mut self.entry,
            &format!(
                "{tenant}\t{at}\t{id}\t1\tchange\t{user}\t{task}\t{action}\tDRAFT\t1\tapi\t\
             {canonical}\t{hash}"
            ),
        );
        Ok(())
    }

    async fn copy(self, owner: &mut PgConnection) -> Result<()> {
        let lines = [
            self.task,
            self.revision,
            self.resource,
            self.tag,
            self.approval,
            self.vote,
            self.entry,
        ];
        for (table, lines) in COPIES.into_iter().zip(lines) {
            let mut copy = owner.copy_in_raw(&format!("COPY {table} FROM STDIN")).await?;
            copy.send(lines.into_bytes()).await?;
            copy.finish().await?;
        }
        Ok(())
    }
}

fn push(lines: &mut String, line: &str) {
    lines.push_str(line);
    lines.push('\n');
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2 + 3);
    text.push_str("\\\\x");
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.push(DIGITS.get(usize::from(digit)).copied().map_or('0', char::from));
        }
    }
    text
}
