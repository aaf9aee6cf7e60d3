-- 1.0.0 has one migration that makes what those of 0.9 made. The history of a database that was given all of them says so,
-- and goes on from there; one that was given fewer is left as it is, and nothing is applied to it. Runs as the owner of
-- the product, before its migrations.

do $$
declare
    v_replaced constant text[] := array[
        '20261123054916', '20261123130514', '20261123131000', '20261123131001', '20261123131002',
        '20261123132758', '20261123134500', '20261123184710', '20261123221549', '20261123221634',
        '20261123231353', '20261123233217', '20261123235214', '20261124021617', '20261124041532',
        '20261124110612', '20261124112053', '20261124172708', '20261125030355', '20261125033408',
        '20261125043624', '20261125065222', '20261125071446', '20261125072528', '20261125171407',
        '20261125182653', '20261125220519', '20261125223219', '20261125224612', '20261125230418',
        '20261125231219', '20261125233907', '20261126010556', '20261126020236', '20261126022500',
        '20261126050831', '20261126051049', '20261126084918', '20261126094200', '20261126095100'
    ];
begin
    if to_regclass('supabase_migrations.schema_migrations') is null then
        return;
    end if;
    if (select count(*) from supabase_migrations.schema_migrations where version = any(v_replaced)) = cardinality(v_replaced) then
        insert into supabase_migrations.schema_migrations (version, name) values ('20261126160608', 'baseline');
        delete from supabase_migrations.schema_migrations where version = any(v_replaced);
    end if;
end
$$;
