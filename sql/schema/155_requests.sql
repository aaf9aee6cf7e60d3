-- Shared by deposits and withdrawals. A request is decided once: pending to approved or rejected by compare-and-set,
-- in one transaction with journal row, cash-in, package, bonuses, notification and audit row. A repeated call by the
-- same administrator returns the first result; any other gets already_decided with who and when. Locks: money, then
-- members by id.
-- Rules: specification S8.

-- A new request looks for a row with its id, so that a retry makes no second one. Two members' requests of one id do
-- not see each other's row yet: the second waits here until the first is committed.
create function private.lock_request(p_id uuid) returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('request'), pg_catalog.hashtext(p_id::text));
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.lock_request(uuid) is
'Serialises new requests of one id; taken after the member. Errors: try_again.';

create function private.require_new_request(p_id uuid) returns void
language plpgsql volatile set search_path = '' as $$
begin
    if exists (select 1 from private.request_texts as t where t.request_id = p_id) then
        perform private.raise_error(409, 'duplicate_request', 'This id belongs to another request. Use a new one.');
    end if;
end
$$;
comment on function private.require_new_request(uuid) is
'Raises when a deposit or a withdrawal has this id. Call after lock_request(). Errors: duplicate_request.';

create function private.requester() returns text
language plpgsql stable set search_path = '' as $$
begin
    return case private.my_role() when 'authenticated' then 'member:' || auth.uid() when 'service_role' then 'service' else 'system' end;
end
$$;
comment on function private.requester() is 'Who makes a new request, for its audit entry: the member, a service, or the system, which plays the sample data.';

create function private.parse_action(p_action text) returns public.request_status
language plpgsql immutable set search_path = '' as $$
begin
    if p_action is null or p_action not in ('approve', 'reject') then
        perform private.raise_error(400, 'invalid_action', 'The action must be approve or reject.');
    end if;
    return case p_action when 'approve' then 'approved'::public.request_status else 'rejected'::public.request_status end;
end
$$;
comment on function private.parse_action(text) is 'Maps approve or reject to a status. Errors: invalid_action.';

create function private.validate_reason(p_reason text) returns text
language plpgsql immutable set search_path = '' as $$
declare
    v_reason text := coalesce(nullif(pg_catalog.btrim(p_reason), ''), 'No reason provided');
begin
    if pg_catalog.length(v_reason) > 1000 then
        perform private.raise_error(400, 'invalid_reason', 'A reason has at most 1,000 characters.');
    end if;
    return v_reason;
end
$$;
comment on function private.validate_reason(text) is 'Trims a reason; ''No reason provided'' when empty. Errors: invalid_reason.';

