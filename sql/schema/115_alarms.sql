-- Alarms: what an administrator must know and look at. One is open for each kind and object from its first sighting
-- until it is over; the next sighting afterwards is an alarm of its own, and ended ones stay as history. A repeated
-- sighting is written with the same figures or with others: an acknowledgement holds for what was acknowledged and for
-- nothing else, so figures that change end the acknowledged alarm and open the next.

create table private.alarms (
    id uuid primary key default gen_random_uuid(),
    kind text not null constraint alarms_kind_check check (
        kind in (
            'ledger_violation', 'repair', 'deposit_address', 'audit_entry', 'disk', 'dead_job', 'failed_mail', 'backup', 'restored', 'schema'
        )
    ),
    object text not null check (length(object) between 1 and 200),
    user_id uuid,
    details jsonb not null default '{}' check (jsonb_typeof(details) = 'object'),
    raised_at timestamptz not null default clock_timestamp(),
    changed_at timestamptz not null default clock_timestamp(),
    last_seen timestamptz not null default clock_timestamp(),
    ended_at timestamptz,
    acknowledged_at timestamptz,
    acknowledged_by uuid references private.admin_users (id) on delete restrict,
    reason text check (length(reason) between 1 and 1000),
    mailed_at timestamptz,
    noticed_at timestamptz,
    constraint alarms_acknowledged_check check (num_nulls(acknowledged_at, acknowledged_by, reason) in (0, 3))
);
comment on table private.alarms is 'Alarms, open and ended. Written by private.raise_alarm() and the ledger check.';
comment on column private.alarms.object is
'What it concerns; a ledger violation has its rule before it: "I07 <id>". One open alarm for each kind and object.';
comment on column private.alarms.user_id is 'The member whose money it concerns; null: nobody''s alone. No foreign key: what an alarm reports may be damaged.';
comment on column private.alarms.details is 'Figures that say how it is; other figures are a change of the alarm.';
comment on column private.alarms.ended_at is 'When it was over; null while it is open.';
comment on column private.alarms.mailed_at is 'When administrators were last e-mailed of it as it is now; null: not yet.';
comment on column private.alarms.noticed_at is 'When administrators had a notice of it as it is now; null: not yet.';
alter table private.alarms enable row level security;
create unique index alarms_open_key on private.alarms (kind, object) where ended_at is null;
-- The history, newest first.
create index alarms_ended_idx on private.alarms (ended_at desc, id) where ended_at is not null;
create index alarms_acknowledged_by_idx on private.alarms (acknowledged_by);
-- Alarms that stop decisions, looked up by every decision.
create index alarms_stopping_idx on private.alarms (user_id)
where kind in ('ledger_violation', 'restored') and ended_at is null and acknowledged_at is null;
-- Alarms that administrators are still to be notified of, looked for every minute.
create index alarms_unmailed_idx on private.alarms (raised_at) where mailed_at is null or noticed_at is null;

create table private.alarm_mail_state (
    only_row boolean primary key default true check (only_row),
    mailed_at timestamptz
);
comment on table private.alarm_mail_state is
'When the last e-mail about alarms was written. Whoever changes many alarms locks this row first, so that all take them in one order.';
alter table private.alarm_mail_state enable row level security;

insert into private.alarm_mail_state default values;

create function private.raise_alarm(p_kind text, p_object text, p_user_id uuid, p_details jsonb) returns boolean
language plpgsql volatile set search_path = '' as $$
declare
    v_alarm private.alarms;
    v_now timestamptz := pg_catalog.clock_timestamp();
begin
    -- Locked, so that nobody acknowledges what is just about to change.
    select * into v_alarm from private.alarms as a
    where a.kind = p_kind and a.object = p_object and a.ended_at is null for no key update;
    if v_alarm.user_id is not distinct from p_user_id and v_alarm.details = p_details then
        update private.alarms as a set last_seen = v_now where a.id = v_alarm.id;
        return false;
    end if;
    update private.alarms as a set ended_at = v_now where a.id = v_alarm.id and a.acknowledged_at is not null;
    insert into private.alarms as a (kind, object, user_id, details, raised_at, changed_at, last_seen)
    values (p_kind, p_object, p_user_id, p_details, v_now, v_now, v_now)
    on conflict (kind, object) where ended_at is null do update set
        user_id = excluded.user_id, details = excluded.details, changed_at = v_now, last_seen = v_now,
        acknowledged_at = null, acknowledged_by = null, reason = null, mailed_at = null, noticed_at = null;
    return true;
