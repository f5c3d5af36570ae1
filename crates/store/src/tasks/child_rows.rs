//! The rows around a task that a decision writes, as parts of one statement. Each part takes its
//! rows from lists and keeps those whose task passed the guard: if none passed, nothing is written.

use uuid::Uuid;

use crate::after_reviews;
use crate::error::StoreError;
use crate::statement::{Statement, columns};
use crate::timestamp::PgTimestamp;

columns! { Revisions of Contents {
    id: Uuid => "uuid",
    revision: i32 => "int4",
    digest: Vec<u8> => "bytea",
    shape: Vec<u8> => "bytea",
    task_type: String => "text",
    risk: i16 => "int2",
    level: String => "text",
    origin: String => "text",
    author_kind: String => "text",
    author_roles: String => "text",
    parameters: String => "text",
    effect: String => "text",
    versions: String => "text",
    editor: Option<Uuid> => "uuid",
    factors: String => "text",
    assessed_at: PgTimestamp => "timestamptz",
    assessed_by: String => "text",
}}
columns! { Resources of Named {
    id: Uuid => "uuid",
    revision: i32 => "int4",
    resource: String => "text",
    mode: Option<String> => "text",
}}
columns! { Tags of Label {
    id: Uuid => "uuid",
    revision: i32 => "int4",
    tag: String => "text",
}}
columns! { Pins of Pin {
    id: Uuid => "uuid",
    policy: Uuid => "uuid",
    version: i32 => "int4",
    nth: i32 => "int4",
}}
columns! { Asked of Ask {
    id: Uuid => "uuid",
    revision: i32 => "int4",
    reviewer: Uuid => "uuid",
    status: String => "text",
    places: String => "text",
    requested_at: PgTimestamp => "timestamptz",
    due_at: PgTimestamp => "timestamptz",
    risk: i32 => "int4",
}}
columns! { Closed of Close {
    id: Uuid => "uuid",
    revision: i32 => "int4",
    reviewer: Uuid => "uuid",
    status: String => "text",
}}
columns! { Votes of Vote {
    id: Uuid => "uuid",
    voter: Uuid => "uuid",
    answer: String => "text",
    revision: i32 => "int4",
    digest: Vec<u8> => "bytea",
    round: i32 => "int4",
    places: String => "text",
    reason: Option<String> => "text",
    at: PgTimestamp => "timestamptz",
    effectual: bool => "bool",
    carried_from: Option<i32> => "int4",
    marks: String => "text",
}}
columns! { Withdrawals of Withdrawal {
    id: Uuid => "uuid",
    nth: i64 => "int8",
}}
columns! { Ids of Id {
    id: Uuid => "uuid",
}}
columns! { Overrides of Override {
    id: Uuid => "uuid",
    revision: i32 => "int4",
    digest: Vec<u8> => "bytea",
    asked_by: Uuid => "uuid",
    ticket: String => "text",
    reason: String => "text",
    confirm_before: PgTimestamp => "timestamptz",
}}
columns! { Confirmations of Confirm {
    id: Uuid => "uuid",
    confirmed_by: Uuid => "uuid",
    valid_until: PgTimestamp => "timestamptz",
}}
columns! { Starts of Start {
    id: Uuid => "uuid",
    execution: Uuid => "uuid",
    attempt: i32 => "int4",
    revision: i32 => "int4",
    holder: String => "text",
    lease: Uuid => "uuid",
    token: i64 => "int8",
    started_at: PgTimestamp => "timestamptz",
    begun_at: Option<PgTimestamp> => "timestamptz",
    abort_requested: bool => "bool",
}}
columns! { Marks of Mark {
    id: Uuid => "uuid",
    lease: Uuid => "uuid",
    begun_at: Option<PgTimestamp> => "timestamptz",
    abort_requested: bool => "bool",
}}
columns! { Reports of LateReport {
    id: Uuid => "uuid",
    said: &'static str => "text",
}}
columns! { Comments of Comment {
    id: Uuid => "uuid",
    actor: String => "text",
    body: String => "text",
}}
columns! { Notices of Notice {
    id: Uuid => "uuid",
    kind: &'static str => "text",
    person: Option<Uuid> => "uuid",
    role: Option<String> => "text",
}}
columns! { Reviews of Review {
    id: Uuid => "uuid",
    due_at: PgTimestamp => "timestamptz",
}}