create function private.require_not_own_account(p_admin private.admin_users, p_user_id uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
    if exists (
        select 1 from private.profiles as p
        where p.user_id = p_user_id and pg_catalog.lower(p.email) = pg_catalog.lower((p_admin).email)
    ) then
        perform private.raise_error(403, 'own_account', 'You cannot decide a request of your own member account.');
    end if;
end
$$;
comment on function private.require_not_own_account(private.admin_users, uuid) is
'Raises when the member has the administrator''s e-mail. Errors: own_account.';

create function private.raise_already_decided(p_row jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
    v_status text := p_row ->> 'status';
    v_decided_at timestamptz := (p_row ->> 'decided_at')::timestamptz;
    v_decider text;
    v_verb text;
begin
    select coalesce(a.full_name, a.email) into v_decider from private.admin_users as a where a.id = (p_row ->> 'decided_by')::uuid;
    v_verb := case
        when v_decider is not null then pg_catalog.format('%s by %s', v_status, v_decider)
        when p_row ->> 'admin_notes' = 'Account closed' then 'rejected because the account was closed'
        else 'cancelled by the member'
    end;
    perform private.raise_error(
        409, 'already_decided', pg_catalog.format('Already %s %s.', v_verb, private.relative_time(v_decided_at, private.clock())),
        pg_catalog.jsonb_build_object(
            'status', v_status, 'decided_by', v_decider, 'decided_at', v_decided_at, 'reason', p_row ->> 'admin_notes'
        )::text
    );
end
$$;
comment on function private.raise_already_decided(jsonb) is
'Raises already_decided with who decided what and when. Errors: already_decided.';

create function private.notify_decision(
    p_noun text, p_user_id uuid, p_amount numeric, p_status public.request_status, p_reason text, p_arrived numeric default null
) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_body text := case
        when p_status = 'rejected' then pg_catalog.format('Your %s of %s was rejected. Reason: %s', p_noun, private.dollars(p_amount), p_reason)
        when p_noun = 'deposit' then pg_catalog.format(
            'Your deposit of %s was approved and counts from now on.%s', private.dollars(p_amount), ' ' || private.dollars(p_arrived) || ' arrived.'
        )
        else pg_catalog.format('Your withdrawal of %s was approved and will be paid to the wallet you named.', private.dollars(p_amount))
    end;
begin
    perform private.notify_member(
        p_user_id, p_noun || '_' || p_status, pg_catalog.initcap(p_noun) || ' ' || p_status, v_body, p_amount, '/transactions'
    );
end
$$;
comment on function private.notify_decision(text, uuid, numeric, public.request_status, text, numeric) is
'Notifies a member of a decision, with the reason of a rejection, or with what arrived where that was another amount.';

create function private.request_json(p_row jsonb) returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
    return p_row || pg_catalog.jsonb_build_object('amount', private.money((p_row ->> 'amount')::numeric))
        || case when p_row ? 'received_amount'
            then pg_catalog.jsonb_build_object('received_amount', private.money((p_row ->> 'received_amount')::numeric)) else '{}' end;
end
$$;
comment on function private.request_json(jsonb) is 'A deposit or withdrawal as JSON, with its amounts as text.';

create function private.cancel_requests(p_user_id uuid, p_id uuid, p_reason text, p_actor text) returns integer
language plpgsql volatile set search_path = '' as $$
declare
    v_deposit public.deposits;
    v_withdrawal public.withdrawals;
    v_cancelled integer := 0;
begin
    for v_deposit in
        update public.deposits as d set status = 'rejected', admin_notes = p_reason, decided_at = private.clock()
        where d.user_id = p_user_id and d.status = 'pending' and d.id = coalesce(p_id, d.id)
        returning d.*
    loop
        v_cancelled := v_cancelled + 1;
        perform private.audit(
            p_actor, 'deposit.cancelled', 'deposit', v_deposit.id,
            private.deposit_decision_facts(v_deposit), v_deposit.decided_at
        );
    end loop;
    for v_withdrawal in
        update public.withdrawals as w set status = 'rejected', admin_notes = p_reason, decided_at = private.clock()
        where w.user_id = p_user_id and w.status = 'pending' and w.id = coalesce(p_id, w.id)
        returning w.*
    loop
        v_cancelled := v_cancelled + 1;
        perform private.audit(
            p_actor, 'withdrawal.cancelled', 'withdrawal', v_withdrawal.id,
            private.withdrawal_decision_facts(v_withdrawal), v_withdrawal.decided_at
        );
    end loop;
    return v_cancelled;
end
$$;
comment on function private.cancel_requests(uuid, uuid, text, text) is
'Takes a member''s pending requests back, or the one with this id: rejected for this reason, decided by no administrator, audited as this actor. Returns how many. Call under the member''s lock.';

-- A pending account may not request anything new, but may cancel its own requests.
create function public.cancel_request(p_id uuid) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_row jsonb;
begin
    -- Status pending blocks only new requests.
    perform private.require_active_status(nullif((private.lock_member(auth.uid())).account_status, 'pending'));
    -- Without an id all would be cancelled.
    if p_id is not null and private.cancel_requests(auth.uid(), p_id, 'Cancelled by the member', 'member:' || auth.uid()) > 0 then
        perform private.require_no_alarm(auth.uid(), 'request');
        return pg_catalog.jsonb_build_object('success', true);
    end if;
    select pg_catalog.to_jsonb(r) into v_row from (
        select d.status, d.decided_at, d.decided_by, d.admin_notes from public.deposits as d where d.id = p_id and d.user_id = auth.uid()
        union all
        select w.status, w.decided_at, w.decided_by, w.admin_notes from public.withdrawals as w where w.id = p_id and w.user_id = auth.uid()
    ) as r;
    if v_row is null then
        perform private.raise_error(404, 'not_found', 'There is no such request of yours.');
    end if;
    if v_row ->> 'admin_notes' is distinct from 'Cancelled by the member' then
        perform private.raise_error(
            409, 'already_decided', pg_catalog.format('Already %s %s.', v_row ->> 'status', private.relative_time((v_row ->> 'decided_at')::timestamptz, private.clock()))
        );
    end if;
    return pg_catalog.jsonb_build_object('success', true, 'already', true);
end
$$;
comment on function public.cancel_request(uuid) is
'A member, also a pending one, cancels an own pending deposit or withdrawal; it becomes rejected, ''Cancelled by the member''. Errors: not_found, already_decided, ledger_alarm, account_disabled, account_suspended.';
grant execute on function public.cancel_request(uuid) to authenticated;

-- One paged admin list for both.

-- Texts that a search looks for, apart from the requests: a decision changes their rows, and a trigram index would then be
-- written again, in some thirty places, for a text that is still the same.
create table private.request_texts (
    request_id uuid not null,
    text text not null,
    primary key (request_id, text)
);
comment on table private.request_texts is
'References of deposits and of their rests, and addresses of withdrawals, in lower case. Written once, never changed.';
comment on column private.request_texts.request_id is
'A deposit or a withdrawal. No foreign key: only their triggers write here, and requests are never deleted.';
alter table private.request_texts enable row level security;
create index request_texts_search_idx on private.request_texts
using gin (text extensions.gin_trgm_ops) with (gin_pending_list_limit = 256);
create trigger _100_reject_change before update or delete or truncate on private.request_texts
for each statement execute function private.reject_change();

create function private.review_interval() returns interval
language sql stable set search_path = '' as $$
    select pg_catalog.make_interval(hours => private.setting_text('review.due_hours')::integer)
$$;
comment on function private.review_interval() is 'Time within which a request should be decided.';

create function private.wallet_sharers(p_wallet text, p_member_id uuid) returns text
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.string_agg(s.username, ', ' order by s.place) filter (where s.place <= 3)
            || case when count(*) > 3 then pg_catalog.format(' and %s more', count(*) - 3) else '' end
        from (
            select q.username, row_number() over (order by q.created_at, q.username) as place from private.profiles as q
            where q.trc20_wallet_address = p_wallet and q.id <> p_member_id
        ) as s
    );
end
$$;
comment on function private.wallet_sharers(text, uuid) is
'Which other members have this wallet: "ask, buri, embla and 57 more", those who joined first by name; null when nobody has.';

create function private.oldest_pending(p_row jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_build_object(
            'id', p_row -> 'id',
            'amount', private.money((p_row ->> 'amount')::numeric),
            'username', p.username,
            'created_at', p_row -> 'created_at',
            'due_at', coalesce(p_row ->> 'waits_since', p_row ->> 'created_at')::timestamptz + private.review_interval()
        )
        from private.profiles as p where p.user_id = (p_row ->> 'user_id')::uuid
    );
end
$$;
comment on function private.oldest_pending(jsonb) is 'The oldest pending request, with its member and due time.';

create function private.request_counts(p_noun text) returns jsonb
language plpgsql stable set search_path = '' as $$
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
            -- Corrections are few, and void nothing that was paid.
            select count(*) from private.corrections as c where c.kind = 'void_withdrawal' and c.confirmed_by is not null
        )
    ) end;
