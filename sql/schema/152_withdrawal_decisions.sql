-- The decision on a withdrawal, its payout, and the list that administrators decide from. An approval is a promise to pay; the
-- payout reference says that the money was sent, with the approval or later.

create function private.check_payable(p_withdrawal public.withdrawals, p_member private.profiles) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_available numeric;
begin
    if (p_member).account_status in ('suspended', 'disabled') then
        perform private.raise_error(409, 'account_blocked', 'This member is blocked. A withdrawal of a blocked member cannot be approved.');
    end if;
    if (p_member).hold_until > pg_catalog.clock_timestamp() then
        perform private.raise_error(
            409, 'on_hold', pg_catalog.format(
                'On hold until %s UTC, 24 hours after a change of %s.',
                pg_catalog.to_char((p_member).hold_until at time zone 'UTC', 'YYYY-MM-DD HH24:MI'),
                case (p_member).hold_reason when 'factor' then 'second factor' else (p_member).hold_reason end
            )
        );
    end if;
    -- Sum the rows, not the totals: the last check before money is paid out.
    select coalesce((select sum(b.amount) from public.bonuses as b where b.user_id = (p_withdrawal).user_id), 0)
        - coalesce((
            select sum(w.amount) from public.withdrawals as w
            where w.user_id = (p_withdrawal).user_id and w.status = 'approved' and w.voided_at is null
        ), 0) into v_available;
    if (p_withdrawal).amount > v_available then
        perform private.raise_error(409, 'insufficient_available_balance', 'Insufficient available balance');
    end if;
end
$$;
comment on function private.check_payable(public.withdrawals, private.profiles) is
'Under the member''s lock: raises when the member is blocked, on hold, or the balance does not cover the amount. Errors: account_blocked, on_hold, insufficient_available_balance.';

-- One transfer may pay several withdrawals, so a reference may come again; but only when the administrator says so. What
-- came in did not go out. The money lock makes the other decisions visible.
create function private.require_new_payout(p_withdrawal_id uuid, p_reference text, p_shared boolean) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_ids uuid[];
    v_hashes uuid[];
    v_deposit record;
    v_others jsonb;
    v_paid text;
begin
    select array_agg(o.request_id), array_agg(o.request_id) filter (where k.kind = 'hash' and o.kind = 'hash') into v_ids, v_hashes
    from private.due_transfer_keys(p_reference) as k
    inner join private.transfer_keys as o on k.key = o.key
    where o.request_id <> p_withdrawal_id and k.kind <> 'look_alike' and o.kind <> 'look_alike';
    if v_ids is null then
        return;
    end if;
    select d.amount, p.username into v_deposit
    from public.deposits as d
    inner join private.profiles as p on d.user_id = p.user_id
    where d.id = any(v_hashes) and d.status = 'approved' and d.voided_at is null
    limit 1;
    if found then
        perform private.raise_error(
            409, 'reference_used', pg_catalog.format(
                'This is the hash of a transfer to us: the deposit of %s of %s.', private.dollars(v_deposit.amount), v_deposit.username
            )
        );
    end if;
    if p_shared is true then
        return;
    end if;
    select
        pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object('username', o.username, 'amount', private.money(o.amount), 'payout_at', o.payout_at) order by o.at desc
        ),
        pg_catalog.string_agg(o.text, ', ' order by o.at desc)
    into v_others, v_paid
    from (
        select r.*, p.username, private.dollars(r.amount) || r.what || p.username as text
        from (
            select w.user_id, w.amount, w.payout_at, w.payout_at as at, ' of ' as what
            from public.withdrawals as w where w.id = any(v_ids) and w.payout_reference is not null
            union all
            select d.user_id, d.amount, null, d.created_at, ', a deposit of '
            from public.deposits as d where d.id = any(v_ids)
        ) as r
        inner join private.profiles as p on r.user_id = p.user_id
        order by r.at desc
        limit 3
    ) as o;
    if v_others is not null then
        perform private.raise_error(
            409, 'payout_reference_used', pg_catalog.format('This payout reference is already recorded for %s.', v_paid), v_others::text
        );
    end if;
