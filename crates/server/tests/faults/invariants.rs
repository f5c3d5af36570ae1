//! Invariants of the whole database that hold after any sequence of calls. Each invariant is a
//! query that counts the rows that violate it.

use ade_testkit::{Database, DatabaseSession};

/// A function that spells a task id as audit entries and events do, and tables of the audit entries
/// and events of each task in the order of its versions. Transactions on one task get their numbers
/// in the order in which they lock its row.
const VIEWS: &str = "
    CREATE FUNCTION pg_temp.spelt(id uuid) RETURNS text LANGUAGE sql IMMUTABLE AS $$
        SELECT 'task_' || string_agg(
                   substr('0123456789abcdefghjkmnpqrstvwxyz',
                          1 + substring(bits FROM 1 + 5 * n FOR 5)::bit(5)::int, 1), '' ORDER BY n)
          FROM (SELECT B'00' || ('x' || replace(id::text, '-', ''))::bit(128)) AS b (bits),
               generate_series(0, 25) AS n $$;
    CREATE TEMP TABLE known AS SELECT t.*, pg_temp.spelt(t.id) AS object FROM task t;
    CREATE TEMP TABLE step AS
        SELECT tenant_id, object, from_state, to_state, at, digest, revision,
               row_number() OVER (PARTITION BY tenant_id, object ORDER BY xid, id) AS version,
               lag(to_state) OVER (PARTITION BY tenant_id, object ORDER BY xid, id) AS before,
               lag(at) OVER (PARTITION BY tenant_id, object ORDER BY xid, id) AS earlier
          FROM audit_entry WHERE kind = 'change' AND object LIKE 'task%';
    CREATE TEMP TABLE event AS
        SELECT tenant_id, object, version, kind, payload->>'from' AS from_state,
               payload->>'to' AS to_state, xid
          FROM outbox WHERE object LIKE 'task%';
    CREATE TEMP TABLE yes AS
        SELECT v.tenant_id, v.task_id, v.revision, v.digest, v.round, v.voter_id
          FROM vote v
         WHERE v.answer = 'approve' AND v.effectual
           AND NOT EXISTS (SELECT FROM vote_withdrawal w
                            WHERE w.tenant_id = v.tenant_id AND w.task_id = v.task_id
                              AND w.vote_seq = v.seq)";

const BROKEN: &[(&str, &str)] = &[
    (
        "the audit entries of a task form one chain from its creation on",
        "SELECT count(*) FROM step
          WHERE from_state IS DISTINCT FROM before OR (version = 1 AND from_state IS NOT NULL)",
    ),
    (
        "the chain ends in the state of the task",
        "SELECT count(*) FROM known t LEFT JOIN step s USING (tenant_id, object, version)
          WHERE s.to_state IS DISTINCT FROM t.state",
    ),
    (
        "there is exactly one audit entry for each version",
        "SELECT count(*) FROM known t
          WHERE t.version <> (SELECT count(*) FROM step s
                               WHERE s.tenant_id = t.tenant_id AND s.object = t.object)",
    ),
    (
        "an audit entry is no older than the one before it",
        "SELECT count(*) FROM step WHERE at < earlier",
    ),
    (
        "every version has its events, which agree with its audit entry",
        "SELECT count(*) FROM step s
          WHERE NOT EXISTS (SELECT FROM event e
                             WHERE (e.tenant_id, e.object, e.version)
                                   = (s.tenant_id, s.object, s.version)
                               AND e.from_state IS NOT DISTINCT FROM s.from_state
                               AND e.to_state IS NOT DISTINCT FROM s.to_state)",
    ),
    (
        "every event has a version with an audit entry",
        "SELECT count(*) FROM event e LEFT JOIN step s USING (tenant_id, object, version)
          WHERE s.object IS NULL",
    ),
    (
        "the events of one version come from one transaction, each once",
        "SELECT count(*) FROM (
             SELECT FROM event GROUP BY tenant_id, object, version
             HAVING count(DISTINCT xid) > 1 OR count(*) > count(DISTINCT kind)) AS twice",
    ),
    (
        "an approved task has enough approvals of exactly its digest, or an override by two admins",
        "SELECT count(*) FROM known t
          WHERE t.state = 'APPROVED' AND NOT (
                t.basis->>'basis' = 'quorum' AND {min} <= (
                SELECT count(DISTINCT y.voter_id) FROM yes y
                 WHERE (y.tenant_id, y.task_id, y.revision, y.digest, y.round)
                       = (t.tenant_id, t.id, t.revision, t.digest, t.round))
             OR t.basis->>'basis' = 'override' AND EXISTS (
                SELECT FROM override o
                 WHERE (o.tenant_id, o.task_id, o.revision, o.digest)
                       = (t.tenant_id, t.id, t.revision, t.digest)
                   AND o.dropped_at IS NULL AND o.confirmed_by <> o.asked_by))",
    ),
    (
        "no person votes on a task that they took part in, under any account",
        "WITH RECURSIVE same (tenant_id, one, other) AS (
             SELECT tenant_id, id, id FROM app_user
             UNION
             SELECT s.tenant_id, s.one, CASE s.other WHEN a.user_id THEN a.alias_id ELSE a.user_id
                    END
               FROM same s JOIN user_alias a
                 ON a.tenant_id = s.tenant_id AND s.other IN (a.user_id, a.alias_id))
         SELECT count(*) FROM vote v JOIN task t ON (t.tenant_id, t.id) = (v.tenant_id, v.task_id)
           JOIN same s ON (s.tenant_id, s.one) = (v.tenant_id, v.voter_id)
          WHERE s.other IN (t.author_id, t.submitter_id) OR s.other = ANY (t.editors)",
    ),
    (
        "a person has one effective vote per revision",
        "SELECT count(*) FROM (
             SELECT FROM yes GROUP BY tenant_id, task_id, revision, round, voter_id
             HAVING count(*) > 1) AS twice",
    ),
    (
        "a pending approval belongs to a task under review",
        "SELECT count(*)
           FROM approval a JOIN task t ON (t.tenant_id, t.id) = (a.tenant_id, a.task_id)
          WHERE a.status = 'PENDING' AND t.state <> 'REVIEWING'",
    ),
    (
        "revisions have no gaps and the last one is the task's",
        "SELECT count(*) FROM task t
          WHERE t.revision <> (SELECT count(*) FROM task_revision r
                                WHERE (r.tenant_id, r.task_id) = (t.tenant_id, t.id))
             OR NOT EXISTS (SELECT FROM task_revision r
                             WHERE (r.tenant_id, r.task_id, r.revision, r.digest)
                                   = (t.tenant_id, t.id, t.revision, t.digest))",
    ),
    (
        "task numbers have no gaps within a tenant",
        "SELECT count(*) FROM (
             SELECT FROM task GROUP BY tenant_id HAVING max(number) <> count(*)) AS gap",
    ),
];

/// Panics with every invariant that does not hold. `min` is the number of approvals that a task
/// needs. Deleted drafts are not checked.
pub async fn assert_hold(database: &Database, min: u32) {
    let mut session = database.session().await;
    session.run(VIEWS).await;
    let mut broken = Vec::new();
    for (name, query) in BROKEN {
        let rows = session.number(&query.replace("{min}", &min.to_string())).await;
        if rows > 0 {
            broken.push(format!("{name}: violated by {rows} rows"));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(count(&mut session, "step").await > 0, "nothing happened");
}

async fn count(session: &mut DatabaseSession, table: &str) -> i64 {
    session.number(&format!("SELECT count(*) FROM {table}")).await
}
