// As much as an installation of some age holds, straight into the record: by way of the API the
// server would take minutes to open so many reviews.

/** What belongs to a task while it is reviewed. */
const PARTS = ['task_revision', 'task_resource', 'risk_assessment', 'task_policy_pin'];

/** Rows like `row`, with other values in some columns; what is counted goes on counting. */
const copied = (table, row, columns, from) => {
  const pairs = Object.entries(columns).map(([name, value]) => `'${name}', ${value}`);
  return `INSERT INTO ${table} OVERRIDING USER VALUE
    SELECT (jsonb_populate_record(${row}, jsonb_build_object(${pairs.join(', ')}))).*
      FROM ${from};`;
};

/** Copies one task under review so many times, with all who are asked; their numbers go on after
 *  the last one. */
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

/** Copies one leaf of the audit so many times, a second apart, back into the past. */
export async function copyLeaf({ record }, count) {
  await record(`
    SELECT make_partitions('90 days', now() - make_interval(days => 1, secs => ${count}));
    SET session_replication_role = replica;
    ${copied(
      'audit_leaf',
      'model',
      { id: 'uuid_v7()', at: 'model.at - make_interval(secs => nth)' },
      `audit_leaf model, generate_series(1, ${count}) AS nth
        WHERE model.id = (SELECT id FROM audit_leaf ORDER BY at DESC LIMIT 1)`,
    )}
    ANALYZE;`);
}

/** Copies one agent so many times, as `name` and a number. */
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

/** So many of its resources are asked for together: most changes touch some. */
const AT_ONCE = 4;

/** Takes locks for each of them in turn, `shard:0` and on: the queue of locks is not the record,
 *  so they come by way of the API. All have as many, since one agent may not have all. */
export async function takeLocks(agents, count) {
  const line = Array.from({ length: count / AT_ONCE }, (_, nth) => nth * AT_ONCE);
  await Promise.all(
    agents.map(async ({ call }, at) => {
      for (const from of line.filter((_, nth) => nth % agents.length === at)) {
        const ids = Array.from({ length: AT_ONCE }, (_, nth) => `${from + nth}`);
        const resources = ids.map((id) => ({ type: 'shard', id }));
        await call('POST', '/v1/locks/acquire', { resources, ttl: '300s' });
      }
    }),
  );
}