end
$$;
comment on function private.require_new_payout(uuid, text, boolean) is
'Raises when an approved deposit has this hash, and, unless shared, when another payout or deposit has this reference, in whatever spelling; details name the latest three. Errors: reference_used, payout_reference_used.';

-- Shown with a deposit whose reference is that of a payout.
create function private.payout_texts(p_ids uuid[]) returns setof text
language sql stable set search_path = '' as $$
    select pg_catalog.format(
        'This is our payout of %s to %s, %s', private.dollars(w.amount), p.username,
        pg_catalog.to_char(w.payout_at at time zone 'UTC', 'FMDD Mon YYYY')
    )
    from public.withdrawals as w
    inner join private.profiles as p on w.user_id = p.user_id
    where w.id = any(p_ids) and w.payout_reference is not null
    order by w.payout_at desc
    limit 3
$$;
comment on function private.payout_texts(uuid[]) is 'Says which of our payouts a deposit names, the latest three.';

-- The reasons given at an approval stand until the money is sent, with all that came since. Other requests of the member say
-- nothing against this one, and a withdrawal that was approved before the account was closed is paid.
create function private.require_payout_reason(p_withdrawal public.withdrawals, p_member private.profiles, p_reason text) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_reason text := nullif(pg_catalog.btrim(p_reason, E' \t\r\n'), '');
    v_flags jsonb := pg_catalog.jsonb_path_query_array(
        private.withdrawal_flags(p_withdrawal, p_member), '$[*] ? (@.kind != "other_requests" && @.kind != "closed")'
    );
begin
    if v_flags = '[]' then
        return '{}'::jsonb;
    end if;
    if v_reason is null then
        perform private.raise_error(
            409, 'payout_warned', 'This withdrawal has warnings. Give a reason to record its payout all the same.', v_flags::text
        );
    end if;
    return pg_catalog.jsonb_build_object(
        'payout_reason', private.validate_reason(v_reason), 'warnings', pg_catalog.jsonb_path_query_array(v_flags, '$[*].text')
    );
end
$$;
comment on function private.require_payout_reason(public.withdrawals, private.profiles, text) is
'Raises when the member is blocked or on hold, or the withdrawal is flagged, and there is no reason; the details have the flags. Returns what withdrawal.paid says beside the row: reason and warnings. Call under the member''s lock. Errors: payout_warned, invalid_reason.';

-- The member reads the payout reference, so it must be readable, whether it is recorded with the approval or later. The
-- reason is for administrators: it stands in the audit log alone.
create function private.add_payout_reference(
    p_withdrawal public.withdrawals, p_member private.profiles, p_admin private.admin_users, p_reference text, p_shared boolean, p_reason text
)
returns public.withdrawals
language plpgsql volatile set search_path = '' as $$
declare
    v_reference text := nullif(pg_catalog.btrim(p_reference, E' \t\r\n'), '');
    v_withdrawal public.withdrawals := p_withdrawal;
    v_warned jsonb;
begin
    if v_reference is null or v_reference is not distinct from (p_withdrawal).payout_reference then
        return p_withdrawal;
    end if;
    if pg_catalog.length(v_reference) > 200 or not private.is_readable(v_reference) then
        perform private.raise_error(400, 'invalid_reference', 'A payout reference has at most 200 characters, on one line.');
    end if;
    perform private.require_plausible_reference(v_reference);
    if (p_withdrawal).payout_reference is not null then
        perform private.raise_error(409, 'payout_recorded', 'A payout reference was already recorded for this withdrawal.');
    end if;
    if (p_withdrawal).voided_at is not null then
        perform private.raise_error(409, 'voided', 'This withdrawal was voided.');
    end if;
    perform private.require_new_payout((p_withdrawal).id, v_reference, p_shared);
    v_warned := private.require_payout_reason(p_withdrawal, p_member, p_reason);
    update public.withdrawals as w set payout_reference = v_reference, payout_at = private.clock()
    where w.id = (p_withdrawal).id
    returning w.* into v_withdrawal;
    perform private.audit(
        'admin:' || (p_admin).id, 'withdrawal.paid', 'withdrawal', v_withdrawal.id, private.payout_facts(v_withdrawal) || v_warned,
        v_withdrawal.payout_at
    );
    return v_withdrawal;
