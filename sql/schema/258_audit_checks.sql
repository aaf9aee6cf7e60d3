-- Nothing that moves money is without its entry of the audit log, and no such entry is without what it says. Every
-- request, decision, payout, cancellation and correction says in its row what it said in its entry, and whoever decided
-- it had a role that may. Administrators have the role that they were last given. Both directions: a row that was
-- written past its function has no entry, and an entry that was written past it no row.
-- Rule: specification S22.1.

create view private.due_audit_entries as
select
    'I43' as rule,
    'deposit' as object_type,
    d.id as object_id,
    'deposit.requested' as action,
    d.created_at as at,
    array['member:' || d.user_id, 'service', 'system'] as actors,
    null::text[] as roles,
    d.user_id,
    private.deposit_request_facts(d) as facts,
    '' as rest_no
from public.deposits as d
union all
select
    'I43',
    'deposit',
    d.id,
    'deposit.reference_added',
    r.referenced_at,
    array['member:' || d.user_id],
    null,
    d.user_id,
    private.rest_reference_facts(d, r),
    r.no::text
from private.deposit_rests as r
inner join public.deposits as d on r.deposit_id = d.id
where r.reference_number is not null
union all
select
    'I44',
    'withdrawal',
    w.id,
    'withdrawal.requested',
    w.created_at,
    array['member:' || w.user_id, 'service', 'system'],
    null,
    w.user_id,
    private.withdrawal_request_facts(w),
    ''
from public.withdrawals as w
union all
select
    'I45',
    'deposit',
    d.id,
    'deposit.' || case when d.decided_by is null then 'cancelled' else d.status::text end,
    d.decided_at,
    array[
        case
            when d.decided_by is not null then 'admin:' || d.decided_by
            when d.admin_notes <> 'Account closed' then 'member:' || d.user_id
            else (
                select private.closing_actor(p.id, p.user_id) from private.profiles as p
                where p.user_id = d.user_id
            )
        end
    ],
    case when d.decided_by is not null then array['super_admin', 'finance_admin'] end,
    d.user_id,
    private.deposit_decision_facts(d),
    ''
from public.deposits as d
where d.status <> 'pending'
union all
select
    'I45',
    'deposit',
    d.id,
    'deposit.rest_asked',
    r.asked_at,
    array['admin:' || r.asked_by],
    array['super_admin', 'finance_admin'],
    d.user_id,
    private.rest_facts(d, r),
    r.no::text
from private.deposit_rests as r
inner join public.deposits as d on r.deposit_id = d.id
union all
select
    'I46',
    'withdrawal',
    w.id,
    'withdrawal.' || case when w.decided_by is null then 'cancelled' else w.status::text end,
    w.decided_at,
    array[
        case
            when w.decided_by is not null then 'admin:' || w.decided_by
            when w.admin_notes <> 'Account closed' then 'member:' || w.user_id
            else (
                select private.closing_actor(p.id, p.user_id) from private.profiles as p
                where p.user_id = w.user_id
            )
        end
    ],
    case when w.decided_by is not null then array['super_admin', 'finance_admin'] end,
    w.user_id,
    private.withdrawal_decision_facts(w),
    ''
from public.withdrawals as w
where w.status <> 'pending'
union all
-- Whoever may decide may record the payout; the row does not say who did.
select
    'I47',
    'withdrawal',
    w.id,
    'withdrawal.paid',
    w.payout_at,
    null,
    array['super_admin', 'finance_admin'],
    w.user_id,
    private.payout_facts(w),
    ''
from public.withdrawals as w
where w.payout_reference is not null
union all
select
    'I48',
    'correction',
    c.id,
    'correction.' || v.what,
    v.at,
    array['admin:' || v.decided_by],
    v.roles,
    c.user_id,
    private.correction_facts(c) || case when v.what = 'proposed' then '{"decision_no": null}' else '{}' end::jsonb,
    ''
from private.corrections as c
cross join
    lateral (
        values
        ('proposed', c.proposed_by, c.proposed_at, array['super_admin']),
        ('confirmed', c.confirmed_by, c.confirmed_at, array['super_admin', 'finance_admin']),
        ('discarded', c.discarded_by, c.discarded_at, array['super_admin', 'finance_admin'])
    ) as v (what, decided_by, at, roles)
where v.decided_by is not null;
comment on view private.due_audit_entries is
'The entries that requests, decisions, payouts and corrections must have: what each says, when, who may have written it (null: anybody with one of the roles) and in which role, and of which rest of a deposit. rule is the ledger check that compares them.';

create function private.uuid_or_null(p_text text) returns uuid
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    return case when p_text ~ '\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z' then p_text::uuid end;
end
$$;
comment on function private.uuid_or_null(text) is 'This text as an id; null where it is none.';

