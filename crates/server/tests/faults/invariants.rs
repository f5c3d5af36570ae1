//! What must hold for the whole database, whoever did what to it in which order. Each is a query
//! that counts the rows which break it.

use ade_testkit::{Database, Session};

/// How an id is written where the audit and the events name a task; and the leaves and events of
/// each task in the order of its versions. Transactions on one task take their numbers in the
/// order of their locks on its row.
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
          FROM audit_leaf WHERE kind = 'change' AND object LIKE 'task%';
    CREATE TEMP TABLE told AS
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
        "the leaves of a task are one chain from its creation on",
        "SELECT count(*) FROM step
          WHERE from_state IS DISTINCT FROM before OR (version = 1 AND from_state IS NOT NULL)",
    ),
    (
        "the chain ends in the state of the task",
        "SELECT count(*) FROM known t LEFT JOIN step s USING (tenant_id, object, version)
          WHERE s.to_state IS DISTINCT FROM t.state",
    ),
    (
        "there is one leaf for each version and none besides",
        "SELECT count(*) FROM known t
          WHERE t.version <> (SELECT count(*) FROM step s
                               WHERE s.tenant_id = t.tenant_id AND s.object = t.object)",
    ),
    ("a leaf is no older than the one before it", "SELECT count(*) FROM step WHERE at < earlier"),
    (
        "every version has its events, which tell what its leaf tells",
        "SELECT count(*) FROM step s
          WHERE NOT EXISTS (SELECT FROM told e
                             WHERE (e.tenant_id, e.object, e.version)
                                   = (s.tenant_id, s.object, s.version)
                               AND e.from_state IS NOT DISTINCT FROM s.from_state
                               AND e.to_state IS NOT DISTINCT FROM s.to_state)",
    ),
    (
        "no event tells of a version that has no leaf",
        "SELECT count(*) FROM told e LEFT JOIN step s USING (tenant_id, object, version)
          WHERE s.object IS NULL",
    ),
    (
        "the events of one version come of one transaction, each once",
        "SELECT count(*) FROM (
             SELECT FROM told GROUP BY tenant_id, object, version
             HAVING count(DISTINCT xid) > 1 OR count(*) > count(DISTINCT kind)) AS twice",
    ),
    (
        "whatever is approved has enough yes on exactly this digest, or two admins on it",
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
        "nobody answers what they had a part in, under any account",
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
        "a person has one answer in force per revision",
        "SELECT count(*) FROM (
             SELECT FROM yes GROUP BY tenant_id, task_id, revision, round, voter_id
             HAVING count(*) > 1) AS twice",
    ),
    (
        "nobody is asked about what is not under review",
        "SELECT count(*)
           FROM approval a JOIN task t ON (t.tenant_id, t.id) = (a.tenant_id, a.task_id)
          WHERE a.status = 'PENDING' AND t.state <> 'REVIEWING'",
    ),
    (
        "revisions are dense and the last one is the task's",
        "SELECT count(*) FROM task t
          WHERE t.revision <> (SELECT count(*) FROM task_revision r
                                WHERE (r.tenant_id, r.task_id) = (t.tenant_id, t.id))
             OR NOT EXISTS (SELECT FROM task_revision r
                             WHERE (r.tenant_id, r.task_id, r.revision, r.digest)
                                   = (t.tenant_id, t.id, t.revision, t.digest))",
    ),
    (
        "numbers are dense within a tenant",
        "SELECT count(*) FROM (
             SELECT FROM task GROUP BY tenant_id HAVING max(number) <> count(*)) AS gap",
    ),
];

/// Ends the test with every invariant that does not hold. `min` people have to agree; drafts
/// that were deleted are not looked for.
pub async fn assert_hold(database: &Database, min: u32) {
    let mut session = database.session().await;
    session.run(VIEWS).await;
    let mut broken = Vec::new();
    for (name, query) in BROKEN {
        let rows = session.number(&query.replace("{min}", &min.to_string())).await;
        if rows > 0 {
            broken.push(format!("{name}: not for {rows}"));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(count(&mut session, "step").await > 0, "nothing happened");
}

async fn count(session: &mut Session, table: &str) -> i64 {
    session.number(&format!("SELECT count(*) FROM {table}")).await
}