end
$$;
comment on function private.raise_alarm(text, text, uuid, jsonb) is
'Opens an alarm, or updates the open one of this kind and object; true when it is new or has changed. Kinds: ledger_violation, repair, deposit_address, audit_entry, disk, dead_job, failed_mail, backup, restored, schema.';

create function private.end_alarm(p_kind text, p_object text) returns void
language sql volatile set search_path = '' as $$
    update private.alarms as a set ended_at = pg_catalog.clock_timestamp()
    where a.kind = p_kind and a.object = p_object and a.ended_at is null
$$;
comment on function private.end_alarm(text, text) is 'Ends the open alarm of this kind and object: what raised it is over.';

-- In words. The page, the e-mail and the error of a stopped decision show the same sentences.

create function private.rule_texts() returns table (rule text, problem text, advice text)
language sql immutable set search_path = '' as $$
    values
    ('I01', 'A bonus has journal rows that do not sum to its amount.', 'Find out who changed the bonus or its rows. Where nothing else is wrong with the bonus, propose a repair of rows under Members: another administrator confirms it.'),
    ('I02', 'A member''s journal does not sum to deposits plus bonuses minus withdrawals.', 'Another rule about the same member says what is wrong: follow its advice. Where none does, propose a repair of rows under Members.'),
    ('I03', 'A deposit and its journal row do not say the same.', 'Find out who changed which. Then propose a repair of rows under Members: another administrator confirms it.'),
    ('I04', 'A withdrawal and its journal row do not say the same.', 'Find out who changed which. Then propose a repair of rows under Members: another administrator confirms it. Pay nothing meanwhile.'),
    ('I05', 'A journal row has no bonus, deposit, withdrawal or correction behind it.', 'Find out who changed which. Then propose a repair of rows under Members: another administrator confirms it. Where the row is of a bonus that is paid to another member, the comparison of the bonuses mends both.'),
    ('I06', 'A deposit or withdrawal has more than one journal row.', 'Find out who changed which. Then propose a repair of rows under Members: another administrator confirms it.'),
    ('I07', 'A member''s totals are not the sums of the bonuses and withdrawals, so the balance is wrong.', 'Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I08', 'A member withdrew more than was earned, and no correction explains it.', 'Mend rows and counters first where another rule names the member. Then compare bonuses and withdrawals; void what was not paid.'),
    ('I09', 'A member''s cash-in is not the sum of the approved deposits.', 'Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I10', 'A bonus is stored twice.', 'Find out who changed which. Then propose a repair of rows under Members: another administrator confirms it.'),
    ('I11', 'A bonus does not follow from the referral tree and the packages, or is paid to another member.', 'Find out who changed the bonus, the tree or a package. Rebuild the counters where a package or a place is wrong (I09, I13, I23); otherwise the next comparison of the bonuses repairs owner, source and amount, once no other row is wrong.'),
    ('I12', 'A member earns a bonus from their own package.', 'Find out who changed the bonus or the tree. The next comparison of the bonuses repairs it, once no other row is wrong.'),
    ('I13', 'A member''s package does not follow from the deposits and corrections.', 'Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I14', 'A member''s level is not one below the sponsor''s.', 'The product moves nobody, and nothing derives it again: find out who moved the member, and restore the moment before.'),
    ('I15', 'A member joined before their own sponsor.', 'The product changes no sponsor and no date, and nothing derives it again: find out who did, and restore the moment before.'),
    ('I16', 'An amount is out of range.', 'Find out who changed it. A repair of rows under Members sets a request back to what was asked for; a bonus is repaired by the next comparison.'),
    ('I17', 'A decided request has no decider or no time, a pending one has, or one is voided without a correction.', 'Find out who changed the request. Then propose a repair of rows under Members: another administrator confirms it.'),
    ('I18', 'Two members have the same username.', 'Ask one of them to choose another username under Profile.'),
    ('I19', 'A transfer was approved twice, or is a payout of ours.', 'Compare the receipts; void the deposit that did not arrive.'),
    ('I20', 'A receipt is missing, is another file than was sent, or is not the member''s.', 'Compare the receipt with a backup; find out who replaced it. Where the deposit names another receipt than was sent with it, propose a repair of rows under Members.'),
    ('I21', 'All bonuses together exceed 56% of the funded packages, which the plan cannot pay.', 'Find out which bonuses or packages were changed.'),
    ('I22', 'More was paid out than came in.', 'Pay nothing more before it is known why.'),
    ('I23', 'A member''s place among the sponsor''s referrals is wrong, or differs from their own package.', 'Find out who changed the tree. Rebuild the counters: that mends packages and numbers of referrals. A sponsor or an order that was changed is mended by nothing: restore the moment before.'),
    ('I24', 'A member has two running subscriptions of one bot.', 'Ask the member to unsubscribe one of them.'),
    ('I25', 'An administrator''s session lasts longer than eight hours.', 'Sign this administrator out under Administrators and find out who made the session.'),
    ('I26', 'The audit log was changed, or its end was cut off.', 'Compare it with a backup. Whoever changed it is hiding something.'),
    ('I27', 'A total on the dashboards is not the sum of its rows.', 'Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I28', 'A member''s daily earnings differ from the journal.', 'The chart is wrong, not the balance. Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I29', 'A member''s team totals differ from the members of the team.', 'The figures of the team are wrong, not the balance. Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I30', 'The daily growth of a large team differs from its members.', 'The chart is wrong, not the balance. Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I31', 'A deposit or a payout has other keys than its reference, so a second claim of its transfer is not found.', 'Find out who changed the register, and compare the reference with all other deposits and payouts. Propose a repair of rows under Members: another administrator confirms it.'),
    ('I33', 'A pairing bonus names another member than the one who completed the pair.', 'Find out who changed the bonus or the order of the fundings. Where I34 names the member, rebuild the counters; otherwise the next comparison of the bonuses repairs the source.'),
    ('I34', 'A member''s place in the order of fundings is not that of the decision that funded the member.', 'Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I35', 'A completed journal row has no decision behind it.', 'Find out who wrote or changed the row. Then propose a repair of rows under Members: another administrator confirms it.'),
    ('I36', 'A bonus or a journal row has another time than what it was made from.', 'Find out who changed which. Then propose a repair of rows under Members: another administrator confirms it.'),
    ('I37', 'The number of a member''s bonuses is wrong in the totals.', 'Mend the rows first where another rule names some. Then rebuild the counters.'),
    ('I38', 'The stored coverage of a past day is not what had been decided when it was computed.', 'Find out who changed the day, or a deposit, withdrawal or bonus from before it. The day stays as it is: acknowledge this once it is known why.'),
    ('I39', 'A published income disclosure is not what had been decided when it was published, or contradicts itself.', 'Find out who changed it, or a withdrawal or bonus of its period, before anybody relies on it. It stays as it is: acknowledge this once it is known why.'),
    ('I40', 'A package size, a pairing rate or a percentage is not that of the compensation plan.', 'Whoever runs the database must set it back immediately: sizes and pairing rates in private.packages, a percentage in the function of its name. Every bonus is worked out with it.'),
    ('I41', 'The referrals of a member are not numbered in the order of joining, which decides who is paired with whom.', 'The product changes no order, and nothing derives it again: find out who did, and restore the moment before.'),
    ('I42', 'A request or a bonus is older than what it follows from, or lies in the future.', 'Find out who changed the time. Propose a repair of rows under Members: another administrator confirms it.'),
    ('I43', 'A deposit has no entry in the audit log, more than one, or one that says something else.', 'Find out who changed the deposit. Propose a repair of rows under Members: it is again what the audit log says, and is taken out where no entry says that it was requested.'),
    ('I44', 'A withdrawal has no entry in the audit log, more than one, or one that says something else.', 'Pay nothing. Find out who changed the withdrawal. Propose a repair of rows under Members: it is again what the audit log says, and is taken out where no entry says that it was requested.'),
    ('I45', 'A decided deposit has no decision in the audit log, or one that says something else.', 'Find out who decided or changed it: the product writes both at once. Propose a repair of rows under Members: it is again what the audit log says.'),
    ('I46', 'A decided withdrawal has no decision in the audit log, or one that says something else.', 'Pay nothing. Find out who decided or changed it: the product writes both at once. Propose a repair of rows under Members: it is again what the audit log says.'),
    ('I47', 'A payout has no entry in the audit log, or one that says something else.', 'Compare the payout reference with the wallet''s own list of transfers, and find out who changed it. Propose a repair of rows under Members: it is again what the audit log says.'),
    ('I48', 'A correction has no entry in the audit log, or one that says something else.', 'Ask who proposed and confirmed the correction. Propose a repair of rows under Members: it is again what the audit log says.'),
    ('I49', 'An administrator''s email, role, activity, password or second step is not what the audit log says.', 'Find out who changed it. Then set it right in the panel: role and activity, or another password, or two-step sign-in reset; an email, and an account that is gone or that nobody made, on the server, by letting the administrator in again.'),
    ('I50', 'A decision has a number that is yet to be given, so a later one would get it too.', 'Whoever runs the database sets private.last_decision to the highest number that was given, by the statement of the runbook, before anything is decided.'),
    ('I51', 'A member''s wallet, email, status or hold is not what the audit log says, the email is not the one to sign in with, or the member is gone.', 'Find out who changed it and ask the member. Then a super admin restores here what the audit log says, or enters what is right. A member who is gone comes back only with a restored moment.'),
    ('I52', 'A setting is not what the audit log says.', 'Find out who changed it. Then a super admin enters the right value in the panel, under Readiness.'),
    ('I54', 'A member''s sponsor or date of joining is not what the audit log says.', 'The product changes neither, and nothing derives it again: find out who did, and restore the moment before.'),
    ('I53', 'The balance beside a journal row does not follow from the rows before it.', 'Mend the rows first where another rule names some. Then rebuild the counters.')