/// Everything of one statement except the guard, the audit entries, the jobs and the responses.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub revisions: Revisions,
    pub resources: Resources,
    pub tags: Tags,
    /// Tasks whose pins are replaced by those in `pins`.
    pub pinned: Ids,
    pub pins: Pins,
    pub asked: Asked,
    /// Requests of which only the status has changed.
    pub closed: Closed,
    pub votes: Votes,
    pub withdrawals: Withdrawals,
    pub dropped: Ids,
    pub overrides: Overrides,
    pub confirmations: Confirmations,
    pub starts: Starts,
    pub marks: Marks,
    pub ends: Ids,
    pub reports: Reports,
    pub comments: Comments,
    pub notices: Notices,
    pub reviews: Reviews,
}

/// Parts that must have written as many rows as they were given, by name.
pub(super) type Expected = Vec<(&'static str, usize)>;

impl Parts {
    /// Adds all parts to the statement; $1 is the tenant and $2 the time of the transaction.
    pub fn bind(self, s: &mut Statement) -> Result<Expected, StoreError> {
        let mut expected = Vec::new();
        revisions(s, self.revisions, self.resources, self.tags)?;
        pins(s, self.pinned, self.pins)?;
        let has_reviews = self.reviews.count() > 0;
        let inserts = [
            ("asked", (self.asked.count() > 0).then(|| self.asked.bind(s)), ASKED),
            ("voted", (self.votes.count() > 0).then(|| self.votes.bind(s)), VOTED),
            ("commented", (self.comments.count() > 0).then(|| self.comments.bind(s)), COMMENTED),
            ("notified", (self.notices.count() > 0).then(|| self.notices.bind(s)), NOTIFIED),
            ("owed", has_reviews.then(|| self.reviews.bind(s)), OWED),
            ("started", (self.starts.count() > 0).then(|| self.starts.bind(s)), STARTED),
        ];
        for (name, given, text) in inserts {
            if let Some(given) = given.transpose()? {
                s.part(name, &text.replace("{given}", &given));
            }
        }
        if has_reviews {
            s.part("watched", &after_reviews::watched());
        }
        overrides(s, self.dropped, self.overrides)?;
        let counted = [
            ("closed", self.closed.count(), CLOSED),
            ("withdrawn", self.withdrawals.count(), WITHDRAWN),
            ("confirmed", self.confirmations.count(), CONFIRMED),
            ("marked", self.marks.count(), MARKED),
            ("ended", self.ends.count(), ENDED),
            ("reported", self.reports.count(), REPORTED),
        ];
        let mut given = [
            (self.closed.count() > 0).then(|| self.closed.bind(s)).transpose()?,
            (self.withdrawals.count() > 0).then(|| self.withdrawals.bind(s)).transpose()?,
            (self.confirmations.count() > 0).then(|| self.confirmations.bind(s)).transpose()?,
            (self.marks.count() > 0).then(|| self.marks.bind(s)).transpose()?,
            (self.ends.count() > 0).then(|| self.ends.bind(s)).transpose()?,
            (self.reports.count() > 0).then(|| self.reports.bind(s)).transpose()?,
        ]
        .into_iter();
        for (name, count, text) in counted {
            if let Some(given) = given.next().flatten() {
                s.part(name, &text.replace("{given}", &given));
                expected.push((name, count));
            }
        }
        Ok(expected)
    }
}

const ASKED: &str = "
    INSERT INTO approval (tenant_id, task_id, revision, reviewer_id, status, places,
        requested_at, due_at, score)
    SELECT $1, given.id, given.revision, given.reviewer, given.status, given.places::json,
           given.requested_at, given.due_at, queue_score(given.risk, t.priority)
      FROM {given} JOIN guard USING (id)
      JOIN task t ON t.tenant_id = $1 AND t.id = given.id
     ORDER BY given.place
    ON CONFLICT ON CONSTRAINT approval_pkey DO UPDATE
       SET status = excluded.status, places = excluded.places, due_at = excluded.due_at,
           score = excluded.score";
const CLOSED: &str = "
    UPDATE approval a SET status = given.status
      FROM {given} JOIN guard USING (id)
     WHERE a.tenant_id = $1 AND a.task_id = given.id AND a.revision = given.revision
       AND a.reviewer_id = given.reviewer
    RETURNING a.task_id";
const VOTED: &str = "
    INSERT INTO vote (tenant_id, task_id, voter_id, answer, revision, digest, round, places,
        reason, at, effectual, carried_from, marks)
    SELECT $1, id, given.voter, given.answer, given.revision, given.digest, given.round,
           given.places::uuid[], given.reason, given.at, given.effectual, given.carried_from,
           given.marks::text[]
      FROM {given} JOIN guard USING (id) ORDER BY given.place";
/// Notifies each person once per task and kind, whatever roles they hold.
const NOTIFIED: &str = "
    INSERT INTO notification (tenant_id, user_id, task_id, kind, at)
    SELECT DISTINCT $1::uuid, u.id, given.id, given.kind, $2::timestamptz
      FROM {given} JOIN guard USING (id)
      LEFT JOIN LATERAL reached_by_role(given.role, $2::timestamptz) AS r (user_id)
        ON given.role IS NOT NULL
      JOIN app_user u
        ON u.tenant_id = $1 AND u.id = coalesce(given.person, r.user_id) AND u.active";
const COMMENTED: &str = "
    INSERT INTO comment (tenant_id, task_id, actor, body, at)
    SELECT $1, id, given.actor::json, given.body, $2
      FROM {given} JOIN guard USING (id) ORDER BY given.place";
const OWED: &str = "
    INSERT INTO after_review (tenant_id, task_id, opened_at, due_at)
    SELECT $1, id, $2, given.due_at FROM {given} JOIN guard USING (id)
    RETURNING id, due_at";
const STARTED: &str = "
    INSERT INTO execution (tenant_id, task_id, id, attempt, revision, holder, lease_id, token,
        started_at, begun_at, abort_requested)
    SELECT $1, id, given.execution, given.attempt, given.revision, given.holder::json,
           given.lease, given.token, given.started_at, given.begun_at, given.abort_requested
      FROM {given} JOIN guard USING (id)";
/// Marks votes as withdrawn. The row of the task is locked, so the votes are in the order in which
/// they were loaded.
const WITHDRAWN: &str = "
    INSERT INTO vote_withdrawal (tenant_id, task_id, vote_seq, at)
    SELECT $1, id, taken.seq, $2
      FROM {given} JOIN guard USING (id)
     CROSS JOIN LATERAL (SELECT v.seq FROM vote v
                          WHERE v.tenant_id = $1 AND v.task_id = given.id
                          ORDER BY v.seq OFFSET given.nth LIMIT 1) AS taken
    RETURNING task_id";
const CONFIRMED: &str = "
    UPDATE override o SET confirmed_by = given.confirmed_by, valid_until = given.valid_until
      FROM {given} JOIN guard USING (id)
     WHERE o.tenant_id = $1 AND o.task_id = given.id AND o.dropped_at IS NULL
       AND o.confirmed_by IS NULL
    RETURNING o.task_id";
const MARKED: &str = "
    UPDATE execution e SET begun_at = given.begun_at, abort_requested = given.abort_requested
      FROM {given} JOIN guard USING (id)
     WHERE e.tenant_id = $1 AND e.task_id = given.id AND e.lease_id = given.lease
       AND e.ended_at IS NULL
    RETURNING e.task_id";
const ENDED: &str = "
    UPDATE execution e SET ended_at = $2
      FROM {given} JOIN guard USING (id)
     WHERE e.tenant_id = $1 AND e.task_id = given.id AND e.ended_at IS NULL
    RETURNING e.task_id";
const REPORTED: &str = "
    UPDATE execution e SET late_report = given.said
      FROM {given} JOIN guard USING (id)
     WHERE e.tenant_id = $1 AND e.task_id = given.id AND e.ended_at IS NULL
    RETURNING e.task_id";

fn revisions(
    s: &mut Statement,
    revisions: Revisions,
    resources: Resources,
    tags: Tags,
) -> Result<(), StoreError> {
    if revisions.count() == 0 {
        return Ok(());
    }
    let given = revisions.bind(s)?;
    s.part("contents", &format!("SELECT * FROM {given} JOIN guard USING (id)"));
    s.part(
        "revised",
        "INSERT INTO task_revision (tenant_id, task_id, revision, digest, shape, task_type, risk,
             level, origin, author_kind, author_roles, parameters, effect, preview_versions,
             editor_id, created_at)
         SELECT $1, id, revision, digest, shape, task_type, risk, level, origin, author_kind,
                array(SELECT json_array_elements_text(author_roles::json)), parameters::json,
                effect::json, versions::json, editor, $2
           FROM contents",
    );
    s.part(
        "assessed",
        "INSERT INTO risk_assessment (tenant_id, task_id, revision, score, level, factors,
             assessed_at, assessed_by)
         SELECT $1, id, revision, risk, level, factors::json, assessed_at, assessed_by
           FROM contents",
    );
    if resources.count() > 0 {
        let given = resources.bind(s)?;
        let insert = "INSERT INTO task_resource (tenant_id, task_id, revision, resource, mode)
             SELECT $1, id, given.revision, given.resource, given.mode FROM ";
        s.part("named", &format!("{insert}{given} JOIN guard USING (id)"));
    }
    if tags.count() > 0 {
        let given = tags.bind(s)?;
        let insert = "INSERT INTO task_tag (tenant_id, task_id, revision, tag)
             SELECT $1, id, given.revision, given.tag FROM ";
        s.part("tagged", &format!("{insert}{given} JOIN guard USING (id)"));
    }
    Ok(())
}

