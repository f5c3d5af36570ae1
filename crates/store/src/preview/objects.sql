-- Every object of a database that a script can create, change or drop, with its definition as
-- PostgreSQL prints it: kind, number, part, name, definition, the relation it belongs to.
WITH space AS (
    SELECT oid, nspname, nspowner, nspacl FROM pg_namespace
     WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
), relation AS (
    SELECT c.*, format('%I.%I', s.nspname, c.relname) AS name
      FROM pg_class c JOIN space s ON s.oid = c.relnamespace
)
SELECT 'schema' AS kind, oid::int8 AS number, 0 AS part, format('%I', nspname) AS name,
       concat_ws(' | ', nspowner::regrole, nspacl) AS definition, 0::int8 AS relation
  FROM space
UNION ALL
SELECT CASE relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'table' WHEN 'v' THEN 'view'
                    WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table'
                    WHEN 'S' THEN 'sequence' WHEN 'c' THEN 'type' ELSE 'index' END,
       c.oid::int8, 0, c.name,
       concat_ws(' | ',
           CASE WHEN relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid)
                WHEN relkind IN ('i', 'I') THEN pg_get_indexdef(c.oid)
                WHEN relkind = 'S' THEN (SELECT concat_ws(' ', seqtypid::regtype, seqstart,
                    seqincrement, seqmin, seqmax, seqcache, seqcycle)
                      FROM pg_sequence WHERE seqrelid = c.oid)
                ELSE 'table' END,
           relpersistence, relowner::regrole, relacl, reloptions, relreplident,
           relrowsecurity, relforcerowsecurity, reltablespace, relam,
           pg_get_expr(relpartbound, c.oid), pg_get_partkeydef(c.oid),
           (SELECT array_agg(inhparent::regclass) FROM pg_inherits WHERE inhrelid = c.oid),
           i.indisvalid, i.indisclustered),
       coalesce(i.indrelid, c.oid)::int8
  FROM relation c LEFT JOIN pg_index i ON i.indexrelid = c.oid
UNION ALL
SELECT 'column', a.attrelid::int8, a.attnum, format('%s.%I', c.name, a.attname),
       concat_ws(' | ', format_type(a.atttypid, a.atttypmod),
           CASE WHEN a.attnotnull THEN 'not null' END, pg_get_expr(d.adbin, d.adrelid),
           nullif(a.attidentity, ''), nullif(a.attgenerated, ''), a.attcollation, a.attacl,
           -- Users do not set `pg_attver`: PostgreSQL has maintained it since 15.20.
           (SELECT array_agg(o) FROM unnest(a.attoptions) AS o WHERE o NOT LIKE 'pg\_attver=%'),
           a.attstorage),
       a.attrelid::int8
  FROM pg_attribute a JOIN relation c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p', 'f', 'c')
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
 WHERE a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT 'constraint', k.oid::int8, 0,
       format('%s %I', coalesce(c.name, k.contypid::regtype::text), k.conname),
       concat_ws(' | ', pg_get_constraintdef(k.oid), k.convalidated), k.conrelid::int8
  FROM pg_constraint k JOIN space s ON s.oid = k.connamespace
  LEFT JOIN relation c ON c.oid = k.conrelid
UNION ALL
SELECT 'function', p.oid::int8, 0,
       format('%I.%I(%s)', s.nspname, p.proname, pg_get_function_identity_arguments(p.oid)),
       concat_ws(' | ', CASE WHEN p.prokind <> 'a' THEN pg_get_functiondef(p.oid) END,
           p.proowner::regrole, p.proacl), 0
  FROM pg_proc p JOIN space s ON s.oid = p.pronamespace
UNION ALL
SELECT 'trigger', t.oid::int8, 0, format('%s %I', c.name, t.tgname),
       concat_ws(' | ', pg_get_triggerdef(t.oid), t.tgenabled), c.oid::int8
  FROM pg_trigger t JOIN relation c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal
