-- The audit log's last word on who decides and where money goes must hold: a member's wallet, email, status, hold and sponsor,
-- an administrator's email, role, activity, password and second step, each setting, and the receipt of a
-- deposit that waits. The row counts its changes and the entry says the count, so the entry with the highest one is the
-- last, whatever the clock said, and a change without an entry shows even after it was taken back. What differs stops
-- decisions about this member, by this administrator, or of what the setting governs, and nobody else's.

create function private.state_differences(p_entry_id bigint, p_says jsonb, p_is jsonb) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'entry', p_entry_id,
        'says', pg_catalog.jsonb_object_agg(d.name, d.says) filter (where p_says is not null),
        'is', pg_catalog.jsonb_object_agg(d.name, d.is) filter (where p_is is not null)
    )
    from (
        select
            coalesce(s.key, i.key) as name,
            -- The beginning of a digest is enough to see that it is another.
            pg_catalog.regexp_replace(s.value #>> '{}', '\A([0-9a-f]{8})[0-9a-f]{56}\Z', '\1') as says,
            pg_catalog.regexp_replace(i.value #>> '{}', '\A([0-9a-f]{8})[0-9a-f]{56}\Z', '\1') as is
        from pg_catalog.jsonb_each(p_says) as s full join pg_catalog.jsonb_each(p_is) as i on s.key = i.key
        where s.value is distinct from i.value
    ) as d
$$;
comment on function private.state_differences(bigint, jsonb, jsonb) is
'The figures of an alarm: the last entry, and where it says something else than the row is; digests by their first eight digits.';

create function private.member_state_violations(p_part private.ledger_part) returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set plan_cache_mode = 'force_custom_plan' set search_path = '' as $$
declare
    v_ids uuid[] := case
        when not private.is_everybody(p_part) then array(select p.id from private.profiles as p where private.is_asked(p_part, p.user_id))
    end;
begin
    return query
    with recorded as materialized (
        select distinct on (l.object_id)
            l.object_id,
            l.id,
            l.payload -> 'state' as state
        from private.audit_log as l
        where
            l.object_id is not null and l.payload operator(pg_catalog.?) 'state' and l.object_type = 'profile'
            and private.state_revision(l.payload) is not null
            and (v_ids is null or l.object_id = any(v_ids))
        order by l.object_id, private.state_revision(l.payload) desc, l.id desc
    ),

    due as materialized (
        select
            p.id,
            p.user_id,
            private.member_state(p) || pg_catalog.jsonb_build_object('revision', p.revision) as state,
            -- Sample data has no account to sign in with.
            case
                when u.id is not null and p.closed_at is null and pg_catalog.lower(u.email) is distinct from p.email
                    then pg_catalog.jsonb_build_array(pg_catalog.lower(u.email), p.email)
            end as wrong_emails
        from private.profiles as p
        left join auth.users as u on p.user_id = u.id
        where v_ids is null or p.id = any(v_ids)
    )

    -- I51 Wallet, email, status and hold of a member are what the last entry says, and the email is the one to sign in with.
    select
        'I51', d.id::text, d.user_id,
        private.state_differences(
            r.id,
            r.state - array['sponsor', 'joined_at'] || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('sign_in_email', d.wrong_emails -> 0)),
            d.state - array['sponsor', 'joined_at'] || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('sign_in_email', d.wrong_emails -> 1))
        )
    from due as d
    left join recorded as r on d.id = r.object_id
    where r.state - array['sponsor', 'joined_at'] is distinct from d.state - array['sponsor', 'joined_at'] or d.wrong_emails is not null
    union all
    -- I54 A member's sponsor and date of joining are what the entries say: they decide who earns.
    select
        'I54', d.id::text, d.user_id,
        private.state_differences(
            r.id, pg_catalog.jsonb_build_object('sponsor', r.state -> 'sponsor', 'joined_at', r.state -> 'joined_at'),
            pg_catalog.jsonb_build_object('sponsor', d.state -> 'sponsor', 'joined_at', d.state -> 'joined_at')
        )
    from due as d
    inner join recorded as r on d.id = r.object_id
    where (r.state -> 'sponsor', r.state -> 'joined_at') is distinct from (d.state -> 'sponsor', d.state -> 'joined_at')
    union all
    -- A closed account stays, so every member with an entry is there. Only the check of all looks for those who are not.
    select 'I51', r.object_id::text, r.object_id, private.state_differences(r.id, r.state, null)
    from recorded as r
    where v_ids is null and not exists (select from private.profiles as p where p.id = r.object_id)
    union all
    -- I20 The receipt of a deposit that waits is the one that came with it, under the name by which it is opened.
    select 'I20', d.id::text, d.user_id, private.state_differences(l.id, l.payload -> 'receipt', f.receipt)
    from public.deposits as d
    inner join private.audit_log as l on d.id = l.object_id and l.action = 'deposit.requested' and l.payload operator(pg_catalog.?) 'receipt'
    left join private.deposit_receipts as r on d.id = r.deposit_id
    cross join lateral (select private.receipt_facts(d.receipt_url, r.etag) as receipt) as f
    where
        d.status = 'pending' and private.is_asked(p_part, d.user_id)
        and (l.payload -> 'receipt' is distinct from f.receipt or r.name is distinct from private.receipt_name(d.receipt_url));
