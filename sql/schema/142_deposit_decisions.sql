-- The decision on a deposit, and the list that administrators decide from. A deposit is decided once, by one function: an
-- approval credits the member and posts every bonus in the same transaction, or nothing of it happens.
-- Rules: specification S4 and S8.
--
-- An approval, public.decide_deposit(..., 'approve'), runs these in this order, in one transaction. A line further in is called by
-- the line above it; a trigger stands behind its table. Everything is in schema private unless it says otherwise.
-- pre_request.check_request() has run before. Triggers that keep sums up ask is_repairing() first: false here.
--   require_admin                       finance or super administrator, by the id in the token: my_role, auth.uid
--     require_totp                      with real money (is_demo, setting_text): the second step was shown
--   parse_action                        approve or reject; a rejection calls validate_reason
--   require_received_amount             what arrived, where the approval says so, is an amount
--   lock_deposit                        the locks, then the deposit, for no key update
--     require_not_own_account           not for a member with the administrator's e-mail address
--     lock_money                        one decision at a time: lock_key
--     lock_members(upline_ids)          member, referrer and the referrer's referrer, by id
--                                       already decided: the first response, or raise_already_decided
--   require_near_claim                  not after the rest was asked for without the sum; what arrived differs from the
--     deposit_tolerance                 claim by no more than the setting
--   next_decision_no, clock             place and time of the decision
--   credit_deposit                      cash-in and package
--     profiles _100_immutable           profiles_immutable: identity and place stay, a package never falls
--     profiles _500_sync_position       profiles_sync_position: package and payment go to the member's position, a first
--                                       payment with its current_decision_no; two figures to the counters
--       positions _500_network_update   positions_record_network_delta: the new package, for the networks above
--     profiles _500_update_verified_counter
--                                       profiles_update_verified_counter, increment_counter: if the account is complete
--     post_bonuses                      advances private.bonus_revision_seq, then looks for discrepancies
--       child_bonus_discrepancies       referral, pairing and override around the member: due_referrals,
--                                       due_pair_bonuses; below these pairs and the percentages
--       owner_bonus_discrepancies       the member's own pairings, if there is a second child: due_pairings
--         pair_source                   of pairs without a row: the child that completed it
--       write_bonuses                   raises stored rows, then inserts missing ones; a generated column calls
--                                       reentry_percent, new rows of most tables have a time_ordered_id
--         bonuses _100_immutable        bonuses_immutable: a bonus keeps its reason and only rises (updated rows)
--         bonuses _500_record_update    bonuses_record_update, clock: journal, sums, days and counters of updated rows
--         bonuses _500_record_insert    bonuses_record_insert: the same of inserted rows
--           totals _500_update_shortfall_counter
--                                       totals_update_shortfall_counter, increment_counter: of members who withdrew
--                                       or requested more than they have
--   update public.deposits              approved, by whom, when
--     deposits _100_immutable           deposits_immutable: decided once, and a claim never changes
--     deposits _200_credit_once         deposits_credit_once: an error where the same transfer was approved before
--     deposits _500_record_decision     deposits_record_decision: finalises the journal row, three figures to the counters
--       transactions _100_immutable     transactions_immutable: pending to completed, and nothing else
--       record_deposit_flow             the days of the request and of the decision
--   notify_decision, dollars            the message for the member
--     notify_member, clock, money       the notification, and the email unless the member opted out
--   deposit_decision_facts, money       what the entry of the audit log says
--   audit                               who decided what; takes no lock
--     audit_log _100_set_hash           audit_log_set_hash, entry_hash: the hash of the entry alone; the worker links it
--   request_json, money, audit_entries  the response

create function private.upline_ids(p_user_id uuid) returns uuid[]
language plpgsql stable set search_path = '' as $$
begin
    return (
        select array[m.user_id, r.user_id, g.user_id]
        from private.profiles as m
        left join private.profiles as r on m.referrer_id = r.id
        left join private.profiles as g on r.referrer_id = g.id
        where m.user_id = p_user_id
    );
end
$$;
comment on function private.upline_ids(uuid) is
'User ids whose balances a deposit of this member can change: member, referrer, referrer''s referrer.';

