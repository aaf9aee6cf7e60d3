-- Notifications of earnings: one for all bonuses that one decision brought a member.
-- It is written after the decision and not with it: a decision holds the money lock, and nobody waits for this. What is
-- to be notified is read from the audit log, in which every decision has exactly one entry. These entries are written
-- under the money lock, so that they are committed in the order of their ids and the last id is all there is to store.
-- It is stored in the transaction that writes the notifications: none is lost, and none is written twice.

create table private.earnings_state (
    only_row boolean primary key default true check (only_row),
    entry_id bigint not null default 0
);
comment on table private.earnings_state is 'How far members were notified of what they earned.';
comment on column private.earnings_state.entry_id is
'The last entry of the audit log whose bonuses members were notified of. What was decided before this table was there is never notified.';
alter table private.earnings_state enable row level security;

insert into private.earnings_state default values;

create function private.credited_decisions(p_after bigint, p_until bigint, p_limit integer) returns setof private.audit_log
language sql stable set search_path = '' as $$
    -- Each action is one range of an index.
    (
        select * from private.audit_log as a
        where a.action collate "C" = 'deposit.approved' and a.id > p_after and a.id <= p_until
        order by a.id
        limit p_limit
    )
    union all
    (
        select * from private.audit_log as a
        where a.action collate "C" = 'correction.confirmed' and a.id > p_after and a.id <= p_until
        order by a.id
        limit p_limit
    )
    order by id
    limit p_limit
$$;
comment on function private.credited_decisions(bigint, bigint, integer) is
'The entries of decisions that may have brought bonuses, after one and up to another, in the order of the decisions.';

-- The bonuses that one member's package can change are found by their keys, as an approval finds them: there is no other
-- way to the journal rows of one decision that would not cost each decision an index.
create function private.earned_bonuses(p_after bigint, p_until bigint) returns table (
    entry_id bigint,
    at timestamptz,
    is_deposit boolean,
    member_id uuid,
    earner_id uuid,
    owner_no integer,
    bonus_type public.bonus_type,
    amount numeric,
    bonuses bigint,
    pair_number integer
)
language sql stable set search_path = '' as $$
    with decisions as materialized (
        select
            a.id as entry_id, a.at, d.id is not null as is_deposit, coalesce(d.decision_no, c.decision_no) as decision_no,
            -- Cash-in changes nobody's package and so none of the member's own rates.
            d.kind is distinct from 'cash_in' as changes_package,
            p.user_id, p.no, p.referrer_no, p.pair_no
        from private.credited_decisions(p_after, p_until, null) as a
        left join public.deposits as d on a.object_type = 'deposit' and a.object_id = d.id
        left join private.corrections as c on a.object_type = 'correction' and a.object_id = c.id
        inner join private.positions as p on coalesce(d.user_id, c.user_id) = p.user_id
    ), bonuses as (
        select x.entry_id, b.id from decisions as x
        inner join public.bonuses as b on b.bonus_type = 'referral' and x.no = b.subject_no
        union all
        select x.entry_id, b.id from decisions as x
        inner join public.bonuses as b on b.bonus_type = 'pairing' and x.referrer_no = b.subject_no and x.pair_no = b.pair_number
        union all
        select x.entry_id, b.id from decisions as x
        inner join public.bonuses as b on b.bonus_type = 'override' and x.referrer_no = b.subject_no and x.pair_no = b.pair_number
        union all
        select x.entry_id, b.id from decisions as x
        inner join public.bonuses as b on b.bonus_type = 'pairing' and x.no = b.subject_no
        where x.changes_package
    )
    select
        x.entry_id, x.at, x.is_deposit, x.user_id, b.user_id, b.subject_no, b.bonus_type, sum(t.amount), count(*), min(b.pair_number)
    from bonuses as e
    inner join decisions as x on e.entry_id = x.entry_id
    inner join public.bonuses as b on e.id = b.id
    inner join public.transactions as t on t.transaction_type = 'bonus' and b.id = t.reference_id and x.decision_no = t.decision_no
    group by x.entry_id, x.at, x.is_deposit, x.user_id, b.user_id, b.subject_no, b.bonus_type
$$;
comment on function private.earned_bonuses(bigint, bigint) is
'What the decisions of a range of the audit log credited to whom, by type of bonus.';

create function private.earned_words(p_type public.bonus_type, p_amount numeric, p_bonuses bigint, p_pair integer, p_owner text) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return case
        when p_type = 'referral' then pg_catalog.format('a referral bonus of %s', private.dollars(p_amount))
        when p_type = 'override' then pg_catalog.format('an override bonus of %s for pair %s of %s', private.dollars(p_amount), p_pair, p_owner)
        when p_bonuses = 1 then pg_catalog.format('a pairing bonus of %s for pair %s', private.dollars(p_amount), p_pair)
        else pg_catalog.format('pairing bonuses of %s for %s pairs', private.dollars(p_amount), p_bonuses)
    end;
end
$$;
comment on function private.earned_words(public.bonus_type, numeric, bigint, integer, text) is
'Bonuses of one type in words: how much, and from which pair.';

create function jobs.are_earnings_due() returns boolean
language sql stable security definer set search_path = '' as $$
    select exists (select from private.earnings_state as s cross join lateral private.credited_decisions(s.entry_id, 9223372036854775807, 1))
$$;
comment on function jobs.are_earnings_due() is 'Whether members are to be notified of bonuses now.';
grant execute on function jobs.are_earnings_due() to worker;

create function jobs.notify_earnings(p_limit integer default 100) returns integer
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_after bigint;
    v_until bigint;
    v_notified integer;
begin
    select s.entry_id into v_after from private.earnings_state as s for update skip locked;
    -- Another worker is writing them.
    if not found then
        return 0;
    end if;
    -- Before they are read: what is committed meanwhile is for the next time.
    select max(d.id) into v_until from private.credited_decisions(v_after, 9223372036854775807, p_limit) as d;
    if v_until is null then
        return 0;
    end if;
    perform private.notify_member(
        n.earner_id, 'bonus_earned', 'You earned ' || private.dollars(n.amount),
        pg_catalog.format(
            case when n.is_deposit then '%s deposit was approved and brought you %s.' else '%s package was corrected, which brought you %s.' end,
            case when n.earner_id = n.member_id then 'Your' else m.username || '’s' end, n.words
        ), n.amount, '/transactions', n.at
    )
    from (
        select
            e.entry_id, e.at, e.is_deposit, e.member_id, e.earner_id, sum(e.amount) as amount,
            pg_catalog.string_agg(
                private.earned_words(e.bonus_type, e.amount, e.bonuses, e.pair_number, o.username), ' and ' order by e.bonus_type
            ) as words
        from private.earned_bonuses(v_after, v_until) as e
        inner join private.positions as q on e.owner_no = q.no
        inner join private.profiles as o on q.user_id = o.user_id
        -- A correction takes from some and gives to others.
        where e.amount > 0
        group by e.entry_id, e.at, e.is_deposit, e.member_id, e.earner_id
    ) as n
    inner join private.profiles as m on n.member_id = m.user_id
    inner join private.profiles as p on n.earner_id = p.user_id
    where p.closed_at is null
    order by n.entry_id, n.earner_id;
    get diagnostics v_notified = row_count;
    update private.earnings_state as s set entry_id = v_until;
    return v_notified;
end
$$;
comment on function jobs.notify_earnings(integer) is
'Notifies members of the bonuses that the next decisions brought them, one notification a decision, once; returns how many. 0 also while another worker does.';
grant execute on function jobs.notify_earnings(integer) to worker;