end
$$;
comment on function private.request_counts(text) is
'Number of deposits or withdrawals by status, from counters; of approved withdrawals also how many were paid and how many wait for that.';

-- Asked again and again while a list is looked at: rows by their ids, and counters.
create function public.get_request_changes(p_noun text, p_ids uuid[]) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin();
    if p_noun is null or p_noun not in ('deposits', 'withdrawals') or pg_catalog.cardinality(p_ids) > 500 then
        perform private.raise_error(400, 'invalid_filter', 'Name deposits or withdrawals, and at most 500 of them.');
    end if;
    return pg_catalog.jsonb_build_object(
        'counts', private.request_counts(p_noun),
        'rests', (
            select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('id', d.id, 'rest', private.rest_json(r, d.amount))), '[]')
            from private.deposit_rests as r
            inner join public.deposits as d on r.deposit_id = d.id
            where p_noun = 'deposits' and r.deposit_id = any(p_ids) and r.ended_at is null
        ),
        'decided', (
            select coalesce(
                pg_catalog.jsonb_agg(pg_catalog.to_jsonb(r) || pg_catalog.jsonb_build_object('decided_by_name', coalesce(a.full_name, a.email))), '[]'
            )
            from (
                select d.id, d.status, d.admin_notes, d.decided_at, d.decided_by, d.voided_at, private.money(d.received_amount) as received_amount, null as payout_reference
                from public.deposits as d where p_noun = 'deposits' and d.id = any(p_ids) and d.status <> 'pending'
                union all
                select w.id, w.status, w.admin_notes, w.decided_at, w.decided_by, w.voided_at, null, w.payout_reference
                from public.withdrawals as w where p_noun = 'withdrawals' and w.id = any(p_ids) and w.status <> 'pending'
            ) as r
            left join private.admin_users as a on r.decided_by = a.id
        )
    );
