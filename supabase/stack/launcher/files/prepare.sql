-- Run once by a superuser in the product's own database, of a cluster of its own:
--   python3 supabase/stack prepare-database | psql --host=... --username=supabase_admin --dbname=...
-- All or nothing. It may be run again, and must be when a new version says so.
begin;
do $$$$
begin
    if exists (select from pg_roles where rolname = '$owner' and rolsuper) then
        raise exception '$owner is a superuser here, and the owner of the product must be none'
            using hint = 'Give the owner another name: DATABASE_OWNER=harborline';
    end if;
end
$$$$;
