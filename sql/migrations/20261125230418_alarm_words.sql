-- What alarms advise can be followed: they name the administrator whose session it is and the member at a place in the
-- tree, and send to the page or to the person who can act. Flags say how many others there are beyond three, a hold until
-- when it lasts, and the lists of transactions and bots whose row it is.
SET local check_function_bodies = off;

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."wallet_sharers"(text, uuid);

CREATE OR REPLACE FUNCTION private.age_text (
  p_age interval
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select case
        when s < 60 then 'less than a minute'
        when s < 120 then '1 minute'
        when s < 3600 then pg_catalog.floor(s / 60)::text || ' minutes'
        when s < 7200 then '1 hour'
        when s < 86400 then pg_catalog.floor(s / 3600)::text || ' hours'
        when s < 172800 then '1 day'
        else pg_catalog.floor(s / 86400)::text || ' days'
    end
    from (select extract(epoch from p_age) as s) as span
$function$;

CREATE OR REPLACE FUNCTION private.alarm_item (
  p_alarm private.alarms
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select pg_catalog.jsonb_build_object(
            'id', (p_alarm).id, 'kind', (p_alarm).kind, 'object', (p_alarm).object, 'details', (p_alarm).details,
            'rule', case when (p_alarm).kind = 'ledger_violation' then pg_catalog.left((p_alarm).object, 3) end,
            'problem', t.problem, 'advice', t.advice, 'stops', private.alarm_stops(p_alarm),
            'urgent', coalesce(((p_alarm).details ->> 'urgent')::boolean, false),
            'row', private.alarm_object(p_alarm),
            -- Whose place in the tree a bonus or an order names by its number.
            'at_place', (
                select pg_catalog.jsonb_build_object('username', m.username, 'profile_id', m.id)
                from private.positions as o inner join private.profiles as m on o.user_id = m.user_id
                where
                    (p_alarm).kind = 'ledger_violation'
                    and o.no = pg_catalog.substring((p_alarm).object, '\AI(?:10|11|41) (?:[a-z]+ )?([0-9]{1,9})(?: |\Z)')::integer
            ),
            'profile_id', p.id, 'username', p.username,
            'raised_at', (p_alarm).raised_at, 'changed_at', (p_alarm).changed_at, 'last_seen', (p_alarm).last_seen,
            'ended_at', (p_alarm).ended_at, 'mailed_at', (p_alarm).mailed_at,
            'acknowledged_at', (p_alarm).acknowledged_at, 'acknowledged_by_name', coalesce(a.full_name, a.email), 'reason', (p_alarm).reason,
            'members', (
                select pg_catalog.jsonb_object_agg(m.user_id, pg_catalog.jsonb_build_object('username', m.username, 'profile_id', m.id))
                from private.profiles as m
                where (p_alarm).kind = 'repair' and m.user_id::text in (
                    select r.value ->> 'user_id' from pg_catalog.jsonb_array_elements((p_alarm).details -> 'repairs') as r (value)
                )
            )
        )
        from private.alarm_texts(p_alarm) as t
        left join private.profiles as p on p.user_id = (p_alarm).user_id
        left join private.admin_users as a on a.id = (p_alarm).acknowledged_by
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.alarm_line (
  p_alarm private.alarms
)
  RETURNS text
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.concat_ws(
        ' ', t.problem, t.advice,
        case when (p_alarm).kind = 'ledger_violation' then pg_catalog.format('Check %s.', (p_alarm).object) end,
        'Member: ' || p.username || '.',
        'Administrator: ' || (private.alarm_object(p_alarm) ->> 'name') || '.',
        pg_catalog.format('Since %s UTC.', pg_catalog.to_char((p_alarm).raised_at at time zone 'UTC', 'FMDD Mon YYYY HH24:MI')),
        case
            when (p_alarm).ended_at is not null then pg_catalog.format('Over since %s UTC.', pg_catalog.to_char((p_alarm).ended_at at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'))
            when (p_alarm).acknowledged_at is not null then 'Acknowledged.'
            when private.alarm_stops(p_alarm) = 'everybody' then 'It stops every decision about money.'
            when private.alarm_stops(p_alarm) = 'member' then 'It stops decisions about this member''s money.'
            else 'It stops nothing.'
        end
    )
    from private.alarm_texts(p_alarm) as t
    left join private.profiles as p on p.user_id = (p_alarm).user_id
$function$;

CREATE OR REPLACE FUNCTION private.alarm_object (
  p_alarm private.alarms
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_id uuid;
begin
    if (p_alarm).kind <> 'ledger_violation' or (p_alarm).object !~ '\AI[0-9]{2} [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}( |\Z)' then
        return null;
    end if;
    v_id := pg_catalog.substr((p_alarm).object, 5, 36)::uuid;
    return (
        select pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('kind', o.kind, 'id', o.id, 'name', o.name))
        from (
            select 'deposit' as kind, d.id, null as name from public.deposits as d where d.id = v_id
            union all
            select 'withdrawal', w.id, null from public.withdrawals as w where w.id = v_id
            union all
            select 'bonus', b.id, null from public.bonuses as b where b.id = v_id
            union all
            select 'transaction', t.id, null from public.transactions as t where t.id = v_id
            union all
            select 'member', v_id, null from private.profiles as p where v_id in (p.id, p.user_id)
            union all
            -- A session has no page of its own: whose it is, is what can be acted on.
            select 'administrator', a.id, a.email from private.admin_users as a
            where a.id in (v_id, (select s.admin_id from public.admin_sessions as s where s.session_token = v_id))
        ) as o
        limit 1
    );
end
$function$;

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
        ), 'Find out who changed the rows: the product never does.'),
        ('deposit_address', 'changed', pg_catalog.format('The deposit address was changed to %s.', v_details ->> 'to'), 'If this was not agreed, change it back at once: members send their deposits there.'),
        ('deposit_address', 'unexpected', pg_catalog.format('Members are shown the deposit address %s, which is not the expected one.', v_details ->> 'shown'), 'Find out who changed it before another deposit is sent.'),
        ('audit_entry', 'any', 'Entries wait to be written into the audit log''s chain.', 'See whether the worker runs, and what its log says.'),
        ('disk', 'any', pg_catalog.format('The disk of %s is more than %s%% full.', (p_alarm).object, v_details ->> 'above'), 'Make room before it is full: the product stops then.'),
        ('dead_job', 'any', pg_catalog.format('The job %s failed and was given up.', pg_catalog.regexp_replace((p_alarm).object, '^.*:', '')), 'See Readiness: the failed jobs are listed there with their times. This ends when the job works again.'),
        ('failed_mail', 'any', pg_catalog.format(
            '%s could not be sent and %s given up.', case when v_details ->> 'emails' = '1' then 'One email' else v_details ->> 'emails' || ' emails' end,
            case when v_details ->> 'emails' = '1' then 'was' else 'were' end
        ), 'A super administrator sees the reasons under Readiness and sends them again there.')
    ) as t (kind, object, problem, advice)
    where t.kind = (p_alarm).kind and t.object in ('any', (p_alarm).object);
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
    v_shared text := private.wallet_sharers((p_member).trc20_wallet_address, (p_member).id);
    v_age interval := (p_deposit).created_at - (p_member).created_at;
    v_new boolean := v_age < interval '1 day' and (p_deposit).amount >= (select max(k.value) from private.packages as k);
    v_blocked boolean := (p_member).account_status in ('suspended', 'disabled');
begin
    -- Most have none.
    if v_same_transfer = '{}' and v_same_file = '{}' and v_shared is null and not v_new and not v_blocked then
        return '[]'::jsonb;
    end if;
    return (
        select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text))
        from (
            select 'same_reference' as kind, r.text from private.repetition_texts('reference', v_same_transfer) as r (text)
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
$function$;

CREATE OR REPLACE FUNCTION private.repetition_texts (
  p_what text,
  p_ids  uuid[]
)
  RETURNS SETOF text
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
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
                when d.status = 'pending' then pg_catalog.format('Same %s as %s, %s', p_what, q.username, w.day)
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
        select pg_catalog.format('Same %s in %s more %s', p_what, sum(t.requests), case sum(t.requests) when 1 then 'request' else 'requests' end), 4
        from texts as t where t.place > 3
        having count(*) > 0
    ) as l
    order by l.place
