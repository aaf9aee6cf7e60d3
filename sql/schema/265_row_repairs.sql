-- Rows of money that are wrong in themselves are made again what their sources say, by a correction of kind repair_rows:
-- one super administrator proposes, another administrator confirms. Nobody types what is written. A request, its decision
-- and a correction follow from their entries of the audit log, a journal row from its request, a bonus's journal rows from
-- the bonus and the decisions whose numbers and times they have. What is missing is added; what was changed is set back;
-- what the product never wrote is taken out, and stays whole in the correction and its entry, for no row that is added
-- could make one of two equal rows be the only one.
-- Sums stay as they are, because they never followed the damage: only what is derived from the journal follows it here. A
-- bonus that tree and packages do not explain is the reconciliation's and is left alone with its journal.

create view private.sound_entries as
select
    l.object_id,
    l.action,
    l.at,
    l.actor,
    l.payload - array['actor_role', 'request_id'] as facts
from private.audit_log as l
cross join private.earlier_entries as s
where l.id > s.last_id and l.hash = private.entry_hash(l);
comment on view private.sound_entries is 'Entries of the audit log that are as they were written, and what they say beside role and request.';

create view private.due_request_rows as
select
    'deposit'::public.transaction_type as transaction_type,
    d.id as reference_id,
    d.user_id,
    d.amount::numeric as amount,
    (case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end)::public.transaction_status as status,
    d.created_at,
    d.decision_no
from public.deposits as d
union all
select
    'withdrawal',
    w.id,
    w.user_id,
    -w.amount,
    (case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end)::public.transaction_status,
    w.created_at,
    w.decision_no
from public.withdrawals as w
union all
select
    (case c.kind when 'void_deposit' then 'deposit' else 'withdrawal' end)::public.transaction_type,
    c.id,
    c.user_id,
    coalesce(-d.amount, w.amount),
    'completed',
    c.confirmed_at,
    c.decision_no
from private.corrections as c
left join public.deposits as d on c.kind = 'void_deposit' and c.target_id = d.id
left join public.withdrawals as w on c.kind = 'void_withdrawal' and c.target_id = w.id
where c.kind in ('void_deposit', 'void_withdrawal') and c.confirmed_by is not null;
comment on view private.due_request_rows is 'The journal row that each request has, and each correction that voids one.';

