-- PostgREST reads its schema cache again after every change of the schema: event triggers need a superuser.

create or replace function extensions.pgrst_ddl_watch() returns event_trigger
language plpgsql
set search_path = ''
as $$
declare
    v_command record;
begin
    for v_command in select * from pg_catalog.pg_event_trigger_ddl_commands() loop
        if v_command.command_tag in (
            'CREATE SCHEMA', 'ALTER SCHEMA', 'CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'ALTER TABLE',
            'CREATE VIEW', 'ALTER VIEW', 'CREATE MATERIALIZED VIEW', 'ALTER MATERIALIZED VIEW',
            'CREATE FUNCTION', 'ALTER FUNCTION', 'CREATE TRIGGER', 'CREATE TYPE', 'ALTER TYPE', 'CREATE RULE', 'COMMENT'
        ) and v_command.schema_name is distinct from 'pg_temp' then
            notify pgrst, 'reload schema';
        end if;
    end loop;
end
$$;

create or replace function extensions.pgrst_drop_watch() returns event_trigger
language plpgsql
set search_path = ''
as $$
declare
    v_object record;
begin
    for v_object in select * from pg_catalog.pg_event_trigger_dropped_objects() loop
        if v_object.object_type in (
            'schema', 'table', 'view', 'materialized view', 'function', 'trigger', 'type', 'rule'
        ) and not v_object.is_temporary then
            notify pgrst, 'reload schema';
        end if;
    end loop;
end
$$;

drop event trigger if exists pgrst_ddl_watch;
create event trigger pgrst_ddl_watch on ddl_command_end execute function extensions.pgrst_ddl_watch();

drop event trigger if exists pgrst_drop_watch;
create event trigger pgrst_drop_watch on sql_drop execute function extensions.pgrst_drop_watch();