$$;
comment on function private.rule_texts() is
'Each rule of the ledger checks in words: what is wrong, and what to do. Every rule of private.ledger_violations has a row.';

create function private.alarm_texts(p_alarm private.alarms, out problem text, out advice text)
language plpgsql stable set search_path = '' as $$
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
        ), 'Find out who changed the rows: the product never does. Nothing else is to be done: journal and sums agree.'),
        ('deposit_address', 'changed', pg_catalog.format('The deposit address was changed to %s.', v_details ->> 'to'), 'If this was not agreed, change it back immediately: members send their deposits there.'),
        ('deposit_address', 'unexpected', pg_catalog.format('Members are shown the deposit address %s, which is not the expected one.', v_details ->> 'shown'), 'Find out who changed it before another deposit is sent.'),
        ('audit_entry', 'any', 'Entries wait to be written into the audit log''s chain.', 'See whether the worker runs, and what its log says.'),
        ('disk', 'any', pg_catalog.format('The disk of %s is more than %s%% full.', (p_alarm).object, v_details ->> 'above'), 'Make room before it is full: the product stops then.'),
        ('dead_job', 'any', pg_catalog.format('The job %s failed and was given up.', pg_catalog.regexp_replace((p_alarm).object, '^.*:', '')), 'See Readiness: the failed jobs are listed there with their times. This ends when the job works again.'),
        ('failed_mail', 'any', pg_catalog.format(
            '%s could not be sent and %s given up.', case when v_details ->> 'emails' = '1' then 'One email' else v_details ->> 'emails' || ' emails' end,
            case when v_details ->> 'emails' = '1' then 'was' else 'were' end
        ), 'A super administrator sees the reasons under Readiness and sends them again there.'),
        ('backup', 'off', 'No backups are made.', 'Switch them on: what happens meanwhile is lost with this machine.'),
        ('backup', 'database', case when v_details ->> 'last' is null then 'No backup of the database was finished yet.' else pg_catalog.format('The last backup of the database is of %s UTC.', v_details ->> 'last') end, 'The log of the backups says why. Then run: make backup.'),
        ('backup', 'files', pg_catalog.format('Receipts and keys are not known to be in the backups %s.', coalesce('since ' || (v_details ->> 'last') || ' UTC', 'yet')), 'The log of the backups says why. Then run: make backup.'),
        ('backup', 'wal', pg_catalog.format('Changes of the database have not reached the backups since %s UTC.', v_details ->> 'last'), 'PostgreSQL''s log says why. The disk of the database fills up meanwhile.'),
        ('backup', 'proof', 'No backup was restored to try it for more than forty days.', 'Run: make restore-drill.'),
        ('schema', 'any', pg_catalog.format(
            'The rules of the database are not what the last migration left: %s.',
            (select pg_catalog.string_agg(o.key, ', ') from (select k.key from pg_catalog.jsonb_object_keys(v_details) as k (key) order by k.key limit 3) as o)
        ), 'Find out who changed them: docs/runbooks/schema.md says how they are set back.'),
        ('restored', 'any', 'This is a copy that was restored from a backup. It sends no email and makes no decision.', 'Acknowledge this only when the original is gone and this copy takes over: compare the last withdrawals with the wallet first.')
    ) as t (kind, object, problem, advice)
    where t.kind = (p_alarm).kind and t.object in ('any', (p_alarm).object);
