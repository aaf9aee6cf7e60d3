-- What was paid out is counted and listed, a payout reference that comes again has to be confirmed, lists ask what has
-- changed meanwhile, the audit log is searched, and deposits show what stands out about a member. Two views stand here as
-- in the schema files: a diff writes their conditions in a way that reads back differently.
SET local check_function_bodies = off;

-- squawk-ignore ban-drop-view
DROP VIEW "private"."counter_discrepancies";

-- squawk-ignore ban-drop-view
DROP VIEW "private"."ledger_violations";

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."add_payout_reference"(public.withdrawals, private.admin_users, text);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."audit_conditions"(text, text, uuid);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."request_counts"(text);

-- squawk-ignore ban-drop-function
DROP FUNCTION "public"."decide_withdrawal"(uuid, text, text, text);

CREATE OR REPLACE FUNCTION private.add_payout_reference (
  p_withdrawal public.withdrawals,
  p_admin      private.admin_users,
  p_reference  text,
  p_shared     boolean
)
  RETURNS public.withdrawals
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_reference text := nullif(pg_catalog.btrim(p_reference, E' \t\r\n'), '');
    v_withdrawal public.withdrawals := p_withdrawal;
begin
    if v_reference is null or v_reference is not distinct from (p_withdrawal).payout_reference then
        return p_withdrawal;
    end if;
    if pg_catalog.length(v_reference) > 200 or not private.is_readable(v_reference) then
        perform private.raise_error(400, 'invalid_reference', 'A payout reference has at most 200 characters, on one line.');
    end if;
    if (p_withdrawal).payout_reference is not null then
        perform private.raise_error(409, 'payout_recorded', 'A payout reference was already recorded for this withdrawal.');
    end if;
    if (p_withdrawal).voided_at is not null then
        perform private.raise_error(409, 'voided', 'This withdrawal was voided.');
    end if;
    if p_shared is not true then
        perform private.require_new_payout((p_withdrawal).id, v_reference);
    end if;
    update public.withdrawals as w set payout_reference = v_reference, payout_at = private.clock()
    where w.id = (p_withdrawal).id
    returning w.* into v_withdrawal;
    perform private.audit(
        'admin:' || (p_admin).id, 'withdrawal.paid', 'withdrawal', v_withdrawal.id, private.payout_facts(v_withdrawal), v_withdrawal.payout_at
    );
    return v_withdrawal;
end
$function$;

