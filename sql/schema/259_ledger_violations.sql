-- All rules together, and the alarms that follow from what they find: one for each violation. An alarm ends only when a check
-- that looked at its row finds it mended.

create function private.member_violations(p_part private.ledger_part, p_objects uuid[])
returns table (rule text, object text, user_id uuid, details jsonb)
language sql stable set search_path = '' as $$
    select v.* from private.balance_violations(p_part) as v
    union all
    select v.* from private.journal_violations(p_part) as v
    union all
    select v.* from private.bonus_violations(p_part) as v
    union all
    select v.* from private.request_violations(p_part) as v
    union all
    select v.* from private.place_violations(p_part) as v
    union all
    select v.* from private.member_state_violations(p_part) as v
    union all
    -- I43 to I48 A request, its decision, a payout and a correction have one entry of the audit log each, which says the
    -- same.
    select v.* from private.audit_discrepancies(p_objects) as v
$$;
comment on function private.member_violations(private.ledger_part, uuid[]) is
'The rules about these members (null: all), these positions, and these requests and corrections.';

create view private.ledger_violations as
select
    m.rule,
    m.object,
    m.user_id,
    m.details
from private.member_violations(null, null) as m
union all
select
    n.rule,
    n.object,
    n.user_id,
    n.details
from private.network_violations(null, null, null) as n
union all
-- I26 The audit chain is intact.
select
    'I26' as rule,
    c.object,
    null as user_id,
    null as details
from private.verify_audit_chain() as c (object)
union all
select
    s.rule,
    s.object,
    s.user_id,
    s.details
from private.sum_violations() as s
union all
select
    t.rule,
    t.object,
    t.user_id,
    t.details
from private.standing_violations() as t;
comment on view private.ledger_violations is
'Violations of the ledger''s invariants: the rule, the violating object, the member whose money it concerns (null: everybody''s), and figures that change when the violation does. Empty when there are none.';

create function private.check_ledger() returns table (rule text, object text, user_id uuid, details jsonb)
language sql stable set search_path = '' as $$
    select v.rule, v.object, v.user_id, v.details from private.ledger_violations as v
$$;
comment on function private.check_ledger() is 'Violations of the ledger''s invariants; none when all hold.';

-- An alarm for each violation, but at most 300: with more, those that are open already stay, the others are shared out
-- among the rules, and a rule that has more than its alarms has one more, which names the rule and nobody.
create function private.violation_alarms(p_found jsonb, p_is_part boolean default false) returns table (object text, user_id uuid, details jsonb)
language sql stable set search_path = '' as $$
    with found as materialized (
        select distinct on (o.object)
            v.rule,
            o.object,
            v.user_id,
            coalesce(v.details, '{}') as details
        from jsonb_to_recordset(p_found) as v (rule text, object text, user_id uuid, details jsonb)
        cross join lateral (select left(v.rule || ' ' || v.object, 200) as object) as o
        order by o.object
    ),

    ranked as (
        select
            f.*,
            row_number() over (partition by f.rule order by a.id is null, f.object) as place
        from found as f
        left join private.alarms as a on a.kind = 'ledger_violation' and f.object = a.object and a.ended_at is null
    ),

    listed as materialized (
        select r.* from ranked as r order by r.place, r.rule limit 300
    )

    select
        l.object,
        l.user_id,
        l.details
    from listed as l
    union all
    select
        f.rule,
        null,
        -- A sample has another number each time, and so has a part.
        case when p_is_part or f.rule in ('I28', 'I29', 'I30') then '{}' else jsonb_build_object('violations', count(*)) end
    from found as f
    group by f.rule
    having count(*) > (select count(*) from listed as l where l.rule = f.rule)
    order by 1
$$;
comment on function private.violation_alarms(jsonb, boolean) is
'The alarms of what a check found, as an array: object, member, figures; p_is_part: it did not look at everything.';

-- Alarms about rows that a check has not looked at stay open: an alarm ends when a check that looked at its row finds it mended.
create function private.record_violations(p_found jsonb, p_is_part boolean default false, p_unseen_rules text[] default '{}') returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_alarm record;
    v_seen text[] := array[]::text[];
begin
    perform from private.alarm_mail_state as s for no key update;
    update private.alarms as a set acknowledged_at = null, acknowledged_by = null, reason = null
    where a.kind in ('ledger_violation', 'restored') and a.ended_at is null and a.acknowledged_at is not null
        and not exists (select from private.audit_log as l where l.object_id = a.id and l.action = 'alarm.acknowledged');
    for v_alarm in select v.object, v.user_id, v.details from private.violation_alarms(p_found, p_is_part) as v loop
        perform private.raise_alarm('ledger_violation', v_alarm.object, v_alarm.user_id, v_alarm.details);
        v_seen := v_seen || v_alarm.object;
    end loop;
    update private.alarms as a set ended_at = pg_catalog.clock_timestamp()
    where a.kind = 'ledger_violation' and a.ended_at is null and a.object <> all(v_seen)
        and pg_catalog.left(a.object, 3) <> all(p_unseen_rules)
        -- A rule as a whole may be violated elsewhere.
        and not (p_is_part and pg_catalog.length(a.object) = 3)
        -- The next sample may have fewer: a sampled rule as a whole is over when nothing of it is found.
        and not (
            a.object in ('I28', 'I29', 'I30')
            and exists (select 1 from pg_catalog.unnest(v_seen) as s (object) where pg_catalog.starts_with(s.object, a.object))
        );
    perform private.announce_alarms();
end
$$;
comment on function private.record_violations(jsonb, boolean, text[]) is
'Raises an alarm for each violation found, ends those of violations that are not there any more, and notifies administrators. p_is_part: it did not look at everything, but at the rows of all open alarms, those of p_unseen_rules excepted.';
