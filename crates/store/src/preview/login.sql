-- Why a login is unsuitable for previews, and the statement that changes it. $1 is true for a
-- database that applications use. Every role is checked that the login may take on, because
-- SET ROLE is one statement away.
WITH me AS (
    SELECT oid, rolname, rolsuper FROM pg_roles WHERE rolname = session_user
), within AS (
    SELECT r.*, r.oid = me.oid AS is_me FROM pg_roles r, me
     WHERE r.oid = me.oid OR pg_has_role(me.oid, r.oid, 'MEMBER')
), routine AS (
    SELECT p.oid, p.oid::regprocedure AS signature, p.proname, p.pronamespace, p.prolang,
           p.prosecdef, p.proowner
      FROM pg_proc p, me WHERE has_function_privilege(me.oid, p.oid, 'EXECUTE')
), found (place, problem, fix) AS (
    SELECT 1, 'is a superuser or can become one',
           CASE WHEN is_me THEN format('ALTER ROLE %I NOSUPERUSER', rolname)
                ELSE format('REVOKE %I FROM %I', rolname, session_user) END
      FROM within WHERE rolsuper
    UNION ALL
    SELECT 2, format('has %s', attribute),
           CASE WHEN is_me THEN format('ALTER ROLE %I NO%s', rolname, attribute)
                ELSE format('REVOKE %I FROM %I', rolname, session_user) END
      FROM within, (VALUES ('CREATEROLE'), ('REPLICATION'), ('BYPASSRLS')) AS a (attribute)
     WHERE CASE attribute WHEN 'CREATEROLE' THEN rolcreaterole
                          WHEN 'REPLICATION' THEN rolreplication ELSE rolbypassrls END
    UNION ALL
    SELECT 3, format('is a member of %I', rolname),
           format('REVOKE %I FROM %I', rolname, session_user)
      FROM within WHERE rolname LIKE 'pg\_%' AND rolname <> 'pg_database_owner'
    UNION ALL
    SELECT 4, format('is a member of %I, whose sessions it could end', rolname),
           format('REVOKE %I FROM %I', rolname, session_user)
      FROM within WHERE rolcanlogin AND NOT is_me
    UNION ALL
    SELECT 5, 'owns the database',
           format('ALTER DATABASE %I OWNER TO <another role>', d.datname)
      FROM pg_database d JOIN within w ON w.oid = d.datdba
     WHERE $1 AND d.datname = current_database()
    UNION ALL
    SELECT 6, format('can call %s of an untrusted language', r.signature),
           format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC, %I', r.signature, session_user)
      FROM routine r JOIN pg_language l ON l.oid = r.prolang
     WHERE NOT l.lanpltrusted AND l.lanname NOT IN ('c', 'internal')
    UNION ALL
    SELECT 7, format('can reach other systems through the extension %I', x.extname),
           format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC, %I', r.signature, session_user)
      FROM pg_extension x
      JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = x.oid
       AND d.classid = 'pg_proc'::regclass
      JOIN routine r ON r.oid = d.objid
     WHERE x.extname IN ('adminpack', 'aws_commons', 'aws_lambda', 'aws_s3', 'dblink', 'http',
                         'mysql_fdw', 'oracle_fdw', 'pg_background', 'pg_cron', 'pg_net',
                         'plsh', 'postgres_fdw')
       -- Handlers are called by CREATE FOREIGN DATA WRAPPER alone.
       AND r.proname NOT LIKE '%\_handler' AND r.proname NOT LIKE '%\_validator'
    UNION ALL
    SELECT 8, format('can access the foreign table %s', c.oid::regclass),
           format('REVOKE ALL ON %s FROM PUBLIC, %I', c.oid::regclass, session_user)
      FROM pg_class c, me
     WHERE c.relkind = 'f'
       AND has_table_privilege(me.oid, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')
    UNION ALL
    -- By default only superusers may call those that are refused on a copy too.
    SELECT 9, format('can call %s, whose effect survives a rollback', r.signature),
           format('REVOKE EXECUTE ON FUNCTION pg_catalog.%s FROM PUBLIC, %I', r.signature,
                  session_user)
      FROM routine r
     WHERE r.pronamespace = 'pg_catalog'::regnamespace
       AND (r.proname IN ('lo_import', 'lo_export', 'pg_reload_conf', 'pg_rotate_logfile',
                          'pg_switch_wal', 'pg_create_restore_point', 'pg_promote',
                          'pg_read_file', 'pg_read_binary_file', 'pg_ls_dir', 'pg_stat_file',
                          'pg_stat_reset', 'pg_replication_origin_create')
            OR $1 AND r.proname IN ('setval', 'pg_logical_emit_message'))
    UNION ALL
    SELECT 10, format('can call %s with the rights of the superuser %I', r.signature, o.rolname),
           format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC, %I', r.signature, session_user)
      FROM routine r JOIN pg_roles o ON o.oid = r.proowner
     WHERE r.prosecdef AND o.rolsuper
)
SELECT problem, fix FROM found, me
 -- A superuser has every other privilege as well.
 WHERE place = 1 OR NOT EXISTS (SELECT FROM within WHERE rolsuper)
 ORDER BY place, problem, fix
 LIMIT 100