UNION ALL
SELECT 'rule', w.oid::int8, 0, format('%s %I', c.name, w.rulename),
       concat_ws(' | ', pg_get_ruledef(w.oid), w.ev_enabled), c.oid::int8
  FROM pg_rewrite w JOIN relation c ON c.oid = w.ev_class WHERE w.rulename <> '_RETURN'
UNION ALL
SELECT 'policy', p.oid::int8, 0, format('%s %I', c.name, p.polname),
       concat_ws(' | ', p.polcmd, p.polpermissive, p.polroles,
           pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)),
       c.oid::int8
  FROM pg_policy p JOIN relation c ON c.oid = p.polrelid
UNION ALL
SELECT 'type', t.oid::int8, 0, format('%I.%I', s.nspname, t.typname),
       concat_ws(' | ', t.typtype, t.typowner::regrole, t.typacl, t.typnotnull, t.typdefault,
           format_type(t.typbasetype, t.typtypmod),
           (SELECT array_agg(enumlabel ORDER BY enumsortorder) FROM pg_enum
             WHERE enumtypid = t.oid)), 0
  FROM pg_type t JOIN space s ON s.oid = t.typnamespace
 WHERE t.typtype IN ('e', 'd', 'r', 'm') OR t.typtype = 'b' AND t.typelem = 0
UNION ALL
SELECT 'extension', oid::int8, 0, format('%I', extname), extversion, 0 FROM pg_extension
UNION ALL
SELECT 'role', oid::int8, 0, format('%I', rolname),
       concat_ws(' | ', rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin,
           rolreplication, rolbypassrls, rolconnlimit, rolvaliduntil, rolconfig,
           (SELECT array_agg(m.roleid::regrole ORDER BY m.roleid) FROM pg_auth_members m
             WHERE m.member = pg_roles.oid)), 0
  FROM pg_roles
UNION ALL
-- Rare kinds of objects are compared by their whole catalogue: any change to it is reported.
SELECT 'catalogue', 0, place, name, md5(coalesce(text, '')), 0
  FROM (VALUES
    (1, 'casts', (SELECT string_agg(c::text, ',' ORDER BY oid) FROM pg_cast c)),
    (2, 'operators', (SELECT string_agg(c::text, ',' ORDER BY oid) FROM pg_operator c
                       WHERE oid >= 16384)),
    (3, 'publications', (SELECT string_agg(c::text, ',' ORDER BY oid) FROM pg_publication c)),
    (4, 'event triggers', (SELECT string_agg(c::text, ',' ORDER BY oid)
                             FROM pg_event_trigger c)),
    (5, 'foreign servers', (SELECT string_agg(c::text, ',' ORDER BY oid)
                              FROM pg_foreign_server c)),
    (6, 'default privileges', (SELECT string_agg(c::text, ',' ORDER BY oid)
                                 FROM pg_default_acl c)),
    (7, 'extended statistics', (SELECT string_agg(concat_ws(' ', oid, stxname, stxkeys), ','
                                       ORDER BY oid) FROM pg_statistic_ext)),
    (8, 'settings of roles', (SELECT string_agg(c::text, ',' ORDER BY setdatabase, setrole)
                                FROM pg_db_role_setting c)),
    (9, 'comments', (SELECT string_agg(c::text, ',' ORDER BY objoid, classoid, objsubid)
                       FROM pg_description c WHERE objoid >= 16384)),
    (10, 'databases', (SELECT string_agg(concat_ws(' ', oid, datname, datdba, datacl), ','
                              ORDER BY oid) FROM pg_database)),
    (11, 'published tables', (SELECT string_agg(c::text, ',' ORDER BY oid)
                                FROM pg_publication_rel c)),
    (12, 'large objects', (SELECT string_agg(concat_ws(' ', oid, lomowner, lomacl), ','
                                  ORDER BY oid) FROM pg_largeobject_metadata))
  ) AS rest (place, name, text)