end
$$;
comment on function private.alarm_texts(private.alarms) is 'An alarm in words: what is wrong, and what to do.';

create function private.alarm_stops(p_alarm private.alarms) returns text
language sql immutable set search_path = '' as $$
    select case
        when (p_alarm).kind not in ('ledger_violation', 'restored') or (p_alarm).ended_at is not null or (p_alarm).acknowledged_at is not null then null
        when (p_alarm).user_id is not null then 'member'
        when (p_alarm).object like 'I49%' then 'administrator'
        when (p_alarm).object like 'I51%' then 'member'
        when (p_alarm).object like 'I52 %' then case
            when pg_catalog.substr((p_alarm).object, 5) = any(private.governing_settings('deposit') || private.governing_settings('withdrawal'))
                then 'setting'
        end
        else 'everybody'
    end
$$;
comment on function private.alarm_stops(private.alarms) is
'What an alarm lets nobody decide: member, what concerns the member''s money; administrator, what this one decides; setting, what it governs; everybody, all; null, nothing. Only violations of the ledger, and that this is a restored copy, stop decisions, until they are acknowledged.';

-- An alarm that names no member. Of what is wrong with very many only some have an alarm each; the others are asked.
create function private.is_stopped_by(p_object text, p_user_id uuid, p_noun text) returns boolean
language plpgsql stable set search_path = '' as $$
begin
    return case
        when p_object = 'I49' then exists (select 1 from private.administrator_discrepancies as d where d.id = auth.uid())
        when p_object like 'I49 %' then p_object = 'I49 ' || auth.uid()
        when p_object = 'I51' then exists (
            select 1 from private.member_state_violations(private.listed_part(array[p_user_id], '{}')) as v where v.rule = 'I51'
        )
        when p_object like 'I52 %' then pg_catalog.substr(p_object, 5) = any(private.governing_settings(p_noun))
        else p_object <> 'I52'
    end;
