-- The books are checked every minute, and the check reads everything: a second among ten thousand members, half a
-- minute and more among several hundred thousand, when the next one would begin as soon as the last has ended. It
-- leaves nothing out and now takes its turn: while it takes up to three seconds it runs whenever it is asked; above,
-- it waits nine times as long as it took, so it never takes more than a tenth of the time. Until then the last
-- answer stands, an alarm too, with the moment at which it was true.

alter table private.books_state add column took interval not null default '0';
comment on column private.books_state.took is 'How long the last check took. The next one waits nine times as long once that is above three seconds.';

create or replace function jobs.check_books() returns jsonb
language plpgsql volatile security definer
-- Sums over all members are hashed in memory.
set work_mem = '64MB' set search_path = '' as $$
declare
    v_state private.books_state;
    v_started timestamptz := pg_catalog.clock_timestamp();
    v_rules jsonb;
begin
    select * into v_state from private.books_state;
    if v_state.took > interval '3 seconds' and v_started < v_state.checked_at + v_state.took * 9 then
        return v_state.rules;
    end if;
    select coalesce(pg_catalog.jsonb_object_agg(r.rule, r.rows), '{}') into v_rules
    from (select c.rule, count(*) as rows from private.check_books() as c group by c.rule) as r;
    update private.books_state as s set
        -- What came in while it ran was not seen.
        checked_at = v_started,
        took = pg_catalog.clock_timestamp() - v_started,
        rules = v_rules,
        violations = (select coalesce(sum(e.value::integer), 0) from pg_catalog.jsonb_each_text(v_rules) as e);
    return v_rules;
end
$$;
comment on function jobs.check_books() is
'Checks the books and keeps the result, or answers the last one while a long check waits for its turn: the violations by rule, {} when all is right.';