create function private.credit_deposit(p_deposit public.deposits) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_position private.positions;
begin
    update private.profiles as p set
        cash_in_amount = p.cash_in_amount + (p_deposit).amount,
        -- The larger of the two, in whatever order pending deposits are approved.
        package_value = greatest(p.package_value, coalesce((
            select k.value from private.packages as k where k.value = (p_deposit).amount and (p_deposit).kind <> 'cash_in'
        ), 0))
    where p.user_id = (p_deposit).user_id;
    select * into v_position from private.positions as o where o.user_id = (p_deposit).user_id;
    perform private.post_bonuses(v_position.no, (p_deposit).decided_at);
end
$$;
comment on function private.credit_deposit(public.deposits) is
'Effects of an approval: cash-in, package, bonuses. Call under the locks, before the row is approved.';

create function private.lock_deposit(p_deposit_id uuid, p_admin private.admin_users) returns public.deposits
language plpgsql volatile set search_path = '' as $$
declare
    v_deposit public.deposits;
begin
    select * into v_deposit from public.deposits as d where d.id = p_deposit_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such deposit.');
    end if;
    perform private.require_not_own_account(p_admin, v_deposit.user_id);
    perform private.lock_money();
    perform private.lock_members(private.upline_ids(v_deposit.user_id));
    select * into v_deposit from public.deposits as d where d.id = p_deposit_id for no key update;
    return v_deposit;
end
$$;
comment on function private.lock_deposit(uuid, private.admin_users) is
'Takes the locks of a decision and returns the deposit. Errors: not_found, own_account, try_again.';

create function private.require_received_amount(p_received numeric) returns void
language plpgsql immutable set search_path = '' as $$
begin
    if p_received not between 0.01 and private.largest_amount() or p_received <> pg_catalog.trunc(p_received, 2) then
        perform private.raise_error(
            400, 'invalid_amount', 'Enter the amount that arrived: from $0.01 to $10,000,000.00, with at most two decimals.'
        );
    end if;
end
$$;
comment on function private.require_received_amount(numeric) is 'Raises for what cannot have arrived. Errors: invalid_amount.';

create function private.deposit_tolerance(p_amount numeric) returns numeric
language plpgsql stable set search_path = '' as $$
begin
    return least(private.setting_text('deposit.tolerance')::numeric, pg_catalog.trunc(p_amount / 10, 2));
end
$$;
comment on function private.deposit_tolerance(numeric) is
'By how much what arrived may differ from a deposit of this amount that is approved.';

create function private.require_near_claim(p_deposit public.deposits, p_received numeric) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_tolerance numeric;
begin
    if p_received is null then
        if exists (select 1 from private.deposit_rests as r where r.deposit_id = (p_deposit).id and r.ended_at is null) then
            perform private.raise_error(
                400, 'received_amount_required',
                'The rest of this deposit was asked for. Enter how much has arrived in all, the rest included.'
            );
        end if;
        return;
    end if;
    v_tolerance := private.deposit_tolerance((p_deposit).amount);
    if pg_catalog.abs(p_received - (p_deposit).amount) > v_tolerance then
        perform private.raise_error(
            409, 'amount_differs', pg_catalog.format(
                'The member claimed %s, and %s arrived. An approval allows a difference of %s at most. %s',
                private.dollars((p_deposit).amount), private.dollars(p_received), private.dollars(v_tolerance),
                case
                    when p_received < (p_deposit).amount
                        then 'Ask for the rest, or reject the deposit with a reason that names both amounts.'
                    else 'Reject the deposit with a reason that names both amounts.'
                end
            ),
            pg_catalog.jsonb_build_object(
                'claimed', private.money((p_deposit).amount), 'received', private.money(p_received), 'tolerance', private.money(v_tolerance)
            )::text
        );
    end if;
end
$$;
comment on function private.require_near_claim(public.deposits, numeric) is
'Raises when too much or too little of a deposit arrived to approve it, or when its rest was asked for and no sum is given. Errors: received_amount_required, amount_differs.';

create function public.decide_deposit(
    p_deposit_id uuid, p_action text, p_reason text default null, p_received_amount numeric default null
)
returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_status public.request_status := case when p_action is distinct from 'ask_rest' then private.parse_action(p_action) end;
    v_reason text := case when v_status = 'rejected' then private.validate_reason(p_reason) end;
    v_deposit public.deposits;