end
$$;
comment on function private.is_stopped_by(text, uuid, text) is
'Whether an alarm about this object, which names no member, concerns a decision about this member''s deposit, withdrawal or correction.';

create function private.require_no_alarm(p_user_id uuid, p_noun text) returns void
language plpgsql stable set search_path = '' as $$
declare
    v_alarm private.alarms;
begin
    select * into v_alarm from private.alarms as a
    where a.kind in ('ledger_violation', 'restored') and a.ended_at is null and a.acknowledged_at is null
        and (a.user_id = p_user_id or (a.user_id is null and private.is_stopped_by(a.object, p_user_id, p_noun)))
        and (p_noun <> 'repair' or a.kind = 'restored' or a.object like 'I49%')
    order by a.user_id is null, a.raised_at
    limit 1;
    if not found then
        return;
    end if;
    if private.my_role() = 'authenticated' then
        perform private.raise_error(409, 'ledger_alarm', 'Your account is being checked, so this cannot be changed now. Try again later, or contact support.');
    end if;
    if v_alarm.kind = 'restored' then
        perform private.raise_error(
            409, 'ledger_alarm', 'Nothing can be decided now: this is a copy that was restored from a backup. See Alarms: a super admin acknowledges it there when it takes over.',
            pg_catalog.jsonb_build_object('alarm', v_alarm.id)::text
        );
    end if;
    perform private.raise_error(
        409, 'ledger_alarm', pg_catalog.format(
            case private.alarm_stops(v_alarm)
                when 'administrator' then 'You can decide nothing now: a check of your account fails.'
                when 'setting' then 'This cannot be decided now: a check of a setting fails.'
                when 'member' then 'Nothing can be decided about this member''s money now: a check of the ledger fails.'
                else 'Nothing can be decided now: a check of the ledger fails.'
            end
            || ' %s See Alarms: find out why, then a super admin acknowledges it there.', (private.alarm_texts(v_alarm)).problem
        ), pg_catalog.jsonb_build_object('alarm', v_alarm.id, 'rule', pg_catalog.left(v_alarm.object, 3))::text
    );