CREATE OR REPLACE FUNCTION private.age_text (
  p_age interval
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select case
        when s < 120 then '1 minute'
        when s < 3600 then pg_catalog.floor(s / 60)::text || ' minutes'
        when s < 7200 then '1 hour'
        else pg_catalog.floor(s / 3600)::text || ' hours'
    end
    from (select extract(epoch from p_age) as s) as span
$function$;

CREATE OR REPLACE FUNCTION private.audit_matches (
  p_search text
)
  RETURNS bigint[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_search text := pg_catalog.lower(pg_catalog.btrim(p_search));
    v_digits text := pg_catalog.replace(v_search, '-', '');
    -- Four digits of an id are one row in 65,536.
    v_is_id boolean := v_search ~ '\A[0-9a-f-]+\Z' and pg_catalog.length(v_digits) between 4 and 32;
    v_pattern text := pg_catalog.regexp_replace(pg_catalog.left(v_search, 200), '([\\%_])', '\\\1', 'g') || '%';
    v_members uuid[];
    v_users uuid[];
begin
    select pg_catalog.array_agg(m.id), pg_catalog.array_agg(m.user_id) into v_members, v_users
    from (
        select p.id, p.user_id from private.profiles as p
        where private.member_search_text(p.username, p.display_name, p.email) like '%' || v_pattern and pg_catalog.lower(p.username) like v_pattern
        limit 100
    ) as m;
    return array(
        select f.id
        from (
            (
                select a.id from private.audit_log as a
                where v_is_id and a.object_id between pg_catalog.rpad(v_digits, 32, '0')::uuid and pg_catalog.rpad(v_digits, 32, 'f')::uuid
                order by a.id desc
                limit 10001
            )
            union
            (
                select a.id from private.audit_log as a
                where a.object_id = any(
                    v_members || v_users
                    || array(select d.id from public.deposits as d where d.user_id = any(v_users))
                    || array(select w.id from public.withdrawals as w where w.user_id = any(v_users))
                    || array(select c.id from private.corrections as c where c.user_id = any(v_users))
                    || array(select s.id from public.bot_subscriptions as s where s.user_id = any(v_users))
                )
                order by a.id desc
                limit 10001
            )
            union
            (
                select a.id from private.audit_log as a
                where a.actor = any(array(select 'member:' || u.id from pg_catalog.unnest(v_users) as u (id)))
                order by a.id desc
                limit 10001
            )
            union
            select a.id from private.audit_log as a where v_search ~ '\A[0-9]{1,18}\Z' and a.id = v_search::bigint
        ) as f
        order by f.id desc
        limit 10001
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.audit_page (
  p_actor  text,
  p_action text,
  p_object uuid,
  p_found  bigint[],
  p_limit  integer,
  p_offset integer
)
  RETURNS SETOF private.audit_log
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return query execute pg_catalog.concat(
        'select a.* from private.audit_log as a where true',
        ' and a.actor = ' || pg_catalog.quote_literal(p_actor),
        case when p_action is not null then pg_catalog.format(
            -- An index range that contains the action and, for the part before a dot, all actions of that group.
            ' and a.action collate "C" between %1$L and %2$L and (a.action = %1$L or pg_catalog.starts_with(a.action, %3$L))',
            p_action, p_action || '/', p_action || '.'
        ) end,
        ' and a.object_id = ' || pg_catalog.quote_literal(p_object),
        case when p_found is not null then ' and a.id = any($3)' end,
        ' order by a.id desc limit $1 offset $2'
    ) using p_limit, p_offset, p_found;
end
$function$;

CREATE OR REPLACE FUNCTION private.deposit_flags (
  p_deposit public.deposits,
  p_member  private.profiles
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_same_transfer uuid[] := array(
        select distinct o.deposit_id
        from private.deposit_keys as m
        inner join private.deposit_keys as o on m.key = o.key and m.deposit_id <> o.deposit_id
        where m.deposit_id = (p_deposit).id
    );
    v_same_file uuid[] := array(
        select o.deposit_id
        from private.deposit_receipts as m
        inner join private.deposit_receipts as o on m.etag = o.etag and m.deposit_id <> o.deposit_id
        where m.deposit_id = (p_deposit).id
    );
    v_shared text[] := private.wallet_sharers((p_member).trc20_wallet_address, (p_member).id);
    v_age interval := (p_deposit).created_at - (p_member).created_at;
    -- A day old, and as much as the largest package.
    v_new boolean := v_age < interval '1 day' and (p_deposit).amount >= 1000;
    v_blocked boolean := (p_member).account_status in ('suspended', 'disabled');
begin
    -- Most have none.
    if v_same_transfer = '{}' and v_same_file = '{}' and v_shared = '{}' and not v_new and not v_blocked then
        return '[]'::jsonb;
    end if;
    return (
        select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text))
        from (
            select 'same_reference' as kind, r.text from private.repetition_texts('reference', v_same_transfer) as r (text)
            union all
            select 'same_receipt', r.text from private.repetition_texts('receipt file', v_same_file) as r (text)
            union all
            select 'address_shared', pg_catalog.format('Also the wallet of %s', s.username) from pg_catalog.unnest(v_shared) as s (username)
            union all
            select 'new_account', pg_catalog.format('Requested %s after signing up', private.age_text(v_age)) where v_new
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status) where v_blocked
        ) as f
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.deposit_items (
  p_ids uuid[]
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_agg(
        pg_catalog.to_jsonb(d) || pg_catalog.jsonb_build_object(
            'amount', private.money(d.amount),
            'profile_id', p.id,
            'username', p.username,
            'display_name', p.display_name,
            'email', p.email,
            'account_status', p.account_status,
            'available_balance', private.money(t.available_balance),
            'cash_in_amount', private.money(p.cash_in_amount),
            'package_value', private.money(p.package_value),
            'trc20_wallet_address', p.trc20_wallet_address,
            'joined_at', p.created_at,
            'decided_by_name', coalesce(a.full_name, a.email),
            'due_at', d.created_at + e.due_after,
            'total_deposits', private.money(p.cash_in_amount),
            'package_before', case when d.status = 'pending' then private.money(p.package_value) end,
            'package_after', case when d.status = 'pending' then private.money(greatest(p.package_value, k.value)) end,
            'cash_in_before', case when d.status = 'pending' then private.money(p.cash_in_amount) end,
            'cash_in_after', case when d.status = 'pending' then private.money(p.cash_in_amount + d.amount) end,
            'flags', case when d.status = 'pending' then private.deposit_flags(d, p) else '[]' end
        ) order by u.place
    )
    from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
    inner join public.deposits as d on u.id = d.id
    inner join private.profiles as p on d.user_id = p.user_id
    inner join private.totals as t on d.user_id = t.user_id
    left join private.packages as k on d.amount = k.value
    left join private.admin_users as a on d.decided_by = a.id
    cross join (select private.review_interval() as due_after) as e
$function$;

CREATE OR REPLACE FUNCTION private.request_counts (
  p_noun text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_approved bigint := private.counter_value(p_noun || '_approved_count');
    v_paid bigint;
begin
    if p_noun = 'withdrawals' then
        v_paid := private.counter_value('withdrawals_paid_count');
    end if;
    return pg_catalog.jsonb_build_object(
        'pending', private.counter_value('pending_' || p_noun)::bigint,
        'approved', v_approved,
        'rejected', private.counter_value(p_noun || '_rejected_count')::bigint
    ) || case when v_paid is null then '{}'::jsonb else pg_catalog.jsonb_build_object(
        'paid', v_paid,
        'unpaid', v_approved - v_paid - (
            -- Corrections are few.
            select count(*) from private.corrections as c where c.kind = 'void_withdrawal' and c.confirmed_by is not null
        )
    ) end;
end
$function$;

CREATE OR REPLACE FUNCTION private.request_page (
  p_table       text,
  p_text_column text,
  p_request     private.list_request,
  p_counts      jsonb,
  OUT           ids uuid[],
  OUT           total bigint,
  OUT           more boolean
)
  RETURNS record
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_all bigint := (p_counts ->> 'pending')::bigint + (p_counts ->> 'approved')::bigint + (p_counts ->> 'rejected')::bigint;
    v_status text := coalesce(
        case
            when p_table = 'withdrawals' and (p_request).status = 'paid' then ' and r.payout_reference is not null'
            when p_table = 'withdrawals' and (p_request).status = 'unpaid'
                then ' and r.status = ''approved'' and r.payout_reference is null and r.voided_at is null'
            else ' and r.status = ' || pg_catalog.quote_literal((p_request).status) || '::public.request_status'
        end, ''
    );
    -- Join the member only where needed: without it a page number is counted along an index.
    v_from text := pg_catalog.format(
        'from public.%I as r %s where true', p_table,
        case when (p_request).sort_by = 'username' or (p_request).pattern is not null
            then 'inner join private.profiles as p on r.user_id = p.user_id'
        end
    ) || v_status;
    v_matches text := pg_catalog.format(
        '(private.member_search_text(p.username, p.display_name, p.email) like $1 or lower(r.%I) like $1)', p_text_column
    );
    v_up text;
    v_down text;
    v_found uuid[];
begin
    if (p_request).everything then
        ids := private.newest_requests(p_table, 'public.' || p_table, (p_counts ->> 'pending')::bigint);
        total := v_all;
        return;
    end if;
    if not p_counts ? coalesce((p_request).status, 'pending') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such status.');
    end if;
    select o.up, o.down into v_up, v_down
    from (
        values
        ('created_at', 'r.created_at, r.id', 'r.created_at desc, r.id desc'),
        ('amount', 'r.amount, r.created_at, r.id', 'r.amount desc, r.created_at desc, r.id desc'),
        ('status', 'r.status, r.created_at desc, r.id desc', 'r.status desc, r.created_at, r.id'),
        ('username', 'lower(p.username), r.created_at desc, r.id desc', 'lower(p.username) desc, r.created_at, r.id')
    ) as o (name, up, down)
    where o.name = (p_request).sort_by;
    if (p_request).descending then
        select v_down, v_up into v_up, v_down;
    end if;
    if (p_request).pattern is null then
        total := coalesce((p_counts ->> (p_request).status)::bigint, v_all);
        ids := private.page_ids(v_from, v_up, v_down, p_request, total);
        return;
    end if;
    execute pg_catalog.format(
        $query$
        select array(
            select f.id
            from (
                (
                    select r.id from private.profiles as p inner join public.%1$I as r on p.user_id = r.user_id
                    where private.member_search_text(p.username, p.display_name, p.email) like $1 %2$s
                    limit 10001
                )
                union
                (
                    select r.id from private.request_texts as x inner join public.%1$I as r on x.request_id = r.id
                    where x.text like $1 %2$s
                    limit 10001
                )
            ) as f
            limit 10001
        )
        $query$, p_table, v_status
    ) into v_found using (p_request).pattern;
    total := pg_catalog.cardinality(v_found)::bigint;
    if total > 10000 then
        more := true;
        total := 10000;
        ids := private.page_ids(v_from || ' and ' || v_matches, v_up, v_down, p_request, total, more);
        return;
    end if;
    execute pg_catalog.format(
        'select array(select r.id from public.%I as r inner join private.profiles as p on r.user_id = p.user_id where r.id = any($1) order by %s offset $2 limit $3)',
        p_table, v_up
    ) into ids using v_found, ((p_request).page - 1)::bigint * (p_request).page_size, (p_request).page_size;
end
$function$;

CREATE OR REPLACE FUNCTION private.require_new_payout (
  p_withdrawal_id uuid,
  p_reference     text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_others jsonb;
    v_paid text;
begin
    select
        pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object('username', o.username, 'amount', private.money(o.amount), 'payout_at', o.payout_at) order by o.payout_at desc
        ),
        pg_catalog.string_agg(pg_catalog.format('%s of %s', private.dollars(o.amount), o.username), ', ' order by o.payout_at desc)
    into v_others, v_paid
    from (
        select w.amount, w.payout_at, p.username
        from public.withdrawals as w
        inner join private.profiles as p on w.user_id = p.user_id
        where w.payout_reference is not null and private.reference_keys(w.payout_reference) && private.reference_keys(p_reference)
            and w.id <> p_withdrawal_id
        order by w.payout_at desc
        limit 3
    ) as o;
    if v_others is not null then
        perform private.raise_error(
            409, 'payout_reference_used', pg_catalog.format('This payout reference is already recorded for %s.', v_paid), v_others::text
        );
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.wallet_sharers (
  p_wallet    text,
  p_member_id uuid
)
  RETURNS text[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return array(
        select q.username from private.profiles as q
        where q.trc20_wallet_address = p_wallet and q.id <> p_member_id
        order by q.created_at
        limit 3
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.withdrawal_flags (
  p_withdrawal public.withdrawals,
  p_member     private.profiles
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text)), '[]')
        from (
            select 'checksum' as kind, 'This does not look like a TRC20 address' as text
            where not private.is_trc20_address((p_withdrawal).wallet_address)
            union all
            (
                select
                    'address_changed',
                    pg_catalog.format(
                        'Wallet address changed on %s', pg_catalog.to_char(l.at at time zone 'UTC', 'FMDD Mon YYYY')
                    )
                from private.audit_log as l
                where
                    l.object_id = (p_member).id
                    and l.action = 'member.wallet_changed'
                    and l.payload ->> 'from' is not null
                    and l.at > pg_catalog.now() - interval '7 days'
                order by l.id desc
                limit 1
            )
            union all
            select 'address_shared', pg_catalog.format('Also the wallet of %s', s.username)
            from pg_catalog.unnest(private.wallet_sharers((p_withdrawal).wallet_address, (p_member).id)) as s (username)
            union all
            select 'hold', pg_catalog.format(
                'On hold until %s UTC, 24 hours after a change of %s',
                pg_catalog.to_char((p_member).hold_until at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'),
                case (p_member).hold_reason when 'email' then 'e-mail' when 'factor' then 'second factor' else (p_member).hold_reason end
            )
            where (p_member).hold_until > pg_catalog.now()
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status)
            where (p_member).account_status in ('suspended', 'disabled')
        ) as f
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.withdrawal_items (
  p_ids uuid[]
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_agg(
        pg_catalog.to_jsonb(w) || pg_catalog.jsonb_build_object(
            'amount', private.money(w.amount),
            'profile_id', p.id,
            'username', p.username,
            'display_name', p.display_name,
            'email', p.email,
            'account_status', p.account_status,
            'available_balance', private.money(t.available_balance),
            'cash_in_amount', private.money(p.cash_in_amount),
            'package_value', private.money(p.package_value),
            'trc20_wallet_address', p.trc20_wallet_address,
            'joined_at', p.created_at,
            'decided_by_name', coalesce(a.full_name, a.email),
            'available_after', case when w.status = 'pending' then private.money(t.available_balance - w.amount) end,
            'due_at', w.created_at + e.due_after,
            'flags', case when w.status = 'pending' then private.withdrawal_flags(w, p) else '[]' end
        ) order by u.place
    )
    from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
    inner join public.withdrawals as w on u.id = w.id
    inner join private.profiles as p on w.user_id = p.user_id
    inner join private.totals as t on w.user_id = t.user_id
    left join private.admin_users as a on w.decided_by = a.id
    cross join (select private.review_interval() as due_after) as e
$function$;

CREATE OR REPLACE FUNCTION private.withdrawals_record_payout()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    perform private.increment_counter('withdrawals_paid_count', 1);
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.decide_withdrawal (
  p_withdrawal_id    uuid,
  p_action           text,
  p_reason           text    DEFAULT NULL::text,
  p_payout_reference text    DEFAULT NULL::text,
  p_shared_payout    boolean DEFAULT false
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_status public.request_status := private.parse_action(p_action);
    v_reason text := case when v_status = 'rejected' then private.validate_reason(p_reason) end;
    v_withdrawal public.withdrawals;
    v_member private.profiles;
    v_paid text;
begin
    select * into v_withdrawal from public.withdrawals as w where w.id = p_withdrawal_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such withdrawal.');
    end if;
    perform private.require_not_own_account(v_admin, v_withdrawal.user_id);
    perform private.lock_money();
    v_member := private.lock_member(v_withdrawal.user_id);
    select * into v_withdrawal from public.withdrawals as w where w.id = p_withdrawal_id for no key update;
    v_paid := case when v_status = 'approved' then nullif(pg_catalog.btrim(p_payout_reference), '') end;
    if v_withdrawal.status <> 'pending' then
        -- Any administrator who may decide may record the payout later.
        if v_withdrawal.status is distinct from v_status or (v_paid is null and v_withdrawal.decided_by is distinct from v_admin.id) then
            perform private.raise_already_decided(pg_catalog.to_jsonb(v_withdrawal));
        end if;
        v_withdrawal := private.add_payout_reference(v_withdrawal, v_admin, v_paid, p_shared_payout);
        return pg_catalog.jsonb_build_object(
            'success', true, 'already', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal))
        ) || private.audit_entries();
    end if;
    perform private.require_no_alarm(v_withdrawal.user_id);
    if v_status = 'approved' then
        perform private.check_payable(v_withdrawal, v_member);
    end if;
    update public.withdrawals as w set
        status = v_status, admin_notes = v_reason, decided_at = private.clock(), decided_by = v_admin.id, decision_no = private.next_decision_no()
    where w.id = p_withdrawal_id and w.status = 'pending'
    returning w.* into v_withdrawal;
    perform private.notify_decision('withdrawal', v_withdrawal.user_id, v_withdrawal.amount, v_status, v_reason);
    perform private.audit(
        'admin:' || v_admin.id, 'withdrawal.' || v_status, 'withdrawal', v_withdrawal.id,
        private.withdrawal_decision_facts(v_withdrawal), v_withdrawal.decided_at
    );
    v_withdrawal := private.add_payout_reference(v_withdrawal, v_admin, v_paid, p_shared_payout);
    return pg_catalog.jsonb_build_object('success', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal)))
        || private.audit_entries();
end
$function$;

REVOKE ALL ON FUNCTION "public"."decide_withdrawal"(uuid, text, text, text, boolean) FROM PUBLIC, "anon", "authenticated", "service_role";

CREATE OR REPLACE FUNCTION public.get_request_changes (
  p_noun text,
  p_ids  uuid[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    perform private.require_admin();
    if p_noun is null or p_noun not in ('deposits', 'withdrawals') or pg_catalog.cardinality(p_ids) > 500 then
        perform private.raise_error(400, 'invalid_filter', 'Name deposits or withdrawals, and at most 500 of them.');
    end if;
    return pg_catalog.jsonb_build_object(
        'counts', private.request_counts(p_noun),
        'decided', (
            select coalesce(
                pg_catalog.jsonb_agg(pg_catalog.to_jsonb(r) || pg_catalog.jsonb_build_object('decided_by_name', coalesce(a.full_name, a.email))), '[]'
            )
            from (
                select d.id, d.status, d.admin_notes, d.decided_at, d.decided_by, d.voided_at, null as payout_reference
                from public.deposits as d where p_noun = 'deposits' and d.id = any(p_ids) and d.status <> 'pending'
                union all
                select w.id, w.status, w.admin_notes, w.decided_at, w.decided_by, w.voided_at, w.payout_reference
                from public.withdrawals as w where p_noun = 'withdrawals' and w.id = any(p_ids) and w.status <> 'pending'
            ) as r
            left join private.admin_users as a on r.decided_by = a.id
        )
    );
end
$function$;

REVOKE ALL ON FUNCTION "public"."get_request_changes"(text, uuid[]) FROM PUBLIC, "anon", "authenticated", "service_role";

CREATE OR REPLACE FUNCTION public.list_audit (
  p_filters jsonb DEFAULT '{}'::jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin();
    v_page integer := least(greatest(coalesce((p_filters ->> 'page')::integer, 1), 1), 100000);
    v_size integer := least(greatest(coalesce((p_filters ->> 'pageSize')::integer, 50), 1), 500);
    v_actor text := case
        when v_admin.role = 'support_admin' then 'admin:' || v_admin.id
        else 'admin:' || nullif(p_filters ->> 'adminId', '')
    end;
    v_action text := nullif(pg_catalog.btrim(p_filters ->> 'action'), '');
    v_object uuid := nullif(p_filters ->> 'objectId', '')::uuid;
    v_found bigint[] := case when pg_catalog.btrim(p_filters ->> 'search') <> '' then private.audit_matches(p_filters ->> 'search') end;
    v_total bigint;
begin
    select count(*) into v_total from private.audit_page(v_actor, v_action, v_object, v_found, 10001, 0);
    return pg_catalog.jsonb_build_object(
        'entries', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'seq', a.id, 'at', a.at, 'actor', a.actor, 'actor_name', private.actor_name(a.actor), 'action', a.action,
                        'object_type', a.object_type, 'object_id', a.object_id, 'payload', a.payload
                    ) order by a.id desc
                ), '[]'
            )
            from private.audit_page(v_actor, v_action, v_object, v_found, v_size, (v_page - 1) * v_size) as a
        ),
        -- Whose actions can be asked for.
        'administrators', (
            select coalesce(
                pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('id', a.id, 'name', coalesce(a.full_name, a.email)) order by coalesce(a.full_name, a.email)), '[]'
            )
            from private.admin_users as a where v_admin.role <> 'support_admin' or a.id = v_admin.id
        ),
        'total', least(v_total, 10000)
    ) || case when v_total > 10000 then '{"more": true}' else '{}' end::jsonb;
