//! Checks every table in the PostgreSQL catalogue: a table that a later migration adds without
//! tenant isolation is reported by name.

use sqlx::PgConnection;

use crate::test_database::{TestDatabase, run};

/// Tables of the installation, not of a tenant. The first belongs to the migrator.
const NOT_OF_A_TENANT: &[&str] =
    &["_sqlx_migrations", "device_login", "installation_freeze", "sign_in", "worker_lease"];
/// Tables that are read before the tenant is known, or by workers that serve all tenants.
const ACROSS_TENANTS: &[&str] = &[
    "app_user_by_subject",
    "group_role_by_group",
    "invitation_key_id_names_one_tenant",
    "outbox_to_relay",
    "scheduled_job_next",
    "scheduled_job_of_tenant",
    "token_key_id_names_one_tenant",
    "webhook_circuit_open",
];

#[derive(sqlx::FromRow)]
struct Table {
    name: String,
    is_partition: bool,
    is_forced: bool,
    policies: Vec<String>,
    key_leads_with: Option<String>,
}

async fn tables(connection: &mut PgConnection) -> Vec<Table> {
    sqlx::query_as(
        "SELECT c.relname::text AS name, c.relispartition AS is_partition,
                c.relrowsecurity AND c.relforcerowsecurity AS is_forced,
                array(SELECT p.qual FROM pg_policies p
                       WHERE p.tablename = c.relname AND p.policyname = 'own_tenant'
                         AND p.qual = p.with_check AND p.roles = '{public}') AS policies,
                (SELECT a.attname::text FROM pg_index i
                   JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
                  WHERE i.indrelid = c.oid AND i.indisprimary) AS key_leads_with
           FROM pg_class c
          WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
          ORDER BY 1",
    )
    .fetch_all(connection)
    .await
    .unwrap()
}

async fn faults(connection: &mut PgConnection) -> Vec<String> {
    let mut faults = Vec::new();
    for table in tables(connection).await {
        let name = &table.name;
        if name == "_sqlx_migrations" {
            continue;
        }
        if !table.is_forced {
            faults.push(format!("{name}: row security is not forced"));
        }
        if NOT_OF_A_TENANT.contains(&name.as_str()) {
            continue;
        }
        let wanted = "(tenant_id = current_tenant())";
        if !table.is_partition && table.policies != [wanted] {
            faults.push(format!("{name}: no policy {wanted}, only {:?}", table.policies));
        }
        if table.key_leads_with.as_deref() != Some("tenant_id") {
            faults.push(format!("{name}: its key begins with {:?}", table.key_leads_with));
        }
    }
    faults
}

#[tokio::test]
async fn tables_have_row_security_and_lead_with_the_tenant() {
    let rig = TestDatabase::new().await;
    let mut admin = rig.database.connect().await;
    let count = tables(&mut admin).await.len();
    assert!(count > 30, "the question finds tables at all: {count}");
    assert_eq!(faults(&mut admin).await, Vec::<String>::new());
}

#[tokio::test]
async fn catalogue_check_reports_a_table_without_tenant_isolation() {
    let rig = TestDatabase::new().await;
    let mut admin = rig.database.connect().await;
    run(&mut admin, "CREATE TABLE planted (tenant_id uuid, id uuid, PRIMARY KEY (tenant_id, id))")
        .await;
    assert_eq!(faults(&mut admin).await.len(), 2, "not forced, and without a policy");
    run(&mut admin, "ALTER TABLE planted ENABLE ROW LEVEL SECURITY").await;
    assert_eq!(faults(&mut admin).await.len(), 2, "enabled is not forced");
    run(&mut admin, "ALTER TABLE planted FORCE ROW LEVEL SECURITY").await;
    assert_eq!(faults(&mut admin).await.len(), 1, "forced, but without a policy");
    run(&mut admin, "CREATE POLICY own_tenant ON planted USING (true) WITH CHECK (true)").await;
    assert_eq!(faults(&mut admin).await.len(), 1, "a policy that admits all rows");
    run(&mut admin, "DROP POLICY own_tenant ON planted; SELECT keep_to_tenant('planted')").await;
    assert_eq!(faults(&mut admin).await, Vec::<String>::new());
    let turned = "ALTER TABLE planted DROP CONSTRAINT planted_pkey, ADD PRIMARY KEY (id)";
    run(&mut admin, turned).await;
    let found = faults(&mut admin).await;
    assert!(found.len() == 1 && found[0].contains("begins with Some(\"id\")"), "{found:?}");
}

