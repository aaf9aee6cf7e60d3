-- Fails unless a superuser has run what this version brings for it; run by the owner before its migrations.
do $$$$
begin
    if obj_description(to_regnamespace('extensions'), 'pg_namespace') is distinct from '$mark' then
        raise exception 'The database lacks what this version brings for its superuser'
            using hint = 'Its superuser runs once what this prints: python3 supabase/stack prepare-database';
    end if;
end
$$$$;