end
$function$;

create view private.counter_discrepancies as
select
    f.name,
    c.value as stored,
    f.value
from (
    select
        v.name,
        v.value
    from (
        select
            count(*) as members,
            count(*) filter (where p.package_value > 0) as active,
            coalesce(sum(p.package_value), 0) as packages,
            count(*) filter (where p.account_verified) as verified
        from private.profiles as p
    ) as m
    cross join
        lateral (
            values
            ('profiles', m.members::numeric), ('active_profiles', m.active), ('package_investment', m.packages), ('verified_profiles', m.verified)
        ) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            count(*) filter (where d.status = 'pending') as pending,
            coalesce(sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null), 0) as amount,
            count(*) filter (where d.status = 'approved') as approved,
            count(*) filter (where d.status = 'rejected') as rejected
        from public.deposits as d
    ) as r
    cross join
        lateral (
            values
            ('pending_deposits', r.pending::numeric), ('deposits_approved', r.amount), ('deposits_approved_count', r.approved),
            ('deposits_rejected_count', r.rejected)
        ) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            count(*) filter (where w.status = 'pending') as pending,
            coalesce(sum(w.amount) filter (where w.status = 'pending'), 0) as reserved,
            coalesce(sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null), 0) as amount,
            count(*) filter (where w.status = 'approved') as approved,
            count(*) filter (where w.status = 'rejected') as rejected,
            count(w.payout_reference) as paid
        from public.withdrawals as w
    ) as r
    cross join
        lateral (
            values
            ('pending_withdrawals', r.pending::numeric), ('reserved', r.reserved), ('withdrawals_approved', r.amount),
            ('withdrawals_approved_count', r.approved), ('withdrawals_rejected_count', r.rejected), ('withdrawals_paid_count', r.paid)
        ) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            coalesce(sum(b.amount), 0) as amount,
            count(*) filter (where b.amount > 0) as bonuses
        from public.bonuses as b
    ) as r
    cross join lateral (values ('bonuses', r.amount), ('bonus_rows', r.bonuses)) as v (name, value)
    union all
    select
        v.name,
        v.value
    from (
        select
            count(*) as entries,
            coalesce(sum(abs(t.amount)), 0) as volume
        from public.transactions as t
        where t.transaction_type = 'bonus'
    ) as r
    cross join lateral (values ('bonus_transactions', r.entries::numeric), ('bonus_volume', r.volume)) as v (name, value)
    union all
    select
        'shortfall',
        coalesce(sum(s.withdrawn_amount + s.reserved_amount - s.bonus_amount), 0)
    from private.totals as s
    where s.bonus_amount < s.withdrawn_amount + s.reserved_amount
    union all
    select
        'subscriptions_' || e.status,
        count(s.id)
    from unnest(enum_range(null::public.subscription_status)) as e (status)
    left join public.bot_subscriptions as s on e.status = s.status
    group by e.status
) as f
left join private.counter_values() as c on f.name = c.name
where c.value is distinct from f.value;