$function$;

CREATE OR REPLACE FUNCTION private.rule_texts()
  RETURNS TABLE (
    rule    text,
    problem text,
    advice  text
  )
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    values
    ('I01', 'A bonus has journal rows that do not sum to its amount.', 'Compare the bonus with its rows under Transactions; find out who changed which.'),
    ('I02', 'A member''s journal does not sum to deposits plus bonuses minus withdrawals.', 'Compare the member''s transactions with the deposits, bonuses and withdrawals.'),
    ('I03', 'A deposit and its journal row do not say the same.', 'Compare the deposit with its transaction and with the audit log.'),
    ('I04', 'A withdrawal and its journal row do not say the same.', 'Compare the withdrawal with its transaction and with the audit log. Pay nothing meanwhile.'),
    ('I05', 'A journal row has no bonus, deposit, withdrawal or correction behind it.', 'Find out who wrote the row: the product never writes such a row.'),
    ('I06', 'A deposit or withdrawal has more than one journal row.', 'Find out who wrote the second row: the product writes one.'),
    ('I07', 'A member''s totals are not the sums of the bonuses and withdrawals, so the balance is wrong.', 'Rebuild the counters once it is known who changed what.'),
    ('I08', 'A member withdrew more than was earned, and no correction explains it.', 'Compare bonuses and withdrawals of the member; void what was not paid.'),
    ('I09', 'A member''s cash-in is not the sum of the approved deposits.', 'Compare the member''s deposits with the audit log; rebuild the counters.'),
    ('I10', 'A bonus is stored twice.', 'Find out who wrote the second row: the product writes one.'),
    ('I11', 'A bonus does not follow from the referral tree and the packages, or is paid to another member.', 'Find out who changed the bonus, the tree or a package. The next run of the bonus comparison repairs the amount.'),
    ('I12', 'A member earns a bonus from their own package.', 'Find out who changed the bonus or the tree.'),
    ('I13', 'A member''s package does not follow from the deposits and corrections.', 'Compare the package with the deposits; a correction sets another one.'),
    ('I14', 'A member''s level is not one below the sponsor''s.', 'Find out who moved the member: the product moves nobody.'),
    ('I15', 'A member joined before their own sponsor.', 'Find out who changed a sponsor or a date: the product changes neither.'),
    ('I16', 'An amount is out of range.', 'Find out who changed it: the product accepts no such amount.'),
    ('I17', 'A decided request has no decider or no time, or a pending one has.', 'Compare the request with the audit log.'),
    ('I18', 'Two members have the same username.', 'Ask one of them to choose another username under Profile.'),
    ('I19', 'A transfer was approved twice.', 'Compare the receipts; void the deposit that did not arrive.'),
    ('I20', 'A receipt is missing, is another file than was sent, or is not the member''s.', 'Compare the receipt with a backup; find out who replaced it.'),
    ('I21', 'All bonuses together exceed 56% of the funded packages, which the plan cannot pay.', 'Find out which bonuses or packages were changed.'),
    ('I22', 'More was paid out than came in.', 'Pay nothing more before it is known why.'),
    ('I23', 'A member''s place among the sponsor''s referrals is wrong, or differs from their own package.', 'Find out who changed the tree; rebuild the counters.'),
    ('I24', 'A member has two running subscriptions of one bot.', 'Ask the member to unsubscribe one of them.'),
    ('I25', 'An administrator''s session lasts longer than eight hours.', 'Sign this administrator out under Administrators and find out who made the session.'),
    ('I26', 'The audit log was changed, or its end was cut off.', 'Compare it with a backup. Whoever changed it is hiding something.'),
    ('I27', 'A total on the dashboards is not the sum of its rows.', 'Rebuild the counters once it is known who changed what.'),
    ('I28', 'A member''s daily earnings differ from the journal.', 'The chart is wrong, not the balance. Rebuild the counters.'),
    ('I29', 'A member''s team totals differ from the members of the team.', 'The figures of the team are wrong, not the balance. Rebuild the counters.'),
    ('I30', 'The daily growth of a large team differs from its members.', 'The chart is wrong, not the balance. Rebuild the counters.'),
    ('I31', 'A deposit lacks the keys by which a second claim of its transfer is found.', 'Compare its reference with all other deposits by hand.'),
    ('I33', 'A pairing bonus names another member than the one who completed the pair.', 'Find out who changed the bonus or the order of the fundings.'),
    ('I34', 'A member''s place in the order of fundings is not that of the decision that funded the member.', 'Compare the member''s first approved deposit with the audit log.'),
    ('I35', 'A completed journal row has no decision behind it.', 'Find out who wrote or completed the row: the product does so in a decision only.'),
    ('I36', 'A bonus or a journal row has another time than what it was made from.', 'Compare the times with the audit log; find out who changed one.'),
    ('I37', 'The number of a member''s bonuses is wrong in the totals.', 'Rebuild the counters once it is known who changed what.'),
    ('I38', 'The stored coverage of a past day is not what had been decided when it was computed.', 'Find out who changed the day, or a deposit, withdrawal or bonus from before it. The day stays as it is: acknowledge this once it is known why.'),
    ('I39', 'A published income disclosure is not what had been decided when it was published, or contradicts itself.', 'Find out who changed it, or a withdrawal or bonus of its period, before anybody relies on it. It stays as it is: acknowledge this once it is known why.'),
    ('I40', 'A package size, a pairing rate or a percentage is not that of the compensation plan.', 'Whoever runs the database must set it back at once: sizes and pairing rates in private.packages, a percentage in the function of its name. Every bonus is worked out with it.'),
    ('I41', 'The referrals of a member are not numbered in the order of joining, which decides who is paired with whom.', 'Find out who changed the order; rebuild the counters.'),
    ('I42', 'A request or a bonus is older than what it follows from, or lies in the future.', 'Compare the times with the audit log.'),
    ('I43', 'A deposit has no entry in the audit log, more than one, or one that says something else.', 'Compare the deposit with the audit log and the receipt before it is decided.'),
    ('I44', 'A withdrawal has no entry in the audit log, more than one, or one that says something else.', 'Compare amount and address with the audit log, and ask the member. Pay nothing meanwhile.'),
    ('I45', 'A decided deposit has no decision in the audit log, or one that says something else.', 'Find out who decided it: the product writes both at once.'),
    ('I46', 'A decided withdrawal has no decision in the audit log, or one that says something else.', 'Find out who decided it: the product writes both at once. Pay nothing meanwhile.'),
    ('I47', 'A payout has no entry in the audit log, or one that says something else.', 'Compare the payout reference with the wallet''s own list of transfers.'),
    ('I48', 'A correction has no entry in the audit log, or one that says something else.', 'Compare the correction with the audit log and ask who proposed and confirmed it.'),
    ('I49', 'An administrator''s role is not the one of the last entry in the audit log.', 'Take the role away and find out who gave it.')
