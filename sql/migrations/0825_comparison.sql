-- The comparison of all bonuses is a merge from end to end. How many pairs are complete, and how many bonuses are
-- wrong, the planner cannot know: it expects a hundred times too many and then looks up each left child by itself,
-- which takes twice as long at a million members; or it joins the owners first, of which there are more; or it keeps
-- copies of what it reads in order anyway. So the comparison has a function of its own, which does nothing but merge,
-- with the joins in the order in which the views have them, and what is done about a few wrong rows is planned as
-- usual. Both bonuses of a pair come from one reading of the pairs, which is most of the work.

create view private.due_of_pairs as
select
    q.owner_no,
    q.pair_no,
    q.left_no,
    q.right_no,
    q.volume_cents,
    o.referrer_no,
    k.pairing_percent,
    q.volume_cents::bigint * k.pairing_percent / 100 as pairing_cents,
    private.override_percent() as override_percent,
    q.volume_cents::bigint * private.override_percent() / 100 as override_cents
from private.pairs as q
inner join private.positions as o on q.owner_no = o.no
left join private.packages as k on o.package_cents = k.value_cents;
comment on view private.due_of_pairs is
'What a paying pair brings its owner, null without a package, and the owner''s referrer, who is null at the top.';

create or replace view private.due_pairings as
select
    d.owner_no as subject_no,
    d.pair_no,
    d.owner_no as user_no,
    d.volume_cents,
    d.pairing_percent as rate,
    d.pairing_cents as cents,
    d.left_no,
    d.right_no
from private.due_of_pairs as d
where d.pairing_percent is not null;

create or replace view private.due_overrides as
select
    d.owner_no as subject_no,
    d.pair_no,
    d.referrer_no as user_no,
    d.volume_cents,
    d.override_percent as rate,
    d.override_cents as cents
from private.due_of_pairs as d
where d.referrer_no is not null;

create or replace view private.wrong_bonuses as
with paired as materialized (select d.* from private.due_of_pairs as d)

select
    'referral'::public.bonus_type as bonus_type,
    coalesce(d.subject_no, b.subject_no) as subject_no,
    null::integer as pair_number,
    d.user_no,
    d.subject_no as source_no,
    coalesce(d.volume_cents, 0)::bigint as volume_cents,
    coalesce(d.rate, 0) as rate,
    coalesce(d.cents, 0) as cents
from private.due_referrals as d
full join (select r.subject_no, r.amount_cents as cents from public.bonuses as r where r.bonus_type = 'referral') as b
    on d.subject_no = b.subject_no
where coalesce(d.cents, 0) is distinct from b.cents
union all
select
    'pairing'::public.bonus_type,
    coalesce(d.owner_no, b.subject_no),
    coalesce(d.pair_no, b.pair_number),
    d.owner_no,
    case when d.left_no is not null then private.pair_source(d.left_no, d.right_no) end,
    coalesce(d.volume_cents, 0)::bigint,
    coalesce(d.pairing_percent, 0),
    coalesce(d.pairing_cents, 0)
from (select c.* from paired as c where c.pairing_percent is not null) as d
full join (select p.subject_no, p.pair_number, p.amount_cents as cents from public.bonuses as p where p.bonus_type = 'pairing') as b
    on d.owner_no = b.subject_no and d.pair_no = b.pair_number
where coalesce(d.pairing_cents, 0) is distinct from b.cents
union all
select
    'override'::public.bonus_type,
    coalesce(d.owner_no, b.subject_no),
    coalesce(d.pair_no, b.pair_number),
    d.referrer_no,
    d.owner_no,
    coalesce(d.volume_cents, 0)::bigint,
    coalesce(d.override_percent, 0),
    coalesce(d.override_cents, 0)
from (select c.* from paired as c where c.referrer_no is not null) as d
full join (select o.subject_no, o.pair_number, o.amount_cents as cents from public.bonuses as o where o.bonus_type = 'override') as b
    on d.owner_no = b.subject_no and d.pair_no = b.pair_number
where coalesce(d.override_cents, 0) is distinct from b.cents;

create function private.all_wrong() returns private.due_bonus[]
language plpgsql stable set search_path = ''
set enable_nestloop = off set enable_hashjoin = off set enable_material = off set join_collapse_limit = 1
-- The pairs of a million members are sorted in memory; one comparison runs at a time.
set work_mem = '64MB' as $$
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