end
$$;
comment on function private.require_no_alarm(uuid, text) is
'Before a decision about this member''s deposit, withdrawal or correction, under its locks: raises while an open, unacknowledged violation of the ledger names the member, the administrator who decides, a setting that governs it, or nobody, or this is a restored copy; before a repair only for the administrator or the copy. Errors: ledger_alarm.';

create function public.acknowledge_alarm(p_id uuid, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_alarm private.alarms;
begin
    if v_reason is null or pg_catalog.length(v_reason) > 1000 then
        perform private.raise_error(400, 'invalid_reason', 'Give a reason of at most 1,000 characters.');
    end if;
    -- Locked: the next check may be about to change it.
    select * into v_alarm from private.alarms as a where a.id = p_id for no key update;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such alarm.');
    end if;
    if v_alarm.acknowledged_by = v_admin.id then
        return '{"success": true, "already": true}'::jsonb;
    end if;
    if v_alarm.acknowledged_at is not null or v_alarm.ended_at is not null then
        perform private.raise_error(409, 'already_decided', case
            when v_alarm.acknowledged_at is null then 'This alarm is over.'
            else (
                select pg_catalog.format('Already acknowledged by %s.', coalesce(a.full_name, a.email))
                from private.admin_users as a where a.id = v_alarm.acknowledged_by
            )
        end);
    end if;
    update private.alarms as a set
        acknowledged_at = pg_catalog.clock_timestamp(), acknowledged_by = v_admin.id, reason = v_reason,
        -- An event is over when it is understood; a state lasts until it is mended.
        ended_at = case when a.kind in ('repair', 'restored') or (a.kind, a.object) = ('deposit_address', 'changed') then pg_catalog.clock_timestamp() end
    where a.id = p_id;
    perform private.audit(
        'admin:' || v_admin.id, 'alarm.acknowledged', 'alarm', p_id,
        pg_catalog.jsonb_build_object('kind', v_alarm.kind, 'object', v_alarm.object, 'user_id', v_alarm.user_id, 'details', v_alarm.details, 'reason', v_reason)
    );
    return '{"success": true}'::jsonb;
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function public.acknowledge_alarm(uuid, text) is
'Super administrators: an alarm is understood. No reminder follows, and what it stops goes on, until it changes. Errors: forbidden, two_step_required, invalid_reason, not_found, already_decided, try_again.';
grant execute on function public.acknowledge_alarm(uuid, text) to platform_admin;

-- The page.

create function private.alarm_object(p_alarm private.alarms) returns jsonb
language plpgsql stable set search_path = '' as $$
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
$$;
comment on function private.alarm_object(private.alarms) is
'The row that a violation names: kind (deposit, withdrawal, bonus, transaction, member, administrator) and id, of an administrator the name too, also where it names a session; null when it is no such row.';

create function private.alarm_item(p_alarm private.alarms) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_build_object(
            'id', (p_alarm).id, 'kind', (p_alarm).kind, 'object', (p_alarm).object, 'details', (p_alarm).details,
            'rule', case when (p_alarm).kind = 'ledger_violation' then pg_catalog.left((p_alarm).object, 3) end,
            'problem', t.problem, 'advice', t.advice, 'stops', private.alarm_stops(p_alarm),
            'urgent', coalesce(((p_alarm).details ->> 'urgent')::boolean, false),
            'row', private.alarm_object(p_alarm),
            -- A bonus or an order names a place in the tree by its number.
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
                    select i.id from pg_catalog.jsonb_array_elements((p_alarm).details -> 'repairs') as r (value)
                    cross join lateral (values (r.value ->> 'user_id'), (r.value ->> 'taken_from')) as i (id)
                )
            )
        )
        from private.alarm_texts(p_alarm) as t
        left join private.profiles as p on p.user_id = (p_alarm).user_id
        left join private.admin_users as a on a.id = (p_alarm).acknowledged_by
    );