$function$;

CREATE OR REPLACE FUNCTION private.wallet_sharers (
  p_wallet    text,
  p_member_id uuid
)
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
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
            where (p_member).account_status in ('suspended', 'disabled')
        ) as f
    );
end
$function$;

COMMENT ON FUNCTION "private"."age_text"(interval) IS 'An age in words: "less than a minute", "12 minutes", "3 days".';

COMMENT ON FUNCTION "private"."alarm_object"(private.alarms) IS 'The row that a violation names: kind (deposit, withdrawal, bonus, transaction, member, administrator) and id, of an administrator the name too, also where it names a session; null when it is no such row.';

COMMENT ON FUNCTION "private"."repetition_texts"(text, uuid[]) IS 'Says who else claimed the same reference or receipt file, when, and what became of it: approved ones first, then pending ones, three by name, and how many more there are.';

COMMENT ON FUNCTION "private"."wallet_sharers"(text, uuid) IS 'Which other members have this wallet: "ask, buri, embla and 57 more", those who joined first by name; null when nobody has.';

COMMENT ON FUNCTION "private"."withdrawal_flags"(public.withdrawals, private.profiles) IS 'Flags of a pending withdrawal: no TRC20 address, wallet changed within 7 days or shared with other members, on hold and until when, blocked.';