begin
    perform private.require_received_amount(p_received_amount);
    if p_action = 'ask_rest' then
        if p_reason is not null then
            perform private.raise_error(
                400, 'invalid_input', 'A reason belongs to a rejection. The member is told what arrived and what is missing.'
            );
        end if;
        return private.ask_rest(v_admin, p_deposit_id, p_received_amount);
    end if;
    if v_status = 'rejected' and p_received_amount is not null then
        perform private.raise_error(
            400, 'invalid_input', 'The amount that arrived belongs to an approval. Name both amounts in the reason of a rejection.'
        );
    end if;
    v_deposit := private.lock_deposit(p_deposit_id, v_admin);
    if v_deposit.status <> 'pending' then
        if (v_deposit.status, v_deposit.decided_by, v_deposit.received_amount) is distinct from (v_status, v_admin.id, p_received_amount) then
            perform private.raise_already_decided(pg_catalog.to_jsonb(v_deposit));
        end if;
        return pg_catalog.jsonb_build_object('success', true, 'already', true, 'deposit', private.request_json(pg_catalog.to_jsonb(v_deposit)));
    end if;
    perform private.require_no_alarm(v_deposit.user_id, 'deposit');
    if v_status = 'approved' then
        perform private.require_near_claim(v_deposit, p_received_amount);
    end if;
    v_deposit.decision_no := private.next_decision_no();
    v_deposit.decided_at := private.clock();
    if v_status = 'approved' then
        perform private.credit_deposit(v_deposit);
    end if;
    update public.deposits as d set
        status = v_status, admin_notes = v_reason, decided_at = v_deposit.decided_at, decided_by = v_admin.id, decision_no = v_deposit.decision_no,
        received_amount = p_received_amount
    where d.id = p_deposit_id and d.status = 'pending'
    returning d.* into v_deposit;
    perform private.notify_decision(
        'deposit', v_deposit.user_id, v_deposit.amount, v_status, v_reason, nullif(v_deposit.received_amount, v_deposit.amount)
    );
    perform private.audit(
        'admin:' || v_admin.id, 'deposit.' || v_status, 'deposit', v_deposit.id, private.deposit_decision_facts(v_deposit), v_deposit.decided_at
    );
    return pg_catalog.jsonb_build_object('success', true, 'deposit', private.request_json(pg_catalog.to_jsonb(v_deposit))) || private.audit_entries();
end
$$;
comment on function public.decide_deposit(uuid, text, text, numeric) is
'Finance and super administrators: approves or rejects a pending deposit, once; approval credits cash-in, package and bonuses. An approval may say how much arrived (USD), which changes nothing of that; ask_rest asks the member for what is missing. Errors: forbidden, invalid_action, invalid_amount, invalid_input, invalid_reason, not_found, own_account, received_amount_required, amount_differs, rest_asked, nothing_missing, reference_used, already_decided, ledger_alarm, try_again.';
grant execute on function public.decide_deposit(uuid, text, text, numeric) to platform_admin;

-- Options of the deposit form: verification, packages to choose from, deposit address, pending deposits. The
-- validation trigger decides again on submission.
create function public.get_deposit_options() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.require_member();
begin
    return pg_catalog.jsonb_build_object(
        'verification', private.verification_result(v_member),
        'package_value', private.money(v_member.package_value),
        'deposits_open', private.are_deposits_open(),
        'deposit_address', case when private.are_deposits_open() then private.setting_text('deposit.address') end,
        'deposit_address_sample', private.is_demo(),
        'choices', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'value', private.money(k.value),
                        'label', k.label,
                        'rate', private.plan_rate(k.pairing_percent),
                        'kind', case when v_member.package_value = 0 then 'first' else 'upgrade' end
                    ) order by k.value
                ), '[]'
            )
            from private.packages as k where k.value > v_member.package_value
        ),
        'other_amount_allowed', v_member.package_value > 0,
        'pending', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'id', d.id,
                        'amount', private.money(d.amount),
                        'reference_number', d.reference_number,
                        'receipt_url', d.receipt_url,
                        'created_at', d.created_at,
                        'rest', private.open_rest(d.id, d.amount)
                    ) order by d.created_at
                ), '[]'
            )
            from public.deposits as d where d.user_id = v_member.user_id and d.status = 'pending'
        ),
        'pending_limit', private.setting('deposit.pending_limit')
    );