#[tokio::test]
async fn indexes_and_foreign_keys_begin_with_the_tenant() {
    let rig = TestDatabase::new().await;
    let mut admin = rig.database.connect().await;
    let strays: Vec<String> = sqlx::query_scalar(
        "SELECT i.indexrelid::regclass::text FROM pg_index i
           JOIN pg_class c ON c.oid = i.indrelid AND NOT c.relispartition
           JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
          WHERE c.relnamespace = 'public'::regnamespace AND a.attname <> 'tenant_id'
            AND c.relname <> ALL ($1)
          UNION ALL
         SELECT f.conname::text FROM pg_constraint f
           JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = f.conkey[1]
          WHERE f.contype = 'f' AND a.attname <> 'tenant_id'
          ORDER BY 1",
    )
    .bind(NOT_OF_A_TENANT.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    .fetch_all(&mut admin)
    .await
    .unwrap();
    let mut expected = ACROSS_TENANTS.to_vec();
    expected.sort_unstable();
    assert_eq!(strays, expected);
}

#[tokio::test]
async fn roles_own_nothing_and_have_minimal_grants() {
    let rig = TestDatabase::new().await;
    let mut admin = rig.database.connect().await;
    let loose: Vec<String> = sqlx::query_scalar(
        "SELECT rolname::text FROM pg_roles
          WHERE rolname IN ('ade_app', 'ade_worker', $1)
            AND (rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole OR rolreplication)",
    )
    .bind(&rig.login)
    .fetch_all(&mut admin)
    .await
    .unwrap();
    assert_eq!(loose, Vec::<String>::new());
    let owned: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM pg_class
          WHERE pg_get_userbyid(relowner) IN ('ade_app', 'ade_worker', $1)",
    )
    .bind(&rig.login)
    .fetch_one(&mut admin)
    .await
    .unwrap();
    assert_eq!(owned, 0);
    let may_create: bool = sqlx::query_scalar(
        "SELECT has_schema_privilege('ade_app', 'public', 'CREATE')
             OR has_schema_privilege('ade_worker', 'public', 'CREATE')",
    )
    .fetch_one(&mut admin)
    .await
    .unwrap();
    assert!(!may_create);
}

#[tokio::test]
async fn evidence_and_votes_are_append_only() {
    let rig = TestDatabase::new().await;
    let mut admin = rig.database.connect().await;
    for table in ["audit_entry", "vote", "vote_withdrawal", "task_revision", "policy_version"] {
        for (right, is_held) in
            [("INSERT", true), ("SELECT", true), ("UPDATE", false), ("DELETE", false)]
        {
            let held: bool = sqlx::query_scalar("SELECT has_table_privilege('ade_app', $1, $2)")
                .bind(table)
                .bind(right)
                .fetch_one(&mut admin)
                .await
                .unwrap();
            assert_eq!(held, is_held, "{right} on {table}");
        }
    }
    let truncates: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM pg_class c, unnest(ARRAY['ade_app', 'ade_worker']) AS role
          WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
            AND has_table_privilege(role, c.oid, 'TRUNCATE, TRIGGER, REFERENCES')",
    )
    .fetch_one(&mut admin)
    .await
    .unwrap();
    assert_eq!(truncates, 0);
}

#[tokio::test]
async fn definer_functions_fix_their_search_path_and_grants() {
    let rig = TestDatabase::new().await;
    let mut admin = rig.database.connect().await;
    let functions: Vec<(String, bool, bool)> = sqlx::query_as(
        "SELECT p.proname::text,
                coalesce(p.proconfig::text LIKE '%search_path=pg_catalog, public, pg_temp%', false),
                has_function_privilege('public', p.oid, 'EXECUTE')
           FROM pg_proc p
          WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef ORDER BY 1",
    )
    .fetch_all(&mut admin)
    .await
    .unwrap();
    let expected = [
        "begin_device_login",
        "begin_sign_in",
        "bump_rulebook",
        "consume_token",
        "decide_device_login",
        "drop_read_events",
        "end_sign_in",
        "events_waiting",
        "find_device_login",
        "has_several_tenants",
        "keep_session",
        "make_partitions",
        "note_token_use",
        "notice_second_tenant",
        "number_events",
        "open_tokens",
        "open_webhook_circuits",
        "overdue_after_reviews",
        "pass_over_unheard",
        "poll_device_login",
        "resolve_invitation",
        "resolve_token",
        "rulebook_versions",
        "take_device_login",
        "tenants_of_subject",
        "tenants_to_tell",
        "tenants_with_expired_answers",
        "tenants_with_locks",
        "tenants_with_news",
        "tenants_with_old_deliveries",
        "tenants_with_old_tokens",
    ];
    let expected = expected.map(|name| (name.to_owned(), true, false));
    assert_eq!(functions, expected);
}