create function private.money_as_text(p_row jsonb) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_object_agg(f.key, case
        when pg_catalog.jsonb_typeof(f.value) = 'number' and f.key in ('amount', 'volume', 'value', 'reentry_amount', 'balance_after')
            then pg_catalog.to_jsonb(private.money((f.value #>> '{}')::numeric))
        else f.value
    end)
    from pg_catalog.jsonb_each(p_row) as f
$$;
comment on function private.money_as_text(jsonb) is 'A row of money as JSON, with its amounts as text.';

-- The change of a row: without the old one it is added, without the new one taken out.
create type private.row_change as (
    table_name regclass,
    key jsonb,
    old jsonb,
    new jsonb
);
comment on type private.row_change is 'A row of a table, with its key, as it is and as its sources say.';

create function private.write_rows(p_changes private.row_change[]) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_change private.row_change;
    v_table regclass;
    v_columns text;
    v_key text;
    v_place tid;
    v_done jsonb := '[]'::jsonb;
begin
    -- Rows are taken out first: one may stand in the place of what is right.
    for v_change in
        select c.table_name, c.key, c.old, c.new from pg_catalog.unnest(p_changes) with ordinality as c (table_name, key, old, new, place)
        order by c.new is null desc, c.place
    loop
        continue when (v_change).old is not distinct from (v_change).new;
        v_table := (v_change).table_name;
        select pg_catalog.string_agg(pg_catalog.quote_ident(f.key), ', ') into v_columns
        from pg_catalog.jsonb_object_keys(private.changed_fields((v_change).new, coalesce((v_change).old, '{}'))) as f (key);
        select pg_catalog.string_agg(pg_catalog.quote_ident(f.key), ', ') into v_key
        from pg_catalog.jsonb_object_keys((v_change).key) as f (key);
        if (v_change).old is null then
            execute pg_catalog.format(
                'insert into %1$s (%2$s) select %2$s from pg_catalog.jsonb_populate_record(null::%1$s, $1)', v_table, v_columns
            ) using (v_change).new;
        else
            execute pg_catalog.format(
                'select t.ctid from %1$s as t where (%2$s) = (select %2$s from pg_catalog.jsonb_populate_record(null::%1$s, $1))', v_table, v_key
            ) into strict v_place using (v_change).key;
            if (v_change).new is null then
                perform private.take_out_parts(v_table::text, (v_change).key);
                execute pg_catalog.format('delete from %s as t where t.ctid = $1', v_table) using v_place;
            else
                execute pg_catalog.format(
                    'update %1$s as t set (%2$s) = (select %2$s from pg_catalog.jsonb_populate_record(null::%1$s, $1)) where t.ctid = $2',
                    v_table, v_columns
                ) using (v_change).new, v_place;
            end if;
        end if;
        v_done := v_done || private.row_change_json(v_change);
    end loop;
    return v_done;
end
$$;
comment on function private.write_rows(private.row_change[]) is
'Adds rows, takes them out or sets back what differs; returns what was and what is. Call with app.repair set to rows.';

create function private.row_change_json(p_change private.row_change) returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'table', (p_change).table_name::text, 'id', coalesce((p_change).key -> 'id', (p_change).key -> 'deposit_id'),
        'old', private.money_as_text(case when (p_change).new is null then (p_change).old else private.changed_fields((p_change).old, (p_change).new) end),
        'new', private.money_as_text(case when (p_change).old is null then (p_change).new else private.changed_fields((p_change).new, (p_change).old) end)
    )
$$;
comment on function private.row_change_json(private.row_change) is 'What is said of a changed row: what differed, and the whole row where it is added or taken out.';

-- Parts of a request that nobody typed, or that say the same once more.
create function private.take_out_parts(p_table text, p_key jsonb) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_id uuid := (p_key ->> 'id')::uuid;
begin
    if p_table = 'public.deposits' then
        delete from private.deposit_rests as r where r.deposit_id = v_id;
        delete from private.deposit_receipts as r where r.deposit_id = v_id;
    end if;
    if p_table in ('public.deposits', 'public.withdrawals') then
        delete from private.request_texts as t where t.request_id = v_id;
        delete from private.transfer_keys as k where k.request_id = v_id;
    end if;
end
$$;
comment on function private.take_out_parts(text, jsonb) is 'Takes out what belongs to a request that is taken out.';

create view private.recorded_requests as
select
    e.object_id as id,
    min(split_part(e.action, '.', 1)) as noun,
    (array_agg(e.facts) filter (where s.step = 1))[1] as request,
    min(e.at) filter (where s.step = 1) as requested_at,
    (array_agg(e.facts) filter (where s.step = 2))[1] as decision,
    min(split_part(e.action, '.', 2)) filter (where s.step = 2) as verb,
    case min(split_part(e.action, '.', 2)) filter (where s.step = 2)
        when 'approved' then 'approved' when 'rejected' then 'rejected' when 'cancelled' then 'rejected' else 'pending'
    end as status,
    min(e.at) filter (where s.step = 2) as decided_at,
    min(substr(e.actor, 7)) filter (where s.step = 2) as decided_by,
    min(e.facts ->> 'payout_reference') filter (where s.step = 3) as payout_reference,
    min(e.at) filter (where s.step = 3) as paid_at
from private.sound_entries as e
inner join (
    values
    ('deposit.requested', 1), ('withdrawal.requested', 1), ('correction.proposed', 1),
    ('deposit.approved', 2), ('deposit.rejected', 2), ('deposit.cancelled', 2),
    ('withdrawal.approved', 2), ('withdrawal.rejected', 2), ('withdrawal.cancelled', 2),
    ('correction.confirmed', 2), ('correction.discarded', 2),
    ('withdrawal.paid', 3)
) as s (action, step) on e.action = s.action
group by e.object_id
-- Of two entries none is right.
having
    count(*) filter (where s.step = 1) = 1
    and count(*) filter (where s.step = 2) <= 1
    and count(*) filter (where s.step = 3) <= 1;
comment on view private.recorded_requests is
'What the audit log says of each request and correction: the request, the decision and the payout.';

create function private.has_no_entry(p_id uuid) returns boolean
language sql stable set search_path = '' as $$
    select not exists (
        select from private.audit_log as l
        where l.object_id = p_id and l.action in ('deposit.requested', 'withdrawal.requested', 'correction.proposed')
    )
$$;
comment on function private.has_no_entry(uuid) is 'Whether no entry says that this was requested or proposed: the product never wrote such a row.';

create function private.requests_to_restore(p_user_id uuid) returns uuid[]
language sql stable set search_path = '' as $$
    select array(
        select d.id from public.deposits as d where d.user_id = p_user_id
        union
        select w.id from public.withdrawals as w where w.user_id = p_user_id
        union
        select c.id from private.corrections as c
        -- The last entry of the one that is being confirmed is yet to be written.
        where c.user_id = p_user_id and c.confirmed_in is distinct from pg_catalog.pg_current_xact_id_if_assigned()
        union
        -- Rows that are gone.
        select private.uuid_or_null(pg_catalog.split_part(a.object, ' ', 2)) from private.alarms as a
        where a.kind = 'ledger_violation' and a.ended_at is null and a.user_id = p_user_id
    )
$$;
comment on function private.requests_to_restore(uuid) is 'A member''s requests and corrections, and those that an alarm misses.';

create function private.correction_changes(p_ids uuid[]) returns private.row_change[]
language sql stable set search_path = '' as $$
    select array(
        select row(
            'private.corrections', pg_catalog.jsonb_build_object('id', i.id), case when c.id is not null then pg_catalog.to_jsonb(c) end,
            case when q.id is not null then pg_catalog.to_jsonb(pg_catalog.jsonb_populate_record(
                c, q.request || pg_catalog.jsonb_build_object(
                    'id', i.id, 'proposed_at', q.requested_at, 'decision_no', q.decision -> 'decision_no',
                    'confirmed_at', case q.verb when 'confirmed' then q.decided_at end,
                    'confirmed_by', case q.verb when 'confirmed' then q.decided_by end,
                    -- A row that is deleted says no more than that its transaction is over.
                    'confirmed_in', case q.verb when 'confirmed' then coalesce(c.confirmed_in, '1') end,
                    'discarded_at', case q.verb when 'discarded' then q.decided_at end,
                    'discarded_by', case q.verb when 'discarded' then q.decided_by end
                )
            )) end
        )::private.row_change
        from pg_catalog.unnest(p_ids) as i (id)
        left join private.corrections as c on i.id = c.id
        left join lateral (select r.* from private.recorded_requests as r where r.id = i.id and r.noun = 'correction') as q on true
        where q.id is not null or (c.id is not null and private.has_no_entry(c.id))
        order by i.id
    )
$$;
comment on function private.correction_changes(uuid[]) is 'What the audit log says of these corrections, and what they are.';

create function private.request_changes(p_ids uuid[]) returns private.row_change[]
language sql stable set search_path = '' as $$
    select array(
        select row(
            'public.deposits', pg_catalog.jsonb_build_object('id', i.id), case when d.id is not null then pg_catalog.to_jsonb(d) end,
            case when q.id is not null then pg_catalog.to_jsonb(pg_catalog.jsonb_populate_record(
                d, q.request || pg_catalog.jsonb_build_object(
                    'id', i.id, 'created_at', q.requested_at, 'receipt_url', coalesce(q.request #>> '{receipt,url}', d.receipt_url),
                    'reference_key', case
                        when d.reference_number = q.request ->> 'reference_number' then d.reference_key
                        else (private.reference_keys(q.request ->> 'reference_number'))[1]
                    end,
                    'status', q.status,
                    'admin_notes', q.decision -> 'reason', 'decision_no', q.decision -> 'decision_no',
                    'received_amount', q.decision -> 'received_amount', 'decided_at', q.decided_at,
                    'decided_by', case when q.verb <> 'cancelled' then q.decided_by end, 'voided_at', v.confirmed_at
                )
            )) end
        )::private.row_change
        from pg_catalog.unnest(p_ids) as i (id)
        left join public.deposits as d on i.id = d.id
        left join lateral (select r.* from private.recorded_requests as r where r.id = i.id and r.noun = 'deposit') as q on true
        left join private.confirmed_voids as v on i.id = v.target_id
        where (q.id is not null and (d.id is not null or q.request operator(pg_catalog.?&) array['receipt', 'kind']))
            or (d.id is not null and private.has_no_entry(d.id))
        order by i.id
    ) || array(
        select row(
            'public.withdrawals', pg_catalog.jsonb_build_object('id', i.id), case when w.id is not null then pg_catalog.to_jsonb(w) end,
            case when q.id is not null then pg_catalog.to_jsonb(pg_catalog.jsonb_populate_record(
                w, q.request || pg_catalog.jsonb_build_object(
                    'id', i.id, 'created_at', q.requested_at,
                    'status', q.status,
                    'admin_notes', q.decision -> 'reason', 'decision_no', q.decision -> 'decision_no', 'decided_at', q.decided_at,
                    'decided_by', case when q.verb <> 'cancelled' then q.decided_by end,
                    'payout_reference', q.payout_reference, 'payout_at', q.paid_at, 'voided_at', v.confirmed_at
                )
            )) end
        )::private.row_change
        from pg_catalog.unnest(p_ids) as i (id)
        left join public.withdrawals as w on i.id = w.id
        left join lateral (select r.* from private.recorded_requests as r where r.id = i.id and r.noun = 'withdrawal') as q on true
        left join private.confirmed_voids as v on i.id = v.target_id
        where q.id is not null or (w.id is not null and private.has_no_entry(w.id))
        order by i.id
    )
$$;
comment on function private.request_changes(uuid[]) is 'What the audit log says of these deposits and withdrawals, and what they are.';

create function private.rest_changes(p_ids uuid[]) returns private.row_change[]
language sql stable set search_path = '' as $$
    select array(
        select row(
            'private.deposit_rests',
            pg_catalog.jsonb_build_object('deposit_id', coalesce(r.deposit_id, q.deposit_id), 'no', coalesce(r.no, q.no)),
            case when r.no is not null then pg_catalog.to_jsonb(r) end,
            case when q.no is not null then pg_catalog.to_jsonb(pg_catalog.jsonb_populate_record(null::private.deposit_rests, pg_catalog.to_jsonb(q))) end
        )::private.row_change
        from (select e.* from private.deposit_rests as e where e.deposit_id = any(p_ids)) as r
        full join (
            select
                a.object_id as deposit_id, n.no, a.facts -> 'received_amount' as received_amount, pg_catalog.substr(a.actor, 7) as asked_by, a.at as asked_at,
                b.facts -> 'reference_number' as reference_number, b.at as referenced_at,
                coalesce(lead(a.at) over (partition by a.object_id order by n.no), d.decided_at) as ended_at
            from private.sound_entries as a
            inner join public.deposits as d on a.object_id = d.id
            cross join lateral (select (a.facts ->> 'rest_no')::integer as no) as n
            left join private.sound_entries as b
                on a.object_id = b.object_id and b.action = 'deposit.reference_added' and a.facts -> 'rest_no' = b.facts -> 'rest_no'
            where a.object_id = any(p_ids) and a.action = 'deposit.rest_asked'
        ) as q on r.deposit_id = q.deposit_id and r.no = q.no
        order by coalesce(r.deposit_id, q.deposit_id), coalesce(r.no, q.no)
    )
$$;
comment on function private.rest_changes(uuid[]) is 'What the audit log says of the rests of these deposits, and what they are.';

-- Search texts follow from the request; receipts and keys of transfers are shown, because they decide what is credited.
create function private.restore_parts(p_ids uuid[]) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_row record;
    v_done jsonb := '[]'::jsonb;
begin
    for v_row in
        select
            d.id, private.receipt_name(d.receipt_url) as name, q.request #>> '{receipt,etag}' as etag,
            f.name as old_name, f.etag as old_etag
        from public.deposits as d
        cross join lateral (select r.* from private.recorded_requests as r where r.id = d.id) as q
        left join private.deposit_receipts as f on d.id = f.deposit_id
        where d.id = any(p_ids) and q.request operator(pg_catalog.?) 'receipt'
            and (f.name, f.etag) is distinct from (private.receipt_name(d.receipt_url), q.request #>> '{receipt,etag}')
    loop
        delete from private.deposit_receipts as f where f.deposit_id = v_row.id;
        v_done := v_done || private.row_change_json(row(
            'private.deposit_receipts', pg_catalog.jsonb_build_object('id', v_row.id),
            pg_catalog.jsonb_build_object('name', v_row.old_name, 'etag', v_row.old_etag),
            pg_catalog.jsonb_build_object('name', v_row.name, 'etag', v_row.etag)
        )::private.row_change);
    end loop;
    insert into private.deposit_receipts (deposit_id, name, etag)
    select d.id, private.receipt_name(d.receipt_url), q.request #>> '{receipt,etag}'
    from public.deposits as d
    cross join lateral (select r.* from private.recorded_requests as r where r.id = d.id) as q
    where d.id = any(p_ids) and q.request operator(pg_catalog.?) 'receipt'
    on conflict (deposit_id) do nothing;
    for v_row in
        select i.id, k.keys as old, n.keys as new, n.texts
        from pg_catalog.unnest(p_ids) as i (id)
        cross join lateral (
            select pg_catalog.string_agg(pg_catalog.concat_ws(' ', t.key, t.kind, case when t.is_payout then 'payout' end), ', ' order by t.key) as keys
            from private.transfer_keys as t where t.request_id = i.id
        ) as k
        cross join lateral (
            select
                pg_catalog.string_agg(distinct pg_catalog.concat_ws(' ', t.key, t.kind, case when m.is_payout then 'payout' end), ', ') as keys,
                pg_catalog.jsonb_object_agg(m.reference, m.is_payout) as texts
            from (
                select d.reference_number as reference, false as is_payout from public.deposits as d where d.id = i.id
                union
                select r.reference_number, false from private.deposit_rests as r where r.deposit_id = i.id and r.reference_number is not null
                union
                select w.payout_reference, true from public.withdrawals as w where w.id = i.id and w.payout_reference is not null
            ) as m
            cross join lateral private.due_transfer_keys(m.reference) as t
        ) as n
        where k.keys is distinct from n.keys
    loop
        delete from private.transfer_keys as t where t.request_id = v_row.id;
        perform private.register_transfer(v_row.id, t.key, t.value::boolean) from pg_catalog.jsonb_each_text(v_row.texts) as t;
        v_done := v_done || private.row_change_json(row(
            'private.transfer_keys', pg_catalog.jsonb_build_object('id', v_row.id),
            pg_catalog.jsonb_build_object('keys', v_row.old), pg_catalog.jsonb_build_object('keys', v_row.new)
        )::private.row_change);
    end loop;
    insert into private.request_texts (request_id, text)
    select d.id, pg_catalog.lower(d.reference_number) from public.deposits as d where d.id = any(p_ids)
    union
    select r.deposit_id, pg_catalog.lower(r.reference_number) from private.deposit_rests as r where r.deposit_id = any(p_ids) and r.reference_number is not null
    union
    select w.id, pg_catalog.lower(w.wallet_address) from public.withdrawals as w where w.id = any(p_ids)
    on conflict do nothing;
    return v_done;
end
$$;
comment on function private.restore_parts(uuid[]) is
'Makes receipts, keys of transfers and search texts of these requests what the requests say; returns the changed receipts and keys.';

create function private.users_in(p_changes jsonb) returns uuid[]
language sql immutable set search_path = '' as $$
    select array(
        select v.id::uuid
        from pg_catalog.jsonb_array_elements(p_changes) as d (value)
        cross join lateral (values (d.value #>> '{old,user_id}'), (d.value #>> '{new,user_id}')) as v (id)
        where v.id is not null
        group by v.id
        order by v.id
    )
$$;
comment on function private.users_in(jsonb) is 'The members whose rows were or are these changed ones.';

create function private.restore_requests(p_user_id uuid) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_users uuid[] := array[p_user_id];
    v_ids uuid[];
    v_more uuid[];
    v_done jsonb := '[]'::jsonb;
begin
    -- A member who was given another's request may have lost one.
    loop
        v_ids := array(select distinct i.id from pg_catalog.unnest(v_users) as u (id), pg_catalog.unnest(private.requests_to_restore(u.id)) as i (id));
        -- Each after what explains it.
        v_done := v_done || private.write_rows(private.correction_changes(v_ids));
        v_done := v_done || private.write_rows(private.request_changes(v_ids));
        v_done := v_done || private.write_rows(private.rest_changes(v_ids));
        v_done := v_done || private.restore_parts(v_ids);
        v_more := array(select u.id from pg_catalog.unnest(private.users_in(v_done)) as u (id) where u.id <> all(v_users));
        exit when v_more = '{}';
        v_users := v_users || v_more;
    end loop;
    return v_done;
end
$$;
comment on function private.restore_requests(uuid) is
'Makes the requests and corrections of a member, and of whom they were mixed up with, what their entries of the audit log say; returns the changes.';

create function private.restore_request_rows(p_user_id uuid) returns jsonb
language plpgsql volatile set search_path = '' as $$
begin
    return private.write_rows(array(
        select row('public.transactions', pg_catalog.jsonb_build_object('id', r.id), r.old, r.new)::private.row_change
        from (
            select
                t.id,
                case when t.id is not null then pg_catalog.to_jsonb(t) end as old,
                -- The one that is as it should be, otherwise the first, is the request's.
                case when row_number() over (
                    partition by d.transaction_type, d.reference_id order by (to_jsonb(t) @> d.row) desc, t.id
                ) = 1 then coalesce(pg_catalog.to_jsonb(t), '{}') || d.row end as new
            from (
                select
                    q.transaction_type, q.reference_id,
                    pg_catalog.to_jsonb(q) || pg_catalog.jsonb_build_object('amount', q.amount::public.usd) as row
                from private.due_request_rows as q
                where q.user_id = p_user_id
            ) as d
            left join public.transactions as t on d.reference_id = t.reference_id
            union all
            select t.id, pg_catalog.to_jsonb(t), null
            from public.transactions as t
            where t.user_id = p_user_id and t.transaction_type <> 'bonus'
                and not exists (select from private.due_request_rows as q where q.reference_id = t.reference_id)
        ) as r
        order by r.id
    ));
end
$$;
comment on function private.restore_request_rows(uuid) is
'Makes the journal rows of a member''s requests what the requests say, one for each; returns the changes.';