create view private.ledger_violations as
with earned as materialized (
    select
        b.user_id,
        sum(b.amount_cents) * 0.01 as total,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'referral'), 0) * 0.01 as referral,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'pairing'), 0) * 0.01 as pairing,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'override'), 0) * 0.01 as override,
        sum(b.reentry_amount) as reentry,
        count(*) filter (where b.bonus_type = 'referral' and b.amount_cents > 0) as referrals,
        count(*) filter (where b.bonus_type = 'pairing' and b.amount_cents > 0) as pairings,
        count(*) filter (where b.bonus_type = 'override' and b.amount_cents > 0) as overrides
    from public.bonuses as b
    group by b.user_id
),

claimed as materialized (
    select
        d.user_id,
        coalesce(sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null), 0) as recounted,
        coalesce(sum(d.amount) filter (where d.status = 'approved'), 0) as approved,
        coalesce(max(k.value) filter (where d.status = 'approved' and d.voided_at is null), 0) as package,
        min(d.decision_no) filter (where d.status = 'approved') as first_decision_no,
        count(*) filter (where d.status = 'pending') as pending_rows,
        count(*) filter (where d.status = 'approved') as approved_rows,
        count(*) filter (where d.status = 'rejected') as rejected_rows
    from public.deposits as d left join private.packages as k on d.amount = k.value
    group by d.user_id
),

drawn as materialized (
    select
        w.user_id,
        coalesce(sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null), 0) as recounted,
        coalesce(sum(w.amount) filter (where w.status = 'pending'), 0) as reserved,
        count(*) filter (where w.status = 'pending') as pending_rows,
        count(*) filter (where w.status = 'approved') as approved_rows,
        count(*) filter (where w.status = 'rejected') as rejected_rows,
        count(w.payout_reference) as paid_rows
    from public.withdrawals as w
    group by w.user_id
),