end
$$;
comment on function public.get_deposit_options() is
'What the caller may deposit: before the first package one of the packages, then larger ones at their full price, or any other amount; while cash-in is missing, any up to that. Errors: profile_not_found.';
grant execute on function public.get_deposit_options() to authenticated;

-- The admin list: each request with its member, what the decision would change, and flags. Decided rows have no flags
-- and no before and after values. The same transfer and the same receipt file are flagged whoever claimed them before,
-- the same member too, and whatever became of that. The flags are plpgsql: in SQL they would be planned for every row,
-- five thousand times for the full list.

create function private.repetition_texts(p_what text, p_ids uuid[], p_same text default 'Same') returns setof text
language sql stable set search_path = '' as $$
    with texts as (
        select
            v.text,
            count(*) as requests,
            row_number() over (
                order by bool_or(d.status = 'approved') desc, bool_or(d.status = 'pending') desc, max(d.created_at) desc, v.text
            ) as place
        from public.deposits as d
        inner join private.profiles as q on d.user_id = q.user_id
        cross join lateral (
            select pg_catalog.to_char(coalesce(d.voided_at, d.decided_at, d.created_at) at time zone 'UTC', 'FMDD Mon YYYY') as day
        ) as w
        cross join lateral (
            select case
                when d.status = 'pending' or p_same <> 'Same' then pg_catalog.format('%s %s as %s, %s', p_same, p_what, q.username, w.day)
                when d.voided_at is not null then pg_catalog.format('This %s was voided on %s (%s)', p_what, w.day, q.username)
                when d.decided_by is null then pg_catalog.format('This %s was cancelled on %s (%s)', p_what, w.day, q.username)
                else pg_catalog.format('This %s was %s on %s (%s)', p_what, d.status, w.day, q.username)
            end as text
        ) as v
        where d.id = any(p_ids)
        group by v.text
    )

    select l.text
    from (
        select t.text, t.place from texts as t where t.place <= 3
        union all
        select pg_catalog.format('%s %s in %s more %s', p_same, p_what, sum(t.requests), case sum(t.requests) when 1 then 'request' else 'requests' end), 4
        from texts as t where t.place > 3
        having count(*) > 0
    ) as l
    order by l.place
$$;
comment on function private.repetition_texts(text, uuid[], text) is
'Says who else claimed the same reference or receipt file, when, and what became of it: approved ones first, then pending ones, three by name, and how many more there are.';

create function private.deposit_flags(p_deposit public.deposits, p_member private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_same_transfer uuid[];
    v_near_transfer uuid[];
    v_payouts uuid[];
    v_same_file uuid[] := array(
        select o.deposit_id
        from private.deposit_receipts as m
        inner join private.deposit_receipts as o on m.etag = o.etag and m.deposit_id <> o.deposit_id
        where m.deposit_id = (p_deposit).id
    );
    v_shared text := private.wallet_sharers((p_member).trc20_wallet_address, (p_member).id);
    v_age interval := (p_deposit).created_at - (p_member).created_at;
    v_new boolean := v_age < interval '1 day' and (p_deposit).amount >= (select max(k.value) from private.packages as k);
    v_blocked boolean := (p_member).account_status in ('suspended', 'disabled');
begin
    select
        array_agg(m.request_id) filter (where not m.is_payout and m.kind <> 'near'),
        array_agg(m.request_id) filter (where not m.is_payout and m.kind = 'near'),
        array_agg(m.request_id) filter (where m.is_payout)
    into v_same_transfer, v_near_transfer, v_payouts
    from private.transfer_matches((p_deposit).id) as m;
    -- Most have none.
    if coalesce(v_same_transfer, v_near_transfer, v_payouts) is null and v_same_file = '{}' and v_shared is null and not v_new and not v_blocked then
        return '[]'::jsonb;
    end if;
    return (
        select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text))
        from (
            select 'same_reference' as kind, r.text from private.repetition_texts('reference', v_same_transfer) as r (text)
            union all
            select 'our_payout', r.text from private.payout_texts(v_payouts) as r (text)
            union all
            select 'near_reference', r.text from private.repetition_texts('reference', v_near_transfer, 'Nearly the same') as r (text)
            union all
            select 'same_receipt', r.text from private.repetition_texts('receipt file', v_same_file) as r (text)
            union all
            select 'address_shared', pg_catalog.format('Also the wallet of %s', v_shared) where v_shared is not null
            union all
            select 'new_account', pg_catalog.format('Requested %s after signing up', private.age_text(v_age)) where v_new
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status) where v_blocked
        ) as f
    );