REVOKE ALL ON FUNCTION "private"."wallet_sharers"(text, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."wallet_sharers"(text, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."wallet_sharers"(text, uuid) TO "postgres";

create or replace function public.list_subscriptions(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['subscribed_at']);
    v_filters text;
    v_order text := 'r.subscribed_at, r.id';
    v_reversed text := 'r.subscribed_at desc, r.id desc';
    v_ids uuid[];
    v_more boolean;
    v_items jsonb;
    v_counts jsonb;
    v_total bigint;
begin
    perform private.require_admin();
    if v_request.status not in ('active', 'suspended', 'cancelled') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such status.');
    end if;
    if v_request.descending then
        select v_reversed, v_order into v_order, v_reversed;
    end if;
    select
        pg_catalog.jsonb_object_agg(s.status, private.counter_value('subscriptions_' || s.status)::bigint),
        coalesce(sum(private.counter_value('subscriptions_' || s.status)) filter (
            where v_request.status is null or s.status::text = v_request.status
        ), 0)::bigint
    into v_counts, v_total
    from pg_catalog.unnest(pg_catalog.enum_range(null::public.subscription_status)) as s (status);
    v_filters := coalesce(' and r.status = ' || pg_catalog.quote_literal(v_request.status) || '::public.subscription_status', '');
    if v_request.pattern is null then
        v_ids := private.page_ids('from public.bot_subscriptions as r where true' || v_filters, v_order, v_reversed, v_request, v_total);
    else
        select f.ids, f.total, f.more into v_ids, v_total, v_more
        from private.search_page(
            'public.bot_subscriptions',
            pg_catalog.format(
                $query$from (
                    (
                        select r.id from private.profiles as p inner join public.bot_subscriptions as r on p.user_id = r.user_id
                        where private.member_search_text(p.username, p.display_name, p.email) like $1 %1$s
                        limit 10001
                    )
                    union
                    (
                        select r.id from public.bot_subscriptions as r
                        where lower(r.bot_name || ' ' || r.mt5_server || ' ' || r.mt5_login) like $1 %1$s
                        limit 10001
                    )
                ) as r$query$, v_filters
            ),
            pg_catalog.format(
                $query$from public.bot_subscriptions as r where (
                    exists (
                        select from private.profiles as p
                        where p.user_id = r.user_id and private.member_search_text(p.username, p.display_name, p.email) like $1
                    )
                    or lower(r.bot_name || ' ' || r.mt5_server || ' ' || r.mt5_login) like $1
                ) %1$s$query$, v_filters
            ),
            v_order, v_reversed, v_request
        ) as f;
    end if;
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'id', b.id,
            'user_id', b.user_id,
            'profile_id', p.id,
            'username', p.username,
            'email', p.email,
            'display_name', p.display_name,
            'bot_name', b.bot_name,
            'status', b.status,
            'mt5_server', b.mt5_server,
            'mt5_login', b.mt5_login,
            'mt5_password_length', b.mt5_password_length,
            'subscribed_at', b.subscribed_at,
            'updated_at', b.updated_at
        ) order by u.place
    )
    into v_items
    from pg_catalog.unnest(v_ids) with ordinality as u (id, place)
    inner join public.bot_subscriptions as b on u.id = b.id
    inner join private.profiles as p on b.user_id = p.user_id;
    return pg_catalog.jsonb_build_object('items', coalesce(v_items, '[]'), 'total', v_total, 'counts', v_counts)
        || case when v_more then '{"more": true}' else '{}' end::jsonb;