end
$$;
comment on function public.get_request_changes(text, uuid[]) is
'Administrators: how many deposits or withdrawals there are now, and which of these ids are decided, by whom, and what rest is asked for. Errors: forbidden, session_ended, invalid_filter.';
grant execute on function public.get_request_changes(text, uuid[]) to platform_admin;

create function private.newest_requests(p_table text, p_pending_from text, p_pending bigint) returns uuid[]
language plpgsql stable set search_path = '' as $$
declare
    v_ids uuid[];
begin
    execute pg_catalog.format(
        $query$
        select array(
            select a.id
            from (
                (select r.id, r.created_at from %2$s as r where r.status = 'pending' order by r.created_at desc, r.id desc limit 5000)
                union all
                (select r.id, r.created_at from public.%1$I as r where r.status <> 'pending' order by r.created_at desc, r.id desc limit $1)
            ) as a
            order by a.created_at desc, a.id desc
        )
        $query$, p_table, p_pending_from
    ) into v_ids using greatest(5000 - p_pending, 0);
    return v_ids;
end
$$;
comment on function private.newest_requests(text, text, bigint) is
'All pending rows of deposits, withdrawals or transactions, which p_pending_from finds, and the newest others: ids of at most 5,000 together, newest first.';

create function private.find_requests(p_table text, p_status text, p_pattern text) returns uuid[]
language plpgsql stable set search_path = '' as $$
declare
    v_found uuid[];
begin
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
        $query$, p_table, p_status
    ) into v_found using p_pattern;
    return v_found;
end
$$;
comment on function private.find_requests(text, text, text) is
'Ids of requests whose member or text is like a pattern, 10,001 at most; p_status is a condition on the request.';

create function private.request_page(
    p_table text, p_text_column text, p_request private.list_request, p_counts jsonb,
    out ids uuid[], out total bigint, out more boolean
)
language plpgsql stable set search_path = '' as $$
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
    v_found := private.find_requests(p_table, v_status, (p_request).pattern);
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
$$;
comment on function private.request_page(text, text, private.list_request, jsonb) is
'Ids of one page of deposits or withdrawals, with the exact total, or 10,000 and more for a frequent search. Errors: invalid_filter.';
