-- What PostgreSQL's exporter logs in as: it reads statistics and settings of the server, and no row of anybody.
do $$
begin
    if not exists (select from pg_roles where rolname = 'monitoring') then
        create role monitoring;
    end if;
end
$$;
alter role monitoring login nosuperuser nocreatedb nocreaterole noreplication nobypassrls connection limit 3;
alter role monitoring set default_transaction_read_only = 'on';
alter role monitoring set statement_timeout = '5s';
grant pg_monitor to monitoring;