end
$$;

create or replace function public.list_transactions(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['created_at']);
    v_filters text;
    v_order text := 'r.created_at, r.id';
    v_reversed text := 'r.created_at desc, r.id desc';
    v_range record;
    v_ids uuid[];
    v_total bigint;
    v_more boolean;
    v_items jsonb;
    v_cards record;
begin
    perform private.require_admin();
    if v_request.status not in ('completed', 'pending', 'failed') or v_request.kind not in ('deposit', 'withdrawal', 'bonus') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such filter.');
    end if;
    v_filters := pg_catalog.concat(
        ' and r.status = ' || pg_catalog.quote_literal(v_request.status) || '::public.transaction_status',
        ' and r.transaction_type = ' || pg_catalog.quote_literal(v_request.kind) || '::public.transaction_type'
    );
    if v_request.descending then
        select v_reversed, v_order into v_order, v_reversed;
    end if;
    select
        coalesce(sum(c.rows), 0) as rows,
        coalesce(sum(c.rows) filter (where c.status = 'completed'), 0) as completed,
        coalesce(sum(c.rows) filter (where c.status = 'pending'), 0)::bigint as pending,
        coalesce(sum(c.rows) filter (
            where (v_request.status is null or c.status = v_request.status)
                and (v_request.kind is null or c.transaction_type = v_request.kind)
        ), 0)::bigint as filtered
    into v_cards
    from private.transaction_counts() as c;
    if v_request.everything then
        v_ids := private.newest_requests('transactions', private.journal_of_requests('pending', 5000), v_cards.pending);
        v_total := v_cards.filtered;
    elsif v_request.pattern is null then
        v_ids := private.page_ids(
            pg_catalog.format(
                'from %s as r where true',
                case when v_request.status = 'completed' or v_request.status is null then 'public.transactions'
                else private.journal_of_requests(v_request.status::public.transaction_status) end
            ) || v_filters, v_order, v_reversed, v_request, v_cards.filtered
        );
        v_total := v_cards.filtered;
    else
        v_range := private.id_range(p_filters ->> 'search');
        select f.ids, f.total, f.more into v_ids, v_total, v_more
        from private.search_page(
            'public.transactions',
            pg_catalog.format(
                $query$from (
                    (
                        select r.id from private.profiles as p inner join public.transactions as r on p.user_id = r.user_id
                        where private.member_search_text(p.username, p.display_name, p.email) like $1 %1$s
                        limit 10001
                    )
                    union
                    select r.id from public.transactions as r where r.reference_id between %2$L and %3$L %1$s
                ) as r$query$, v_filters, v_range.first, v_range.last
            ),
            pg_catalog.format(
                $query$from public.transactions as r where (
                    exists (
                        select from private.profiles as p
                        where p.user_id = r.user_id and private.member_search_text(p.username, p.display_name, p.email) like $1
                    )
                    or r.reference_id between %2$L and %3$L
                ) %1$s$query$, v_filters, v_range.first, v_range.last
            ),
            v_order, v_reversed, v_request
        ) as f;
    end if;
    select pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object(
            'id', t.id,
            'user_id', t.user_id,
            'profile_id', p.id,
            'username', p.username,
            'email', p.email,
            'amount', private.money(t.amount),
            'transaction_type', t.transaction_type,
            'status', t.status,
            'reference_id', t.reference_id,
            'created_at', t.created_at,
            'cancelled', t.status = 'failed' and t.decision_no is null
        ) order by u.place
    )
    into v_items
    from pg_catalog.unnest(v_ids) with ordinality as u (id, place)
    inner join public.transactions as t on u.id = t.id
    inner join private.profiles as p on t.user_id = p.user_id;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(v_items, '[]'),
        'total', v_total,
        'cards', pg_catalog.jsonb_build_object(
            'total', v_cards.rows, 'completed', v_cards.completed, 'total_volume', private.money(private.completed_volume())
        )
    ) || case when v_more then '{"more": true}' else '{}' end::jsonb;
end
$$;

update private.settings set description = 'Name shown in titles and emails' where key = 'product.name';