journal as materialized (
    select
        t.user_id,
        coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount,
        count(*) filter (where t.status = 'completed' and t.decision_no is null) as undecided_rows,
        count(*) filter (where t.transaction_type = 'bonus') as bonus_rows,
        min(t.created_at) as first_at,
        max(t.created_at) as last_at,
        coalesce(sum(abs(t.amount)) filter (where t.transaction_type = 'bonus'), 0) as bonus_volume
    from public.transactions as t
    group by t.user_id
),

-- Members with any discrepancy.
members as materialized (
    select m.*
    from (
        select
            p.user_id,
            coalesce(j.amount, 0) <> p.cash_in_amount + coalesce(b.total, 0) - coalesce(w.recounted, 0) as wrong_journal,
            (
                (s.referral_amount, s.pairing_amount, s.override_amount, s.reentry_amount, s.withdrawn_amount, s.reserved_amount)
                is distinct from (
                    coalesce(b.referral, 0), coalesce(b.pairing, 0), coalesce(b.override, 0), coalesce(b.reentry, 0),
                    coalesce(w.recounted, 0), coalesce(w.reserved, 0)
                )
            ) as wrong_totals,
            (
                (s.referral_count, s.pairing_count, s.override_count)
                is distinct from (coalesce(b.referrals, 0), coalesce(b.pairings, 0), coalesce(b.overrides, 0))
            ) as wrong_counts,
            -- A clock may step back, and is days ahead at most.
            coalesce(j.first_at < '2020-01-01 00:00+00' or j.last_at > clock_timestamp() + interval '7 days', false) as wrong_times,
            p.cash_in_amount <> coalesce(d.recounted, 0) as wrong_cash_in,
            p.package_value <> coalesce(d.package, 0) as wrong_package
        from private.profiles as p
        left join private.totals as s on p.user_id = s.user_id
        left join journal as j on p.user_id = j.user_id
        left join earned as b on p.user_id = b.user_id
        left join claimed as d on p.user_id = d.user_id
        left join drawn as w on p.user_id = w.user_id
    ) as m
    where m.wrong_journal or m.wrong_totals or m.wrong_counts or m.wrong_times or m.wrong_cash_in or m.wrong_package
),

-- Sources and journal rows that do not match.
bonus_entries as materialized (
    select
        b.id as source_id,
        b.user_id,
        j.reference_id,
        (coalesce(j.amount, 0) <> b.amount) as wrong_amount,
        -- The first is the one of the first decision: a clock can step back.
        (j.first_at <> extract(epoch from b.created_at) * 1000000) as wrong_time
    from public.bonuses as b
    full join (
        select
            t.reference_id,
            coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount,
            (min(array[t.decision_no, (extract(epoch from t.created_at) * 1000000)::bigint]))[2] as first_at
        from public.transactions as t
        where t.transaction_type = 'bonus'
        group by t.reference_id
    ) as j on b.id = j.reference_id
    where b.id is null or coalesce(j.amount, 0) <> b.amount or j.first_at <> extract(epoch from b.created_at) * 1000000
),

deposit_entries as materialized (
    select
        d.id as source_id,
        t.id as entry_id,
        t.reference_id,
        coalesce(d.user_id, t.user_id) as user_id,
        (t.created_at <> d.created_at) as wrong_time,
        (
            (t.user_id, t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                d.user_id,
                d.amount::numeric,
                d.decision_no,
                case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
            )
        ) as wrong_entry
    from public.deposits as d
    full join (
        select * from public.transactions as j
        where j.transaction_type = 'deposit'
    ) as t
        on d.id = t.reference_id
    where (t.user_id, t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
        d.user_id,
        d.amount::numeric,
        d.decision_no,
        case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end,
        d.created_at
    )
),

withdrawal_entries as materialized (
    select
        w.id as source_id,
        t.id as entry_id,
        t.reference_id,
        coalesce(w.user_id, t.user_id) as user_id,
        (t.created_at <> w.created_at) as wrong_time,
        (
            (t.user_id, t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                w.user_id,
                -w.amount::numeric,
                w.decision_no,
                case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
            )
        ) as wrong_entry
    from public.withdrawals as w
    full join (
        select * from public.transactions as j
        where j.transaction_type = 'withdrawal'
    ) as t
        on w.id = t.reference_id
    where (t.user_id, t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
        w.user_id,
        -w.amount::numeric,
        w.decision_no,
        case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end,
        w.created_at
    )
),

bonus_rows as materialized (
    select r.*
    from (
        select
            b.id,
            b.user_id,
            (b.user_id is distinct from case when b.bonus_type = 'pairing' then s.user_id else u.user_id end)
            or (b.bonus_type <> 'pairing' and b.source_user_id is distinct from s.user_id)
            or (b.amount > 0 and (b.rate is distinct from case b.bonus_type
                when 'referral' then private.referral_percent()
                when 'override' then private.override_percent()
                else k.pairing_percent
            end)) as wrong_owner,
            b.user_id = b.source_user_id as from_oneself,
            b.amount not between 0.01 and 10000000 as wrong_amount,
            b.amount
        from public.bonuses as b
        left join private.positions as s on b.subject_no = s.no
        left join private.positions as u on s.referrer_no = u.no
        left join private.packages as k on s.package_cents = k.value_cents
    ) as r
    where r.wrong_owner or r.from_oneself or r.wrong_amount
),

places as materialized (
    select l.*
    from (
        select
            p.id,
            p.user_id,
            o.no,
            p.depth <> coalesce(s.depth + 1, 0) as wrong_depth,
            s.created_at >= p.created_at as older_than_referrer,
            (r.user_id is distinct from s.user_id)
            or o.package_cents <> p.package_value * 100
            or o.paid_cents <> case when p.cash_in_amount >= p.package_value then p.package_value * 100 else 0 end
            or ((o.children, o.children) is distinct from (coalesce(c.children, 0)::integer, coalesce(c.last, 0))) as wrong_place
        from private.profiles as p
        left join private.profiles as s on p.referrer_id = s.id
        left join private.positions as o on p.user_id = o.user_id
        left join private.positions as r on o.referrer_no = r.no
        left join (
            select
                c.referrer_no,
                count(*) as children,
                max(c.child_no) as last
            from private.positions as c
            where c.referrer_no is not null
            group by c.referrer_no
        ) as c on o.no = c.referrer_no
    ) as l
    where l.wrong_depth or l.older_than_referrer or l.wrong_place or l.no is null
)

-- I01 The journal rows of a bonus sum to its amount.
select
    'I01' as rule,
    e.source_id::text as object,
    e.user_id,
    null::jsonb as details
from bonus_entries as e
where e.source_id is not null and e.wrong_amount
union all
-- I02 The completed journal of a member is cash-in + bonuses - approved withdrawals.
select
    'I02',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_journal
union all
-- I03 An approved deposit has its completed journal row, a pending one a pending row, a rejected one a failed row, with
-- the number of the same decision.
select
    'I03',
    e.source_id::text,
    e.user_id,
    null
from deposit_entries as e
where e.source_id is not null and e.wrong_entry
union all
-- I04 The same for withdrawals, negative.
select
    'I04',
    e.source_id::text,
    e.user_id,
    null
from withdrawal_entries as e
where e.source_id is not null and e.wrong_entry
union all
-- I05 Every journal row has a source.
select
    'I05',
    o.entry_id::text,
    o.user_id,
    null