-- Entries say all that a row has since before the schema was first recorded, so no statement makes later ones earlier.
create view private.earlier_entries as
select
    least(s.earlier_id, f.id) as last_id,
    f.id as schema_id
from private.audit_state as s
cross join (
    select min(l.id) as id from private.audit_log as l
    -- As in the index.
    where l.action collate "C" = 'schema.recorded'
) as f;
comment on view private.earlier_entries is
'The last entry of the audit log that may say less than a row has, and the one of the first record of the schema: up to it deposits have no kind.';

create view private.money_audit_entries as
select
    r.rule,
    l.id,
    l.at,
    l.actor,
    l.action,
    l.object_id,
    l.payload ->> 'user_id' as user_text,
    l.payload ->> 'actor_role' as actor_role,
    l.id <= s.last_id as is_earlier,
    l.id <= s.last_id and l.payload ? 'backfilled' as is_backfilled,
    -- Entries of earlier corrections have a value where there is none.
    case
        when l.id <= s.last_id then l.payload - array['actor_role', 'request_id', 'backfilled', 'receipt', 'value']
        -- Why a payout with warnings was recorded stands in no row: its member would read it.
        else l.payload - array['actor_role', 'request_id', 'receipt', 'payout_reason', 'warnings']
    end as facts,
    coalesce(l.payload ->> 'rest_no', '') as rest_no,
    l.id <= s.schema_id and not l.payload ? 'kind' as is_without_kind
from private.audit_log as l
inner join (
    values
    ('I43', 'deposit.requested'), ('I43', 'deposit.reference_added'),
    ('I44', 'withdrawal.requested'),
    ('I45', 'deposit.approved'), ('I45', 'deposit.rejected'), ('I45', 'deposit.cancelled'),
    ('I45', 'deposit.rest_asked'),
    ('I46', 'withdrawal.approved'), ('I46', 'withdrawal.rejected'), ('I46', 'withdrawal.cancelled'),
    ('I47', 'withdrawal.paid'),
    ('I48', 'correction.proposed'), ('I48', 'correction.confirmed'), ('I48', 'correction.discarded')
) as r (rule, action) on l.action = r.action
cross join private.earlier_entries as s;
comment on view private.money_audit_entries is 'The entries that private.due_audit_entries asks for, and what they say beside role, request and receipt.';

create function private.audit_discrepancies(p_objects uuid[] default null)
returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    -- Most requests are deposits: their ids would be looked for among the withdrawals once for each kind of entry.
    v_withdrawals uuid[] := array(select w.id from public.withdrawals as w where w.id = any(p_objects));
begin
    return query
    select
        coalesce(d.rule, e.rule),
        coalesce(d.object_id, e.object_id) || ' ' || coalesce(d.action, e.action),
        coalesce(d.user_id, private.uuid_or_null(e.user_text)),
        pg_catalog.jsonb_build_object('entry', e.id, 'says', e.facts, 'is', d.facts)
    from (
        select a.* from private.due_audit_entries as a
        where p_objects is null or a.object_id = any(case a.object_type when 'withdrawal' then v_withdrawals else p_objects end)
    ) as d
    full join (
        select a.* from private.money_audit_entries as a
        where p_objects is null or a.object_id = any(p_objects)
    ) as e on d.object_id = e.object_id and d.action = e.action and d.rest_no = e.rest_no
    where
        d.object_id is null or e.id is null
        or (d.actors is not null and e.actor <> all(d.actors))
        or (d.roles is not null and not e.is_backfilled and coalesce(e.actor_role <> all(d.roles), true))
        or (e.is_earlier and not d.facts @> e.facts)
        or (not e.is_earlier and (e.facts <> case when e.is_without_kind then d.facts - 'kind' else d.facts end or e.at is distinct from d.at))
    union all
    -- One entry for each.
    select
        min(e.rule),
        e.object_id || ' ' || e.action || ' twice',
        min(private.uuid_or_null(e.user_text)::text)::uuid,
        pg_catalog.jsonb_build_object('entries', count(*))
    from (
        select m.object_id, m.action, m.rest_no
        from private.money_audit_entries as m
        where p_objects is null or m.object_id = any(p_objects)
        group by m.object_id, m.action, m.rest_no
        having count(*) > 1
    ) as t
    inner join private.money_audit_entries as e on t.object_id = e.object_id and t.action = e.action and t.rest_no = e.rest_no
    group by e.object_id, e.action, e.rest_no;
end
$$;
comment on function private.audit_discrepancies(uuid[]) is
'Of these requests and corrections (null: all), those that differ from their entries of the audit log, have none or more than one, or were decided in a role that may not; and such entries without their row.';