end
$$;
comment on function private.alarm_item(private.alarms) is 'An alarm as an item of the administrators'' list, with the usernames of those whom it names.';

create function public.list_alarms(p_filters jsonb default '{}') returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['raised_at']);
    v_ended boolean := coalesce((v_request).status, 'open') = 'ended';
begin
    perform private.require_admin();
    if coalesce((v_request).status, 'open') not in ('open', 'ended') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such status.');
    end if;
    return pg_catalog.jsonb_build_object(
        'items', coalesce((
            select pg_catalog.jsonb_agg(private.alarm_item(q.alarm) order by q.place)
            from (
                select
                    a as alarm,
                    row_number() over (
                        order by
                            case when v_ended then a.ended_at end desc, a.acknowledged_at is not null, a.kind <> 'ledger_violation',
                            a.raised_at desc, a.id
                    ) as place
                from private.alarms as a
                where (a.ended_at is not null) = v_ended
                order by place
                limit (v_request).page_size offset ((v_request).page - 1) * (v_request).page_size
            ) as q
        ), '[]'),
        'total', (select count(*) from private.alarms as a where (a.ended_at is not null) = v_ended)
    );
end
$$;
comment on function public.list_alarms(jsonb) is
'Administrators: open alarms, those first that stop decisions, or the history, newest first. Filters: status (open, ended), page, pageSize. Errors: forbidden, session_ended, invalid_filter, unknown_field.';
grant execute on function public.list_alarms(jsonb) to platform_admin;

create function private.alarm_summary() returns jsonb
language sql stable set search_path = '' as $$
    select pg_catalog.jsonb_build_object(
        'open', count(*) filter (where a.acknowledged_at is null),
        'stopping', count(*) filter (where s.stops is not null),
        'stops_everybody', coalesce(bool_or(s.stops = 'everybody'), false),
        'stopped_members', coalesce(pg_catalog.jsonb_agg(distinct a.user_id) filter (where s.stops = 'member' and a.user_id is not null), '[]'),
        'rules', coalesce(
            pg_catalog.jsonb_object_agg(pg_catalog.left(a.object, 3), coalesce(r.problem, 'A check of the ledger fails.')) filter (where s.stops is not null), '{}'
        )
    )
    from private.alarms as a
    cross join lateral (select private.alarm_stops(a) as stops) as s
    left join private.rule_texts() as r on r.rule = pg_catalog.left(a.object, 3)
    where a.ended_at is null
$$;
comment on function private.alarm_summary() is
'Number of open alarms that wait to be acknowledged, and what they stop: the rules in words, and the members.';

-- Administrators are notified: in the app, and by one e-mail with all that is new.