end
$$;
comment on function private.deposit_flags(public.deposits, private.profiles) is
'Flags of a pending deposit: the same transfer or nearly the same claimed elsewhere, a payout of ours, the same receipt file, a wallet that others have too, as much as the largest package within a day of signing up, a blocked member.';

-- Joined as written: to plan nine tables anew at each call took three times as long as an empty page.
create function private.deposit_items(p_ids uuid[]) returns jsonb
language sql stable set search_path = '' set join_collapse_limit = 1 as $$
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
            'cancelled', d.status = 'rejected' and d.decided_by is null,
            'received_amount', private.money(d.received_amount),
            'further_references', coalesce(f.numbers, '[]'),
            'rest', case when r.no is not null then
                private.rest_json(r, d.amount)
                || pg_catalog.jsonb_build_object('asked_by_name', (select coalesce(b.full_name, b.email) from private.admin_users as b where b.id = r.asked_by))
            end,
            'tolerance', case when d.status = 'pending' then private.money(private.deposit_tolerance(d.amount)) end,
            'due_at', coalesce(r.referenced_at, r.asked_at, d.created_at) + e.due_after,
            'total_deposits', private.money(p.cash_in_amount),
            'package_before', case when d.status = 'pending' then private.money(p.package_value) end,
            'package_after', case when d.status = 'pending' then private.money(greatest(p.package_value, k.value)) end,
            'cash_in_before', case when d.status = 'pending' then private.money(p.cash_in_amount) end,
            'cash_in_after', case when d.status = 'pending' then private.money(p.cash_in_amount + d.amount) end,
            'refusal', case when d.status = 'pending' then private.transfer_error(d.id) end,
            'flags', case when d.status = 'pending' then private.deposit_flags(d, p) else '[]' end
        ) order by u.place
    )
    from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
    inner join public.deposits as d on u.id = d.id
    inner join private.profiles as p on d.user_id = p.user_id
    inner join private.totals as t on d.user_id = t.user_id
    left join private.packages as k on d.amount = k.value and d.kind <> 'cash_in'
    left join private.deposit_rests as r on d.id = r.deposit_id and r.ended_at is null
    -- Few have any: together, not by private.further_references() for each.
    left join (
        select s.deposit_id, pg_catalog.jsonb_agg(s.reference_number order by s.no) as numbers
        from private.deposit_rests as s
        where s.deposit_id = any(p_ids) and s.reference_number is not null
        group by s.deposit_id
    ) as f on d.id = f.deposit_id
    left join private.admin_users as a on d.decided_by = a.id
    cross join (select private.review_interval() as due_after) as e
$$;
comment on function private.deposit_items(uuid[]) is
'Deposits as items of the admin list. total_deposits is the approved and not voided deposits, which is the member''s cash-in. `refusal` says why a pending one cannot be approved, `rest` what was asked for. Money as text.';

create function public.list_deposits(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['created_at', 'amount', 'status', 'username']);
    v_counts jsonb := private.request_counts('deposits');
    v_page record;
begin
    perform private.require_admin();
    v_page := private.request_page('deposits', 'reference_number', v_request, v_counts);
    return pg_catalog.jsonb_build_object('items', coalesce(private.deposit_items(v_page.ids), '[]'), 'total', v_page.total, 'counts', v_counts)
        || case when v_page.more then '{"more": true}' else '{}' end::jsonb;
end
$$;
comment on function public.list_deposits(jsonb) is
'Administrators: deposits with their members. Filters: page, pageSize, search (member, reference), status, sort (created_at, amount, status, username). {} returns all pending and the newest others, at most 5,000. Errors: forbidden, session_ended, invalid_filter, unknown_field.';
grant execute on function public.list_deposits(jsonb) to platform_admin;
