-- The comparison of all bonuses is a merge from end to end. How many pairs are complete, and how many bonuses are
-- wrong, the planner cannot know: it expects a hundred times too many and then looks up each left child by itself,
-- which takes twice as long at a million members; or it joins the owners first, of which there are more. So the
-- comparison has a function of its own, without nested loops and with the joins in the order in which the views
-- have them, and what is done about a few wrong rows is planned as usual.

create function private.all_wrong() returns private.due_bonus[]
language plpgsql stable set enable_nestloop = off set join_collapse_limit = 1 set search_path = '' as $$
begin
    return array(
        select row(
            null, w.bonus_type, w.subject_no, w.pair_number, w.user_no, w.source_no, w.volume_cents, w.rate, w.cents
        )::private.due_bonus
        from private.wrong_bonuses as w
    );
end
$$;
comment on function private.all_wrong() is 'All of private.wrong_bonuses, without the ids of the stored rows.';

create or replace function private.reconcile() returns integer
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    v_postings bigint;
    v_wrong private.due_bonus[];
    v_lowering text := pg_catalog.current_setting('app.lowering', true);
begin
    perform private.money_lock();
    select q.last_value into v_postings from private.postings as q;
    v_wrong := private.all_wrong();
    if pg_catalog.cardinality(v_wrong) > 0 then
        v_wrong := array(
            select row(
                coalesce(r.id, q.id), w.bonus_type, w.subject_no, w.pair_number, w.user_no, w.source_no, w.volume_cents, w.rate, w.cents
            )::private.due_bonus
            from pg_catalog.unnest(v_wrong) as w
            left join public.bonuses as r on w.bonus_type = 'referral' and r.bonus_type = 'referral' and w.subject_no = r.subject_no
            left join public.bonuses as q
                on w.bonus_type = q.bonus_type and w.subject_no = q.subject_no and w.pair_number = q.pair_number
        );
        perform private.lock_members(array(
            select p.user_id from pg_catalog.unnest(v_wrong) as w
            inner join private.positions as s on w.subject_no = s.no
            inner join private.positions as p on p.no in (s.no, s.referrer_no)
        ));
        perform pg_catalog.set_config('app.lowering', 'on', true);
        perform private.write_bonuses(v_wrong, private.clock());
        perform pg_catalog.set_config('app.lowering', coalesce(v_lowering, ''), true);
        perform private.audit('system', 'books.repaired', 'bonuses', null, pg_catalog.jsonb_build_object('rows', pg_catalog.cardinality(v_wrong)));
        select q.last_value into v_postings from private.postings as q;
    end if;
    update private.reconcile_state as s set
        postings = v_postings, ran_at = pg_catalog.clock_timestamp(), repaired = s.repaired + pg_catalog.cardinality(v_wrong);
    return pg_catalog.cardinality(v_wrong);
end
$$;