/// Replaces pins. A row that a statement deletes blocks its inserts, so rows that stay are updated
/// and only the others are deleted.
fn pins(s: &mut Statement, pinned: Ids, pins: Pins) -> Result<(), StoreError> {
    if pinned.count() == 0 {
        return Ok(());
    }
    let tasks = pinned.bind(s)?;
    let has_pins = pins.count() > 0;
    let given = pins.bind(s)?;
    s.part("pins", &format!("SELECT * FROM {given} JOIN guard USING (id)"));
    s.part(
        "unpinned",
        &format!(
            "DELETE FROM task_policy_pin old USING {tasks} JOIN guard USING (id)
              WHERE old.tenant_id = $1 AND old.task_id = given.id
                AND NOT EXISTS (SELECT FROM pins
                                 WHERE (pins.id, pins.policy) = (old.task_id, old.policy_id))"
        ),
    );
    if has_pins {
        s.part(
            "pinned",
            "INSERT INTO task_policy_pin (tenant_id, task_id, policy_id, version, place)
             SELECT $1, id, policy, version, nth FROM pins
             ON CONFLICT ON CONSTRAINT task_policy_pin_pkey DO UPDATE
                SET version = excluded.version, place = excluded.place",
        );
    }
    Ok(())
}

/// Replaces overrides. There is one open override per task: the old one is deleted before the new
/// one is written. The count makes the insert wait for the deletion.
fn overrides(s: &mut Statement, dropped: Ids, asked: Overrides) -> Result<(), StoreError> {
    let drops = dropped.count() > 0;
    if drops {
        let given = dropped.bind(s)?;
        s.part(
            "dropped",
            &format!(
                "UPDATE override o SET dropped_at = $2 FROM {given} JOIN guard USING (id)
                  WHERE o.tenant_id = $1 AND o.task_id = given.id AND o.dropped_at IS NULL
                 RETURNING o.task_id"
            ),
        );
    }
    if asked.count() > 0 {
        let given = asked.bind(s)?;
        let wait = if drops { "(SELECT count(*) FROM dropped) >= 0" } else { "true" };
        s.part(
            "overridden",
            &format!(
                "INSERT INTO override (tenant_id, task_id, revision, digest, asked_by, ticket,
                     reason, asked_at, confirm_before)
                 SELECT $1, id, given.revision, given.digest, given.asked_by, given.ticket,
                        given.reason, $2, given.confirm_before
                   FROM {given} JOIN guard USING (id) WHERE {wait}"
            ),
        );
    }
    Ok(())
}