from (
    select
        d.entry_id,
        d.reference_id,
        d.user_id
    from deposit_entries as d
    where d.source_id is null
    union all
    select
        w.entry_id,
        w.reference_id,
        w.user_id
    from withdrawal_entries as w
    where w.source_id is null
    union all
    select
        t.id,
        t.reference_id,
        t.user_id
    from bonus_entries as b inner join public.transactions as t on t.transaction_type = 'bonus' and b.reference_id = t.reference_id
    where b.source_id is null
) as o
where
    not exists (
        select 1 from private.corrections as c
        where c.id = o.reference_id and c.confirmed_by is not null
    )
union all
-- I06 One journal row per deposit and withdrawal.
select
    'I06',
    t.reference_id::text,
    min(t.user_id::text)::uuid,
    null
from public.transactions as t
where t.transaction_type <> 'bonus'
group by t.transaction_type, t.reference_id
having count(*) > 1
union all
-- I07 Totals equal the sums of their rows (I37: the counts), so the balance is max(0, bonuses - approved withdrawals).
select
    'I07',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_totals
union all
-- I08 The balance before max(0, ...) is not negative, unless corrections made it so: the maximum would hide a loss.
select
    'I08',
    s.user_id::text,
    s.user_id,
    jsonb_build_object('shortfall', s.shortfall, 'caused_by_corrections', s.excused)
from private.shortfall_discrepancies as s
union all
-- I09 Cash-in equals the approved deposits that count.
select
    'I09',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_cash_in
union all
-- I10 One row per natural key; I11 checks owner and source.
select
    'I10',
    b.bonus_type || ' ' || b.subject_no || ' ' || coalesce(b.pair_number::text, ''),
    min(b.user_id::text)::uuid,
    null
from public.bonuses as b
group by b.bonus_type, b.subject_no, b.pair_number
having count(*) > 1
union all
-- I11 Bonuses match tree and packages, and are paid to the right members.
select
    'I11',
    w.bonus_type || ' ' || w.subject_no || ' ' || coalesce(w.pair_number::text, ''),
    o.user_id,
    null
from unnest(private.all_bonus_discrepancies()) as w
left join private.positions as s on w.subject_no = s.no
-- A bonus that is no longer due has no owner in the comparison.
left join private.positions as o on coalesce(w.user_no, case w.bonus_type when 'pairing' then s.no else s.referrer_no end) = o.no
union all
select
    'I11',
    b.id::text,
    b.user_id,
    null
from bonus_rows as b
where b.wrong_owner
union all
-- I12 Nobody earns a bonus from oneself.
select
    'I12',
    b.id::text,
    b.user_id,
    null
from bonus_rows as b
where b.from_oneself
union all
-- I13 A package follows from the approved deposits, and after a correction from that.
select
    'I13',
    m.user_id::text,
    m.user_id,
    null
from (
    select w.user_id from members as w
    where w.wrong_package
    union
    select c.user_id from private.corrections as c
    where c.confirmed_by is not null
) as m
inner join private.profiles as p on m.user_id = p.user_id
where p.package_value <> private.due_package(m.user_id)
union all
-- I14 A member's depth is the referrer's plus one, a root's 0: so there is no cycle.
select
    'I14',
    l.id::text,
    l.user_id,
    null
from places as l
where l.wrong_depth
union all
-- I15 A referrer is older than the referred member.
select
    'I15',
    l.id::text,
    l.user_id,
    null
from places as l
where l.older_than_referrer
union all
-- I16 Amounts are finite and in range. A bonus is zero only when a correction or a repair was the last to change it.
select
    'I16',
    d.id::text,
    d.user_id,
    null
from public.deposits as d
where d.amount not between 1 and 10000000
union all
select
    'I16',
    w.id::text,
    w.user_id,
    null
from public.withdrawals as w
where w.amount not between 100 and 10000000
union all
select
    'I16',
    b.id::text,
    b.user_id,
    null
from bonus_rows as b
where
    b.wrong_amount
    and not (b.amount = 0 and exists (
        select 1
        from (
            select
                t.amount,
                t.decision_no
            from public.transactions as t
            where t.transaction_type = 'bonus' and t.reference_id = b.id
            order by t.decision_no desc nulls last
            limit 1
        ) as l
        inner join private.corrections as c on l.decision_no = c.decision_no and c.confirmed_by is not null
        where l.amount < 0
    ))
    -- Or a repair set it to zero, because it was never due.
    and not exists (
        select 1 from private.audit_log as a
        where
            a.actor = 'system'
            and a.action = 'books.repaired'
            and a.payload -> 'repairs' @> jsonb_build_array(jsonb_build_object('bonus_id', b.id, 'new_amount', '0.00'))
    )
union all
-- I17 Decided rows have a time and a decider; a member's own cancellation and a closed account have no decider.
select
    'I17',
    r.id::text,
    r.user_id,
    null
from (
    select
        d.id,
        d.user_id,
        d.status,
        d.decided_at,
        d.decided_by,
        d.admin_notes
    from public.deposits as d
    union all
    select
        w.id,
        w.user_id,
        w.status,
        w.decided_at,
        w.decided_by,
        w.admin_notes
    from public.withdrawals as w
) as r
where
    (r.status = 'pending') <> (r.decided_at is null)
    or (r.status = 'pending' and r.decided_by is not null)
    or (r.status <> 'pending' and r.decided_by is null and coalesce(r.admin_notes, '') not in ('Cancelled by the member', 'Account closed'))
union all
-- I18 Usernames are unique ignoring case.
select
    'I18',
    p.user_id::text,
    p.user_id,
    null
from (
    select lower(q.username) as username from private.profiles as q
    group by lower(q.username)
    having count(*) > 1
) as u inner join private.profiles as p on u.username = lower(p.username)
union all
-- I19 A transfer is approved once.
select
    'I19',
    t.deposit_id::text,
    t.user_id,
    null
from private.transfers_credited_twice as t
union all
-- I20 The receipt exists, in the member's folder, owned by the member, and is the file that was sent.
select
    'I20',
    d.id::text,
    d.user_id,
    null
from public.deposits as d
left join private.deposit_receipts as r on d.id = r.deposit_id
left join storage.objects as o on o.bucket_id = 'receipts' and r.name = o.name
where
    o.owner_id is distinct from d.user_id::text or split_part(r.name, '/', 1) <> d.user_id::text
    or o.metadata ->> 'eTag' is distinct from r.etag
union all
-- I21 Bonuses never exceed 56% of funded packages.
select
    'I21',
    'all',
    null,
    null
where
    (select coalesce(sum(e.total), 0) from earned as e)
    > 0.56 * (select coalesce(sum(p.paid_cents), 0) * 0.01 from private.positions as p)
union all
-- I22 No more is paid out than was received, including deposits voided later, which counted at the time.
select
    'I22',
    'all',
    null,
    null
where (select coalesce(sum(w.recounted), 0) from drawn as w) > (select coalesce(sum(d.approved), 0) from claimed as d)
union all
-- I23 Child numbers are unique and have no gap, and a position has the member's package.
select
    'I23',
    l.no::text,
    l.user_id,
    null
from places as l
where l.no is not null and l.wrong_place
union all
select
    'I23',
    l.id::text,
    l.user_id,
    null
from places as l
where l.no is null
union all
-- I24 One active or suspended subscription per member and bot.
select
    'I24',
    min(s.id::text),
    s.user_id,
    null