create function private.alarm_line(p_alarm private.alarms) returns text
language sql stable set search_path = '' as $$
    select pg_catalog.concat_ws(
        ' ', t.problem, t.advice,
        case when (p_alarm).kind = 'ledger_violation' then pg_catalog.format('Check %s.', (p_alarm).object) end,
        'Member: ' || p.username || '.',
        'Administrator: ' || (private.alarm_object(p_alarm) ->> 'name') || '.',
        pg_catalog.format('Since %s UTC.', pg_catalog.to_char((p_alarm).raised_at at time zone 'UTC', 'FMDD Mon YYYY HH24:MI')),
        case
            when (p_alarm).ended_at is not null then pg_catalog.format('Over since %s UTC.', pg_catalog.to_char((p_alarm).ended_at at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'))
            when (p_alarm).acknowledged_at is not null then 'Acknowledged.'
            when private.alarm_stops(p_alarm) = 'everybody' then 'Every decision about money is blocked.'
            when private.alarm_stops(p_alarm) = 'member' then 'Decisions about this member''s money are blocked.'
            when private.alarm_stops(p_alarm) = 'administrator' then 'Decisions of this administrator are blocked.'
            when private.alarm_stops(p_alarm) = 'setting' then 'Decisions that depend on this setting are blocked.'
            else 'Decisions go on.'
        end
    )
    from private.alarm_texts(p_alarm) as t
    left join private.profiles as p on p.user_id = (p_alarm).user_id
$$;
comment on function private.alarm_line(private.alarms) is
'An alarm as a paragraph of an e-mail: what is wrong, what to do, what it concerns, since when, what it blocks.';

create function private.mail_alarms() returns integer
language plpgsql volatile set search_path = '' as $$
declare
    v_new bigint;
    v_open bigint;
    v_due boolean;
    v_title text;
    v_body text;
    v_ids uuid[];
begin
    if private.is_recent((select s.mailed_at from private.alarm_mail_state as s), interval '1 hour') then
        return 0;
    end if;
    select
        count(*) filter (where a.mailed_at is null),
        count(*) filter (where a.ended_at is null),
        coalesce(bool_or(not private.is_recent(a.mailed_at, interval '1 day')), false)
    into v_new, v_open, v_due
    from private.alarms as a where (a.ended_at is null or a.mailed_at is null) and a.acknowledged_at is null;
    -- A reminder once a day, of all that lasts.
    if v_new = 0 and not v_due then
        return 0;
    end if;
    v_title := case
        when v_new = 0 then pg_catalog.format('Reminder: %s', case v_open when 1 then 'an alarm lasts' else v_open || ' alarms last' end)
        else case v_new when 1 then 'A new alarm' else v_new || ' new alarms' end
    end;
    select pg_catalog.string_agg(l.line, E'\n' order by l.place), pg_catalog.array_agg(l.id order by l.place) into v_body, v_ids
    from (
        select a.id, private.alarm_line(a) || case when a.mailed_at is not null then ' You were told before.' else '' end as line, row_number() over w as place
        from private.alarms as a
        where (a.ended_at is null or a.mailed_at is null) and a.acknowledged_at is null
        window w as (order by a.mailed_at is not null, private.alarm_stops(a) is null, a.raised_at desc, a.id)
        order by place
        limit 20
    ) as l;
    if v_new + (select count(*) from private.alarms as a where a.ended_at is null and a.mailed_at is not null and a.acknowledged_at is null) > 20 then
        v_body := v_body || E'\nThere are more than these 20: see the page.';
    end if;
    insert into private.outbox (template, recipient, data)
    select 'alarms', a.email, pg_catalog.jsonb_build_object('display_name', a.full_name, 'title', v_title, 'body', v_body, 'link', '/admin/alarms')
    from private.admin_users as a where a.is_active and a.role in ('super_admin', 'finance_admin');
    perform private.queue_webhook(v_title, v_ids);
    update private.alarms as a set mailed_at = pg_catalog.clock_timestamp()
    where (a.ended_at is null or a.mailed_at is null) and a.acknowledged_at is null;
    update private.alarm_mail_state as s set mailed_at = pg_catalog.clock_timestamp();
    return v_new;
end
$$;
comment on function private.mail_alarms() is
'E-mails every active super and finance administrator all that is new and what lasts, and writes the webhook message, at most once an hour, and once a day while anything lasts; returns how many were new.';

create function private.announce_alarms() returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_new bigint;
    v_body text;
begin
    perform from private.alarm_mail_state as s for no key update;
    select count(*), pg_catalog.string_agg((private.alarm_texts(a)).problem, ' ' order by a.raised_at desc, a.id) into v_new, v_body
    -- A deposit address has notices of its own.
    from private.alarms as a where a.noticed_at is null and a.kind <> 'deposit_address';
    if v_new > 0 then
        perform private.notify_administrators(
            'alarm', case v_new when 1 then 'A new alarm' else v_new || ' new alarms' end, pg_catalog.left(v_body, 600), '/admin/alarms'
        );
    end if;
    update private.alarms as a set noticed_at = pg_catalog.clock_timestamp() where a.noticed_at is null;
    perform private.mail_alarms();
end
$$;
comment on function private.announce_alarms() is 'Notifies administrators of alarms that are new: one notice in the app, and an e-mail when one may be sent.';
