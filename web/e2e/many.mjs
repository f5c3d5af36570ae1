// Fills the database directly with the data of a large installation: through the API the server
// would take minutes to open so many reviews.

/** Tables with rows of a task under review. */
const PARTS = ['task_revision', 'task_resource', 'risk_assessment', 'task_policy_pin'];

/** Copies rows with other values in some columns; identity columns get new values. */
const copied = (table, row, columns, from) => {
  const pairs = Object.entries(columns).map(([name, value]) => `'${name}', ${value}`);
  return `INSERT INTO ${table} OVERRIDING USER VALUE
    SELECT (jsonb_populate_record(${row}, jsonb_build_object(${pairs.join(', ')}))).*
      FROM ${from};`;
};

/** Copies one task under review with its reviewers `count` times; task numbers continue after the
 *  last one. */
export async function copyTask({ record }, number, count) {
  const ofTask = 'twin, task model';
  const part = (table) => `${ofTask} JOIN ${table} p ON p.task_id = model.id`;
  const only = `WHERE model.number = ${number}`;
  const task = { id: 'twin.id', number: 'twin.number', title: `model.title || ' ' || twin.nth` };
  const asked = { task_id: 'twin.id', id: 'uuid_v7()' };
  await record(`
    SET session_replication_role = replica;
    CREATE TEMP TABLE twin AS
      SELECT nth, uuid_v7() AS id, nth + (SELECT max(number) FROM task) AS number
        FROM generate_series(1, ${count}) AS nth;
    ${copied('task', 'model', task, `${ofTask} ${only}`)}
    ${PARTS.map((table) =>
      copied(table, 'p', { task_id: 'twin.id' }, `${part(table)} ${only}`),
    ).join('\n')}
    ${copied('approval', 'p', asked, `${part('approval')} ${only}`)}
    UPDATE task_number SET last = (SELECT max(number) FROM task);
    ANALYZE;`);
}

/** Copies one audit entry `count` times, one second apart, into the past. The time is part of the
 *  bytes that the hash of an entry covers. */
export async function copyAuditEntry({ record }, count) {
  const when = `to_char(copy.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')`;
  const text = `convert_from(model.canonical, 'UTF8')`;
  const dated = `regexp_replace(${text}, '"when":"[^"]{19}', '"when":"' || ${when})`;
  await record(`
    SELECT make_partitions('90 days', now() - make_interval(days => 1, secs => ${count}));
    SET session_replication_role = replica;
    ${copied(
      'audit_entry',
      'model',
      {
        id: 'uuid_v7()',
        at: 'copy.at',
        canonical: 'dated.canonical',
        hash: `sha256('\\x00' || dated.canonical)`,
      },
      `audit_entry model, generate_series(1, ${count}) AS nth,
        LATERAL (SELECT model.at - make_interval(secs => nth) AS at) AS copy,
        LATERAL (SELECT convert_to(${dated}, 'UTF8') AS canonical) AS dated
        WHERE model.id = (SELECT id FROM audit_entry ORDER BY at DESC LIMIT 1)`,
    )}
    ANALYZE;`);
}

/** Copies one agent `count` times, named `name` and a number. */
export async function copyAgent({ record }, name, count) {
  const twin = { id: 'uuid_v7()', name: `'${name} ' || nth` };
  await record(`
    SET session_replication_role = replica;
    ${copied(
      'agent',
      'model',
      twin,
      `agent model, generate_series(1, ${count}) AS nth
      WHERE model.name = '${name}'`,
    )}
    ANALYZE;`);
}

/** Number of resources per lock request. */
const AT_ONCE = 4;

/** Takes locks on `shard:0`, `shard:1` and so on, for each agent in turn, through the API because
 *  the lock queue is not in the database. Every agent holds the same number, below its limit. */
export async function takeLocks(agents, count) {
  const line = Array.from({ length: count / AT_ONCE }, (_, nth) => nth * AT_ONCE);
  await Promise.all(
    agents.map(async ({ call }, at) => {
      for (const from of line.filter((_, nth) => nth % agents.length === at)) {
        const ids = Array.from({ length: AT_ONCE }, (_, nth) => `${from + nth}`);
        const resources = ids.map((id) => `shard:${id}`);
        await call('POST', '/v1/locks/acquire', { resources, ttl_seconds: 300 });
      }
    }),
  );
}
