-- 'email' is what it is called in alarms and holds too.
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.alarm_texts (
  p_alarm private.alarms,
  OUT     problem text,
  OUT     advice text
)
  RETURNS record
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_details jsonb := (p_alarm).details;
begin
    if (p_alarm).kind = 'ledger_violation' then
        select r.problem, r.advice into problem, advice from private.rule_texts() as r where r.rule = pg_catalog.left((p_alarm).object, 3);
        problem := coalesce(problem, 'A check of the ledger fails.')
            || case when (p_alarm).object !~ ' ' then pg_catalog.format(' This concerns %s rows, more than are listed one by one.', coalesce(v_details ->> 'violations', 'many')) else '' end;
        advice := coalesce(advice, 'Compare the row with what it was made from and with the audit log.');
        return;
    end if;
    select t.problem, t.advice into problem, advice
    from (
        values
        ('repair', 'any', pg_catalog.format(
            '%s stored differently from what tree and packages say, and repaired.',
            case when v_details ->> 'rows' = '1' then 'One bonus was' else coalesce(v_details ->> 'rows', 'Some') || ' bonuses were' end
        ), 'Find out who changed the rows: the product does not.'),
        ('deposit_address', 'changed', pg_catalog.format('The deposit address was changed to %s.', v_details ->> 'to'), 'If this was not agreed, change it back at once: members send their deposits there.'),
        ('deposit_address', 'unexpected', pg_catalog.format('Members are shown the deposit address %s, which is not the expected one.', v_details ->> 'shown'), 'Find out who changed it before another deposit is sent.'),
        ('audit_entry', 'any', 'Entries wait to be written into the audit log''s chain.', 'See whether the worker runs, and what its log says.'),
        ('disk', 'any', pg_catalog.format('The disk of %s is more than %s%% full.', (p_alarm).object, v_details ->> 'above'), 'Make room before it is full: the product stops then.'),
        ('dead_job', 'any', pg_catalog.format('The job %s failed and was given up.', pg_catalog.regexp_replace((p_alarm).object, '^.*:', '')), 'The worker''s log says why. This ends when the job works again.'),
        ('failed_mail', 'any', pg_catalog.format(
            '%s could not be sent and %s given up.', case when v_details ->> 'emails' = '1' then 'One email' else v_details ->> 'emails' || ' emails' end,
            case when v_details ->> 'emails' = '1' then 'was' else 'were' end
        ), 'See Readiness for the reasons, and send them again there.')
    ) as t (kind, object, problem, advice)
    where t.kind = (p_alarm).kind and t.object in ('any', (p_alarm).object);
end
$function$;

CREATE OR REPLACE FUNCTION private.check_payable (
  p_withdrawal public.withdrawals,
  p_member     private.profiles
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
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
                case (p_member).hold_reason when 'factor' then 'second factor' else (p_member).hold_reason end
            )
            where (p_member).hold_until > pg_catalog.now()
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status)
            where (p_member).account_status in ('suspended', 'disabled')
        ) as f
    );
end
$function$;