from public.bot_subscriptions as s
where s.status <> 'cancelled'
group by s.user_id, s.bot_name
having count(*) > 1
union all
-- I25 No administrator session lasts longer than eight hours.
select
    'I25',
    s.session_token::text,
    null,
    null
from public.admin_sessions as s
left join private.admin_session_activity as a on s.session_token = a.session_token
where a.session_token is null or s.expires_at > a.started_at + interval '8 hours 1 second'
union all
-- I26 The audit chain is intact.
select
    'I26',
    a.object,
    null,
    null
from private.verify_audit_chain() as a (object)
union all
-- I27 Counters equal the values they count.
select
    'I27',
    f.name,
    null,
    null
from (
    select
        f.name,
        f.value
    from (
        select
            count(*) as members,
            count(*) filter (where p.package_value > 0) as active,
            coalesce(sum(p.package_value), 0) as packages,
            count(*) filter (where p.account_verified) as verified
        from private.profiles as p
    ) as p
    cross join
        lateral (
            values
            ('profiles', p.members::numeric),
            ('active_profiles', p.active),
            ('package_investment', p.packages),
            ('verified_profiles', p.verified)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (
        select
            sum(d.pending_rows) as pending,
            sum(d.recounted) as recounted,
            sum(d.approved_rows) as approved,
            sum(d.rejected_rows) as rejected
        from claimed as d
    ) as d
    cross join
        lateral (
            values
            ('pending_deposits', d.pending), ('deposits_approved', d.recounted), ('deposits_approved_count', d.approved),
            ('deposits_rejected_count', d.rejected)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (
        select
            sum(w.pending_rows) as pending,
            sum(w.recounted) as recounted,
            sum(w.approved_rows) as approved,
            sum(w.rejected_rows) as rejected,
            sum(w.paid_rows) as paid,
            sum(w.reserved) as reserved
        from drawn as w
    ) as w
    cross join
        lateral (
            values
            ('pending_withdrawals', w.pending), ('withdrawals_approved', w.recounted), ('withdrawals_approved_count', w.approved),
            ('withdrawals_rejected_count', w.rejected), ('withdrawals_paid_count', w.paid), ('reserved', w.reserved)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (select
        sum(e.total) as total,
        sum(e.referrals + e.pairings + e.overrides) as bonus_rows
    from earned as e) as e
    cross join lateral (values ('bonuses', e.total), ('bonus_rows', e.bonus_rows)) as f (name, value)
    union all
    select
        'shortfall',
        coalesce(sum(s.withdrawn_amount + s.reserved_amount - s.bonus_amount), 0)
    from private.totals as s
    where s.bonus_amount < s.withdrawn_amount + s.reserved_amount
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (select
        sum(j.bonus_rows) as bonus_rows,
        sum(j.bonus_volume) as bonus_volume
    from journal as j) as j
    cross join lateral (values ('bonus_transactions', j.bonus_rows), ('bonus_volume', j.bonus_volume)) as f (name, value)
    union all
    select
        'subscriptions_' || e.status,
        coalesce(b.subscriptions, 0)
    from unnest(enum_range(null::public.subscription_status)) as e (status)
    left join (
        select
            s.status,
            count(*) as subscriptions
        from public.bot_subscriptions as s
        group by s.status
    ) as b on e.status = b.status
) as f left join private.counter_values() as c on f.name = c.name
where c.value is distinct from f.value
union all
-- I27 So do the daily totals of deposits and withdrawals.
select
    'I27',
    'flow of ' || f.day,
    null,
    null
from (
    select
        k.day,
        k.deposits,
        k.withdrawals,
        k.decided_deposits
    from private.flows_since('-infinity') as k
    union all
    select
        v.day,
        -v.deposits,
        0,
        -v.decided_deposits
    from public.deposits as d
    cross join
        lateral (
            values ((d.created_at at time zone 'UTC')::date, d.amount, 0), ((d.decided_at at time zone 'UTC')::date, 0, d.amount)
        ) as v (day, deposits, decided_deposits)
    where d.status = 'approved' and d.voided_at is null
    union all
    select
        (w.created_at at time zone 'UTC')::date,
        0,
        -w.amount,
        0
    from public.withdrawals as w
    where w.status = 'approved' and w.voided_at is null
) as f
group by f.day
having sum(f.deposits) <> 0 or sum(f.withdrawals) <> 0 or sum(f.decided_deposits) <> 0
union all
-- I28 A member's daily earnings match the journal (sample of 10,000 members).
select
    'I28',
    d.no || ' ' || d.day,
    o.user_id,
    null
from private.earning_day_discrepancies as d left join private.positions as o on d.no = o.no
union all
-- I29 Network totals equal the member's own values plus the networks of the direct referrals (sample of 10,000
-- members).
select
    'I29',
    n.no::text,
    o.user_id,
    null
from private.network_discrepancies as n left join private.positions as o on n.no = o.no
union all
-- I30 The daily growth of a large team matches its members' joining and funding (sample of 20 teams).
select
    'I30',
    d.no || ' ' || d.day,
    o.user_id,
    null
from private.team_day_discrepancies(20) as d left join private.positions as o on d.no = o.no
union all
-- I31 A deposit has its keys: without them I19 is blind.
select
    'I31',
    d.id::text,
    d.user_id,
    null
from public.deposits as d
left join private.deposit_keys as k on d.id = k.deposit_id and d.reference_key = k.key
where k.key is null
union all
-- I33 The source of a pairing is the child that completed the pair.
select
    'I33',
    b.id::text,
    b.user_id,
    null
from private.pairs as q
inner join public.bonuses as b on b.bonus_type = 'pairing' and q.owner_no = b.subject_no and q.pair_no = b.pair_number
inner join private.positions as l on q.left_no = l.no
inner join private.positions as r on q.right_no = r.no
where b.amount_cents > 0 and b.source_user_id <> case when l.paid_order > r.paid_order then l.user_id else r.user_id end
union all
-- I34 A member's place in the order of fundings is the decision that made the member funded.
select
    'I34',
    o.user_id::text,
    o.user_id,
    null
from private.positions as o
left join claimed as d on o.user_id = d.user_id
left join private.corrected_fundings as f on o.user_id = f.user_id
where o.paid_order is distinct from case when o.paid_cents > 0 then coalesce(f.decision_no, d.first_decision_no) end
union all
-- I35 Whatever completed a journal row has its number.
select
    'I35',
    j.user_id::text,
    j.user_id,
    jsonb_build_object('rows', j.undecided_rows)
from journal as j
where j.undecided_rows > 0
union all
-- I36 A bonus has the time of its first journal row, and the journal row of a request the time of the request.
select
    'I36',
    e.source_id::text,
    e.user_id,
    null
from (
    select
        b.source_id,
        b.user_id
    from bonus_entries as b
    where b.wrong_time
    union all
    select
        d.source_id,
        d.user_id
    from deposit_entries as d
    where d.wrong_time
    union all
    select
        w.source_id,
        w.user_id
    from withdrawal_entries as w
    where w.wrong_time
) as e
union all
-- I37 The counts in totals are those of the bonuses, each type's its own.
select
    'I37',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_counts
union all
-- I38 The coverage of a past day is what the decisions that it saw say, with the requests that were pending then.
select
    'I38',
    c.day::text,
    null,
    c.details
from private.coverage_discrepancies() as c
union all
-- I39 A published disclosure has the credits and withdrawals of its period, by the decisions that it saw, and its
-- numbers of members agree with each other.
select
    'I39',
    (d.computed_at at time zone 'UTC')::text,
    null,
    d.details
from private.disclosure_discrepancies() as d
union all
-- I40 Package sizes, pairing rates and percentages are those of the compensation plan.
select
    'I40',
    c.object,
    null,
    null
from private.plan_discrepancies as c
union all
-- I41 Direct referrals are numbered in the order of joining, which decides who is paired with whom.
select
    'I41',
    s.no::text,
    o.user_id,
    null
from private.sibling_discrepancies as s left join private.positions as o on s.referrer_no = o.no
union all
-- I42 Nobody asked for or earned anything before there was anything to ask for, or in the future. I28 has the days.
select
    'I42',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_times
union all
-- I43 to I48 A request, its decision, a payout and a correction have one entry of the audit log each, which says the
-- same. I49 An administrator has the role of the last entry.
select
    a.rule,
    a.object,
    a.user_id,
    a.details
from private.audit_discrepancies as a;

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX withdrawals_paid_idx ON public.withdrawals USING btree (created_at DESC, id DESC)
  WHERE (payout_reference IS NOT NULL);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX withdrawals_unpaid_idx ON public.withdrawals USING btree (created_at DESC, id DESC)
  WHERE ((status = 'approved'::public.request_status) AND (payout_reference IS NULL) AND (voided_at IS NULL));

CREATE TRIGGER _500_record_payout
  AFTER UPDATE OF payout_reference ON public.withdrawals
  FOR EACH ROW
  WHEN (((old.payout_reference IS NULL) AND (new.payout_reference IS NOT NULL)))
  EXECUTE FUNCTION private.withdrawals_record_payout();

COMMENT ON FUNCTION "private"."add_payout_reference"(public.withdrawals, private.admin_users, text, boolean) IS 'Records once how an approved withdrawal was paid; p_shared: by a transfer that paid others too. Errors: invalid_reference, payout_recorded, voided, payout_reference_used.';

COMMENT ON FUNCTION "private"."age_text"(interval) IS 'An age of hours in words: "12 minutes"; less than a minute counts as one.';

COMMENT ON FUNCTION "private"."audit_matches"(text) IS 'Ids of the newest entries, 10,001 at most, of what is searched: the beginning of an id (four digits or more), an entry''s number, or a username, of at most 100 members.';

COMMENT ON FUNCTION "private"."audit_page"(text, text, uuid, bigint[], integer, integer) IS 'Rows of the audit log, newest first; of p_found only, where a search found them.';

COMMENT ON FUNCTION "private"."deposit_flags"(public.deposits, private.profiles) IS 'Flags of a pending deposit: the same transfer claimed elsewhere, the same receipt file, a wallet that others have too, $1,000 or more within a day of signing up, a blocked member.';

COMMENT ON FUNCTION "private"."request_counts"(text) IS 'Number of deposits or withdrawals by status, from counters; of approved withdrawals also how many were paid and how many wait for that.';

COMMENT ON FUNCTION "private"."require_new_payout"(uuid, text) IS 'Raises when another withdrawal was paid with this reference, in whatever spelling; details name the latest three. Errors: payout_reference_used.';

COMMENT ON FUNCTION "private"."wallet_sharers"(text, uuid) IS 'Usernames of other members with this wallet, three at most.';

COMMENT ON FUNCTION "private"."withdrawals_record_payout"() IS 'Trigger: counts a withdrawal whose payout was recorded.';

COMMENT ON FUNCTION "public"."decide_withdrawal"(uuid, text, text, text, boolean) IS 'Finance and super administrators: approves (it will be paid) or rejects a pending withdrawal, once; a payout reference may be added once later. p_shared_payout confirms that the reference is of a transfer that paid others too. Errors: forbidden, invalid_action, invalid_reason, not_found, own_account, already_decided, ledger_alarm, account_blocked, on_hold, insufficient_available_balance, invalid_reference, payout_recorded, voided, payout_reference_used, try_again.';

COMMENT ON FUNCTION "public"."get_request_changes"(text, uuid[]) IS 'Administrators: how many deposits or withdrawals there are now, and which of these ids are decided, by whom. Errors: forbidden, session_ended, invalid_filter.';

COMMENT ON FUNCTION "public"."list_audit"(jsonb) IS 'The audit log, newest first; seq is the entry''s id; filters page, pageSize, adminId, action (also the part before a dot), objectId, search (the beginning of an id or a username, or seq). Support administrators read their own rows. Errors: forbidden, session_ended.';

COMMENT ON FUNCTION "public"."list_withdrawals"(jsonb) IS 'Administrators: withdrawals with their members. Filters as in list_deposits, status also paid and unpaid; search matches member and wallet address. Errors: forbidden, session_ended, invalid_filter.';

COMMENT ON VIEW "private"."counter_discrepancies" IS 'Counters whose value is not that of the rows; stored is null where there is no counter.';

COMMENT ON VIEW "private"."ledger_violations" IS 'Violations of the ledger''s invariants: the rule, the violating object, the member whose money it concerns (null: everybody''s), and figures that change when the violation does. Empty when there are none.';

REVOKE ALL ON FUNCTION "private"."add_payout_reference"(public.withdrawals, private.admin_users, text, boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."add_payout_reference"(public.withdrawals, private.admin_users, text, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."add_payout_reference"(public.withdrawals, private.admin_users, text, boolean) TO "postgres";

REVOKE ALL ON FUNCTION "private"."age_text"(interval) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."age_text"(interval) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."age_text"(interval) TO "postgres";

REVOKE ALL ON FUNCTION "private"."audit_matches"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_matches"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_matches"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."audit_page"(text, text, uuid, bigint[], integer, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_page"(text, text, uuid, bigint[], integer, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_page"(text, text, uuid, bigint[], integer, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."request_counts"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."request_counts"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."request_counts"(text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."require_new_payout"(uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."require_new_payout"(uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."require_new_payout"(uuid, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."wallet_sharers"(text, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."wallet_sharers"(text, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."wallet_sharers"(text, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."withdrawals_record_payout"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."withdrawals_record_payout"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."withdrawals_record_payout"() TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."decide_withdrawal"(uuid, text, text, text, boolean) TO "platform_admin";

REVOKE ALL ON FUNCTION "public"."decide_withdrawal"(uuid, text, text, text, boolean) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."decide_withdrawal"(uuid, text, text, text, boolean) TO "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_request_changes"(text, uuid[]) TO "platform_admin";

REVOKE ALL ON FUNCTION "public"."get_request_changes"(text, uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "public"."get_request_changes"(text, uuid[]) TO "postgres";

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX withdrawals_payout_keys_idx ON public.withdrawals USING gin (private.reference_keys(payout_reference))
  WITH (gin_pending_list_limit='256')
  WHERE (payout_reference IS NOT NULL);

-- What has been paid until now.
INSERT INTO private.counters (name, value)
SELECT 'withdrawals_paid_count', count(w.payout_reference) FROM public.withdrawals AS w
ON CONFLICT (name) DO NOTHING;