end
$$;
comment on function private.member_state_violations(private.ledger_part) is
'Rules about what these members (null: all) are and sent, compared with the audit log. I51, I54, and I20 of deposits that wait.';

-- The maker of an account must be a known administrator too.
create view private.known_administrators as
with recursive made as (
    select distinct on (l.object_id)
        l.object_id as id,
        l.actor
    from private.audit_log as l
    -- As in the index.
    where
        l.action collate "C" in ('admin.created', 'admin.recorded', 'admin.recovered')
        and l.payload -> 'state' ? 'role' and l.object_id is not null
    order by l.object_id, l.id
),

known as (
    select m.id from made as m
    where not starts_with(m.actor, 'admin:')
    union
    select m.id from known as k inner join made as m on m.actor = 'admin:' || k.id
)

select k.id from known as k;
comment on view private.known_administrators is
'Administrators whom the server made, or a known administrator: those that an account made of which nothing says who made it are none.';

create view private.administrator_discrepancies as
select
    i.id,
    private.state_differences(
        e.id,
        e.state || case when e.is_allowed then '{}' else '{"actor": "no super admin"}' end::jsonb,
        case when a.id is not null then private.administrator_state(a) || jsonb_build_object('revision', a.revision) end
    ) as details
from (
    select b.id from private.admin_users as b
    union
    select l.object_id from private.audit_log as l
    -- As in the index.
    where l.action collate "C" = 'admin.created' and l.object_id is not null
) as i
left join private.admin_users as a on i.id = a.id
left join lateral (
    select
        l.id,
        l.payload -> 'state' as state,
        not starts_with(l.actor, 'admin:')
        or (
            (l.payload ->> 'actor_role' = 'super_admin' or l.actor = 'admin:' || i.id)
            and l.actor in (select 'admin:' || k.id from private.known_administrators as k)
        ) as is_allowed
    from private.audit_log as l
    where l.object_id = i.id and l.payload ? 'state' and private.state_revision(l.payload) is not null
    order by private.state_revision(l.payload) desc, l.id desc
    limit 1
) as e on true
where
    a.id is null
    or e.is_allowed is distinct from true
    or e.state is distinct from private.administrator_state(a) || jsonb_build_object('revision', a.revision);
comment on view private.administrator_discrepancies is
'Administrators who are not what their last entry of the audit log says, or whom nobody may have made so; and entries without an administrator.';

create view private.setting_discrepancies as
select
    coalesce(s.key, e.key) as key,
    private.state_differences(e.id, e.state, case when s.key is not null then private.setting_state(s) end) as details
from private.settings as s
full join (
    select distinct on (l.payload ->> 'key')
        l.payload ->> 'key' as key,
        l.id,
        l.payload -> 'state' as state
    from private.audit_log as l
    where l.action = 'setting.changed' and l.payload ? 'state' and private.state_revision(l.payload) is not null
    order by l.payload ->> 'key', private.state_revision(l.payload) desc, l.id desc
) as e on s.key = e.key
where s.key is null or e.state is distinct from private.setting_state(s);
comment on view private.setting_discrepancies is 'Settings that are not what their last entry of the audit log says, or are gone.';

create function private.standing_violations() returns table (rule text, object text, user_id uuid, details jsonb)
language plpgsql stable set search_path = '' as $$
begin
    return query
    -- I25 No administrator session lasts longer than eight hours.
    select 'I25', s.session_token::text, null::uuid, null::jsonb
    from public.admin_sessions as s
    left join private.admin_session_activity as a on s.session_token = a.session_token
    where a.session_token is null or s.expires_at > a.started_at + interval '8 hours 1 second'
    union all
    -- I40 Package sizes, pairing rates and percentages are those of the compensation plan.
    select 'I40', c.object, null, null
    from private.plan_discrepancies as c
    union all
    -- I49 An administrator is what the last entry of the audit log says.
    select 'I49', a.id::text, null, a.details
    from private.administrator_discrepancies as a
    union all
    -- I52 And so is a setting.
    select 'I52', s.key, null, s.details
    from private.setting_discrepancies as s;
end
$$;
comment on function private.standing_violations() is
'Rules about what stays small: administrators, their sessions, the plan, settings. I25, I40, I49, I52.';

-- Rows from before entries said what they are, and those that a migration brings, are taken as they stand.
create function private.backfill_states() returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform private.audit_setting('system', s.key)
    from private.settings as s
    where not exists (
        select 1 from private.audit_log as l
        where l.action = 'setting.changed' and l.payload ->> 'key' = s.key and l.payload operator(pg_catalog.?) 'state'
    )
    order by s.key;
    perform private.audit(
        'system', 'admin.recorded', 'admin_user', a.id,
        '{"backfilled": true}' || private.administrator_entry(a.id)
    )
    from private.admin_users as a
    where not exists (select 1 from private.audit_log as l where l.object_id = a.id and l.payload operator(pg_catalog.?) 'state')
    order by a.id;
    perform private.audit(
        'system', 'member.recorded', 'profile', p.id,
        '{"backfilled": true}' || private.member_entry(p.id)
    )
    from private.profiles as p
    where not exists (select 1 from private.audit_log as l where l.object_id = p.id and l.payload operator(pg_catalog.?) 'state')
    order by p.id;
end
$$;
comment on function private.backfill_states() is
'Audits every setting, administrator and member of whom no entry says what it is. A migration that adds a setting calls it.';

select private.backfill_states();