end
$$;
comment on function private.add_payout_reference(public.withdrawals, private.profiles, private.admin_users, text, boolean, text) is
'Records once how an approved withdrawal was paid; p_shared: by a transfer that paid others too; p_reason: why, although there are warnings. Errors: invalid_reference, payout_recorded, voided, reference_used, payout_reference_used, payout_warned, invalid_reason.';

create function public.decide_withdrawal(
    p_withdrawal_id uuid, p_action text, p_reason text default null, p_payout_reference text default null,
    p_shared_payout boolean default false, p_payout_reason text default null
)
returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
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
        v_withdrawal := private.add_payout_reference(v_withdrawal, v_member, v_admin, v_paid, p_shared_payout, p_payout_reason);
        return pg_catalog.jsonb_build_object(
            'success', true, 'already', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal))
        ) || private.audit_entries();
    end if;
    perform private.require_no_alarm(v_withdrawal.user_id, 'withdrawal');
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
    v_withdrawal := private.add_payout_reference(v_withdrawal, v_member, v_admin, v_paid, p_shared_payout, p_payout_reason);
    return pg_catalog.jsonb_build_object('success', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal)))
        || private.audit_entries();
end
$$;
comment on function public.decide_withdrawal(uuid, text, text, text, boolean, text) is
'Finance and super administrators: approves (it will be paid) or rejects a pending withdrawal, once; a payout reference may be added once later. p_shared_payout confirms that the reference is of a transfer that paid others too; p_payout_reason says why it was paid although the member is blocked or on hold, or the withdrawal is flagged, and stands in the audit log. Errors: forbidden, invalid_action, invalid_reason, not_found, own_account, already_decided, ledger_alarm, account_blocked, on_hold, insufficient_available_balance, invalid_reference, payout_recorded, voided, reference_used, payout_reference_used, payout_warned, try_again.';
grant execute on function public.decide_withdrawal(uuid, text, text, text, boolean, text) to platform_admin;

-- Options of the withdrawal form. The validation trigger decides again on submission.
create function public.get_withdraw_options() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_member private.profiles := private.require_member();
    v_totals private.totals;
begin
    select t.* into v_totals from private.totals as t where t.user_id = v_member.user_id;
    return pg_catalog.jsonb_build_object(
        'verification', private.verification_result(v_member),
        'balance', private.balance_figures(v_totals, v_member),
        'wallet_address', v_member.trc20_wallet_address,
        'wallet_checksum_ok', case
            when v_member.trc20_wallet_address is not null then private.is_trc20_address(v_member.trc20_wallet_address)
        end,
        'minimum', private.money(100),
        'hold_until', case when v_member.hold_until > pg_catalog.now() then v_member.hold_until end,
        'pending', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'id', w.id,
                        'amount', private.money(w.amount),
                        'wallet_address', w.wallet_address,
                        'created_at', w.created_at
                    ) order by w.created_at
                ), '[]'
            )
            from public.withdrawals as w where w.user_id = v_member.user_id and w.status = 'pending'
        )
    );
end
$$;
comment on function public.get_withdraw_options() is
'What the caller can withdraw now, to which wallet, and the pending withdrawals. Errors: profile_not_found.';
grant execute on function public.get_withdraw_options() to authenticated;

-- The admin list, as for deposits.

