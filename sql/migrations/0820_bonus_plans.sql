-- Bonuses are posted and compared by plans that fit three rows and a million. A hub's upgrade re-rates thousands
-- of pairs in one statement: the sums of what changed no longer join the rows before with the rows after, because
-- a plan cached for one row was a nested loop over all. Who completed a pair is looked up for new rows only, and a
-- reconcile looks for the stored rows only of what is wrong. Do not take a plan setting away because a test with
-- a few rows is as fast without it: `make bench` has the sizes at which it counts.

-- Within a reconcile, which plans each statement anew, this would be planned once for each pair.
alter function private.pair_source(integer, integer) set plan_cache_mode = 'force_generic_plan';
-- Point look-ups by an array: a plan made for this array is no better than the one made for any.
alter function private.lock_members(uuid[]) set plan_cache_mode = 'force_generic_plan';
alter function private.write_bonuses(private.due_bonus[], timestamptz) set plan_cache_mode = 'force_generic_plan';

create or replace function private.bonuses_changed() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform pg_catalog.nextval('private.postings');
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    select c.user_id, sum(c.amount), 'bonus', 'completed', c.id, private.clock()
    from (
        select n.id, n.user_id, n.amount from after as n
        union all
        select o.id, o.user_id, -o.amount from before as o
    ) as c
    group by c.id, c.user_id having sum(c.amount) <> 0;
    update private.totals as t set
        referral_amount = t.referral_amount + s.referral,
        pairing_amount = t.pairing_amount + s.pairing,
        override_amount = t.override_amount + s.override,
        reentry_amount = t.reentry_amount + s.reentry
    from (
        select
            c.user_id,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'referral'), 0) as referral,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'pairing'), 0) as pairing,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'override'), 0) as override,
            sum(c.reentry) as reentry
        from (
            select n.user_id, n.bonus_type, n.amount, n.reentry_amount as reentry from after as n
            union all
            select o.user_id, o.bonus_type, -o.amount, -o.reentry_amount from before as o
        ) as c
        group by c.user_id
    ) as s
    where t.user_id = s.user_id;
    perform private.count_up('bonuses', (select sum(n.amount) from after as n) - (select sum(o.amount) from before as o));
    return null;
end
$$;

create or replace function private.wrong_of_child(p_no integer) returns setof private.due_bonus
language plpgsql stable set search_path = '' as $$
declare
    v_member private.positions;
begin
    select * into v_member from private.positions as p where p.no = p_no;
    return query
    select b.id, 'referral'::public.bonus_type, d.subject_no, null::integer, d.user_no, d.subject_no, d.volume_cents::bigint, d.rate, d.cents
    from private.due_referrals as d
    left join public.bonuses as b on b.bonus_type = 'referral' and d.subject_no = b.subject_no
    where d.subject_no = p_no and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer)
    union all
    select
        b.id, 'pairing'::public.bonus_type, d.subject_no, d.pair_no, d.user_no,
        case when b.id is null then private.pair_source(d.left_no, d.right_no) end, d.volume_cents::bigint, d.rate, d.cents
    from private.due_pairings as d
    left join public.bonuses as b on b.bonus_type = 'pairing' and d.subject_no = b.subject_no and d.pair_no = b.pair_number
    where d.subject_no = v_member.referrer_no and d.pair_no = v_member.pair_no
        and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer)
    union all
    select b.id, 'override'::public.bonus_type, d.subject_no, d.pair_no, d.user_no, d.subject_no, d.volume_cents::bigint, d.rate, d.cents
    from private.due_overrides as d
    left join public.bonuses as b on b.bonus_type = 'override' and d.subject_no = b.subject_no and d.pair_no = b.pair_number
    where d.subject_no = v_member.referrer_no and d.pair_no = v_member.pair_no
        and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer);
end
$$;

create or replace function private.wrong_of_owner(p_no integer) returns setof private.due_bonus
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
begin
    return query
    select
        b.id, 'pairing'::public.bonus_type, d.subject_no, d.pair_no, d.user_no,
        case when b.id is null then private.pair_source(d.left_no, d.right_no) end, d.volume_cents::bigint, d.rate, d.cents
    from private.due_pairings as d
    left join public.bonuses as b on b.bonus_type = 'pairing' and d.subject_no = b.subject_no and d.pair_no = b.pair_number
    where d.subject_no = p_no and (d.cents, d.rate) is distinct from (b.amount_cents, b.rate::integer);
end
$$;

-- Everything compared lies in the order of an index. Left alone, the planner expects most rows to be wrong and hashes
-- them all, which takes twice as long and spills to disk.
create or replace function private.reconcile() returns integer
language plpgsql volatile set plan_cache_mode = 'force_custom_plan' set enable_hashjoin = off set search_path = '' as $$
declare
    v_postings bigint;
    v_wrong private.due_bonus[];
    v_lowering text := pg_catalog.current_setting('app.lowering', true);
begin
    perform private.money_lock();
    select q.last_value into v_postings from private.postings as q;
    v_wrong := array(
        select row(
            null, w.bonus_type, w.subject_no, w.pair_number, w.user_no, w.source_no, w.volume_cents, w.rate, w.cents
        )::private.due_bonus
        from private.wrong_bonuses as w
    );
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