create function private.withdrawal_flags(p_withdrawal public.withdrawals, p_member private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select coalesce(
            pg_catalog.jsonb_agg(pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text, 'until', f.until))), '[]'
        )
        from (
            select 'checksum' as kind, 'This does not look like a TRC20 address' as text, null::timestamptz as until
            where not private.is_trc20_address((p_withdrawal).wallet_address)
            union all
            (
                select
                    'address_changed',
                    pg_catalog.format(
                        'Wallet address changed on %s', pg_catalog.to_char(l.at at time zone 'UTC', 'FMDD Mon YYYY')
                    ),
                    null
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
            select 'address_shared', pg_catalog.format('Also the wallet of %s', s.usernames), null
            from private.wallet_sharers((p_withdrawal).wallet_address, (p_member).id) as s (usernames)
            where s.usernames is not null
            union all
            select 'hold', pg_catalog.format(
                'On hold until %s UTC, 24 hours after a change of %s',
                pg_catalog.to_char((p_member).hold_until at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'),
                case (p_member).hold_reason when 'factor' then 'second factor' else (p_member).hold_reason end
            ), (p_member).hold_until
            where (p_member).hold_until > pg_catalog.now()
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status), null
            where (p_member).account_status in ('suspended', 'disabled') and (p_member).closed_at is null
            union all
            select 'closed', 'This account is closed', null
            where (p_member).closed_at is not null
            union all
            select
                'other_requests',
                pg_catalog.format(
                    case count(*)
                        when 1 then '%s more withdrawal of this member waits, %s' else '%s more withdrawals of this member wait, %s in all'
                    end, count(*), private.dollars(sum(o.amount))
                ),
                null
            from public.withdrawals as o
            where o.user_id = (p_withdrawal).user_id and o.status = 'pending' and o.id <> (p_withdrawal).id
            having count(*) > 0
        ) as f
    );
end
$$;
comment on function private.withdrawal_flags(public.withdrawals, private.profiles) is
'Flags of a withdrawal that is pending or unpaid: no TRC20 address, wallet changed within 7 days or shared with other members, on hold and until when, blocked or closed, others of the member that wait.';

create function private.withdrawal_items(p_ids uuid[]) returns jsonb
language sql stable set search_path = '' as $$
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
            'cancelled', w.status = 'rejected' and w.decided_by is null,
            'available_after', case when w.status = 'pending' then private.money(t.available_balance - w.amount) end,
            'due_at', w.created_at + e.due_after,
            -- A flag warns until the money has gone.
            'flags', case
                when w.status = 'pending' or (w.status = 'approved' and w.payout_reference is null and w.voided_at is null)
                    then private.withdrawal_flags(w, p)
                else '[]'
            end
        ) order by u.place
    )
    from pg_catalog.unnest(p_ids) with ordinality as u (id, place)
    inner join public.withdrawals as w on u.id = w.id
    inner join private.profiles as p on w.user_id = p.user_id
    inner join private.totals as t on w.user_id = t.user_id
    left join private.admin_users as a on w.decided_by = a.id
    cross join (select private.review_interval() as due_after) as e
$$;
comment on function private.withdrawal_items(uuid[]) is
'Withdrawals as items of the admin list. available_after is negative when the balance does not cover the amount. Money as text.';

create function public.list_withdrawals(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['created_at', 'amount', 'status', 'username']);
    v_counts jsonb := private.request_counts('withdrawals');
    v_page record;
begin
    perform private.require_admin();
    v_page := private.request_page('withdrawals', 'wallet_address', v_request, v_counts);
    return pg_catalog.jsonb_build_object('items', coalesce(private.withdrawal_items(v_page.ids), '[]'), 'total', v_page.total, 'counts', v_counts)
        || case when v_page.more then '{"more": true}' else '{}' end::jsonb;
end
$$;
comment on function public.list_withdrawals(jsonb) is
'Administrators: withdrawals with their members. Filters as in list_deposits, status also paid and unpaid; search matches member and wallet address. Errors: forbidden, session_ended, invalid_filter, unknown_field.';
grant execute on function public.list_withdrawals(jsonb) to platform_admin;
