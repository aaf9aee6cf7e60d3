-- The checks of the ledger: each finds the corruption that it is there for, and a long check takes its turn.
-- threats: T44 T48
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
create function actors.broken() returns text language sql stable as $$
    select string_agg(distinct c.rule, ' ' order by c.rule) from private.check_ledger() as c
$$;

-- What the functions find that know a rule: the others are not run for each corruption. Each is asked about everything.
create function actors.rule_functions() returns table (name text, source text) language sql stable as $$
    select f.name, p.prosrc || coalesce(pg_get_viewdef(to_regclass(f.reads)), '')
    from (
        values
        ('private.balance_violations(null)', 'balance_violations', null), ('private.journal_violations(null)', 'journal_violations', null),
        ('private.bonus_violations(null)', 'bonus_violations', null), ('private.request_violations(null)', 'request_violations', null),
        ('private.place_violations(null)', 'place_violations', null), ('private.member_state_violations(null)', 'member_state_violations', null),
        ('private.network_violations(null, null, null)', 'network_violations', null),
        ('private.audit_discrepancies(null)', 'audit_discrepancies', 'private.due_audit_entries'),
        ('private.sum_violations()', 'sum_violations', null), ('private.standing_violations()', 'standing_violations', null),
        ('(select ''I26'' as rule, c.object from private.verify_audit_chain() as c (object))', 'check_chain', null)
    ) as f (name, function, reads)
    inner join pg_proc as p on p.pronamespace = 'private'::regnamespace and f.function = p.proname
$$;
-- A corruption for each rule, planted behind the triggers and, where a constraint forbids it, without the constraint.
create function actors.plant(p_rule text, p_corruption text, p_description text) returns text language plpgsql as $$
declare
    v_found text;
    v_query text;
begin
    select string_agg(format('select v.rule from %s as v where v.rule = %L', f.name, p_rule), ' union ') into v_query
    from rule_functions() as f where strpos(f.source, p_rule) > 0;
    begin
        perform set_config('session_replication_role', 'replica', true);
        execute p_corruption;
        execute format('select string_agg(distinct v.rule, '' '') from (%s) as v', v_query) into v_found;
        raise exception 'planted' using errcode = 'ZZ999';
    exception when sqlstate 'ZZ999' then
        perform set_config('session_replication_role', 'origin', true);
    end;
    return is(v_found, p_rule, p_rule || ': ' || p_description);
end
$$;
create function actors.without_check(p_constraint text, p_table text, p_corruption text) returns text language sql as $$
    select format('alter table %s drop constraint %I; %s', p_table, p_constraint, p_corruption)
$$;
create function actors.without_index(p_index text, p_corruption text) returns text language sql as $$
    select format('drop index %s; %s', p_index, p_corruption)
$$;
savepoint fixture_members;

-- =====================================================================================================================
-- A long check takes a tenth of the time, and its last response stands meanwhile
-- =====================================================================================================================
select pays('freya', 500);

select is(jobs.check_ledger(), '{}', 'a sound ledger');
create temporary table before as select checked_at, check_duration from private.ledger_check_state;
select is(jobs.check_ledger(), '{}', 'asked again');
select isnt((select checked_at from private.ledger_check_state), (select checked_at from before), 'they are checked again at once');
select ok((select check_duration from private.ledger_check_state) > interval '0', 'and it is known how long that took');

set local session_replication_role = replica;
update private.profiles set cash_in_amount = cash_in_amount + 1 where user_id = user_id('freya');
set local session_replication_role = origin;
update private.ledger_check_state set check_duration = '30 seconds', checked_at = clock_timestamp() - interval '4 minutes';
select is(jobs.check_ledger(), '{}', 'before its turn the last response stands');
update private.ledger_check_state set checked_at = clock_timestamp() - interval '5 minutes';
select ok(jobs.check_ledger() ? 'I09', 'when its turn has come the check finds what happened');
update private.ledger_check_state set check_duration = '30 seconds', checked_at = clock_timestamp();
select ok(jobs.check_ledger() ? 'I09', 'and an alarm stands too');
select is((select violations > 0 from private.ledger_check_state), true, 'for every reader');

-- No check counts as longer than ten minutes, whatever is stored.
update private.ledger_check_state set check_duration = '30 days', checked_at = clock_timestamp() - interval '91 minutes', rules = '{}';
select ok(jobs.check_ledger() ? 'I09', 'a check is put off for ninety minutes at most');

-- The clock is set back by an hour after a long check.
update private.ledger_check_state set check_duration = '30 seconds', checked_at = clock_timestamp() + interval '1 hour', rules = '{}';
select ok(jobs.check_ledger() ? 'I09', 'a check in the future is none that others wait for');
select ok((select checked_at <= clock_timestamp() from private.ledger_check_state), 'and the next one is counted from now');
-- An acknowledgement has an entry.
update private.alarms set acknowledged_at = clock_timestamp(), acknowledged_by = user_id('elin'), reason = 'x' where kind = 'ledger_violation';
select ok(jobs.check_ledger() ? 'I09', 'what was acknowledged is checked as before');
select is((select count(*) from private.alarms where acknowledged_at is not null), 0::bigint, 'and stops decisions again where no administrator acknowledged it');
-- The clock is set while a check runs.
select is(private.believable_duration(clock_timestamp() - a, b), c, 'a check that seems to have taken ' || a || ', after one of ' || b)
from (values
    (interval '1 day', interval '0.5 seconds', interval '4 seconds'), ('1 day', '30 seconds', '1 minute'), ('1 day', '9 minutes', '10 minutes'),
    ('-1 hour', '30 seconds', '0')
) as v (a, b, c);
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A corruption for each rule
-- =====================================================================================================================
select pays('freya', 500); select pays('ask', 500); select pays('embla', 500);
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 200, wallets.of('freya')), (auth.uid(), 100, wallets.of('freya'));
select act_as('elin');
select decide_withdrawal(id, 'approve') from withdrawals where user_id = user_id('freya') and amount = 200;
select act_as_owner();
insert into public.bot_subscriptions (user_id, bot_name, mt5_server, mt5_login) values (user_id('freya'), 'Scout', 's', 'l');

select is(broken(), null, 'a sound ledger has no violation');
select is(jobs.check_ledger(), '{}', 'the job says so');
select is((select violations from private.ledger_check_state), 0, 'and keeps it');

select plant('I01', $$ delete from public.transactions where transaction_type = 'bonus' and user_id = user_id('ymir') $$, 'a bonus without its journal row');
select plant('I01', $$ update public.transactions set amount = amount + 1 where transaction_type = 'bonus' and user_id = user_id('ymir') $$, 'a journal row of another amount');
select plant('I02', $$ update private.profiles set cash_in_amount = cash_in_amount + 1 where user_id = user_id('ask') $$, 'a cash-in without a deposit');
select plant('I03', $$ update public.transactions set status = 'pending' where transaction_type = 'deposit' and user_id = user_id('ask') $$, 'an approved deposit that is still pending in the journal');
select plant('I03', $$ update public.deposits set status = 'approved' where user_id = user_id('ask'); delete from public.transactions where user_id = user_id('ask') $$, 'an approved deposit without a journal row');
select plant('I04', $$ update public.transactions set amount = -150 where transaction_type = 'withdrawal' and amount = -200 $$, 'a withdrawal of another amount');
select plant('I05', $$ update public.transactions set reference_id = gen_random_uuid() where transaction_type = 'deposit' and user_id = user_id('ask') $$, 'a journal row without a source');
select plant('I06', without_index('public.transactions_source_key', $$ insert into public.transactions (user_id, amount, transaction_type, status, reference_id)
    select user_id, amount, transaction_type, status, reference_id from public.transactions where transaction_type = 'deposit' and user_id = user_id('ask') $$), 'two journal rows of one deposit');
select plant('I07', $$ update private.totals set pairing_amount = pairing_amount + 1 where user_id = user_id('freya') $$, 'a kept sum that is none');
select plant('I07', $$ update private.totals set reserved_amount = 0 where user_id = user_id('freya') $$, 'a reservation that was lost');
select plant('I08', $$ update private.totals set withdrawn_amount = 100000 where user_id = user_id('freya') $$, 'more paid out than earned, hidden by the clamp');
select plant('I09', $$ update private.profiles set cash_in_amount = 10 where user_id = user_id('embla') $$, 'a cash-in that is not the deposits');
select plant('I10', without_index('public.bonuses_referral_key', $$ insert into public.bonuses (user_id, source_user_id, bonus_type, amount, rate, volume, subject_no)
    select user_id, source_user_id, bonus_type, amount, rate, volume, subject_no from public.bonuses where bonus_type = 'referral' and user_id = user_id('ymir') $$), 'a bonus posted twice');
select plant('I11', $$ update public.bonuses set volume = volume * 2, amount = amount * 2 where user_id = user_id('ymir') and bonus_type = 'override' $$, 'a bonus that the tree does not explain');
select plant('I11', $$ update public.bonuses set user_id = user_id('loke') where user_id = user_id('ymir') and bonus_type = 'override' $$, 'a bonus paid to another member');
select plant('I12', without_check('no_bonus_from_oneself', 'public.bonuses', $$ update public.bonuses set source_user_id = user_id where user_id = user_id('ymir') $$), 'a bonus from oneself');
select plant('I13', $$ update private.profiles set package_value = 1000 where user_id = user_id('ask') $$, 'a package without a deposit');
select plant('I14', $$ update private.profiles set referrer_id = profile_id('embla'), depth = 1 where user_id = user_id('ymir') $$, 'a cycle');
select plant('I15', $$ update private.profiles set created_at = now() + interval '1 day' where user_id = user_id('freya') $$, 'a referrer younger than the child');
select plant('I16', without_check('deposits_amount_check', 'public.deposits', $$ update public.deposits set amount = 0.5 where user_id = user_id('ask') $$), 'an amount out of range');
select plant('I16', without_check('withdrawals_amount_check', 'public.withdrawals', $$ update public.withdrawals set amount = 50 where user_id = user_id('freya') and amount = 100 $$), 'a payout out of range');
select plant('I16', $$ update public.bonuses set volume = 0, amount = 0 where user_id = user_id('ymir') and bonus_type = 'override' $$, 'a bonus of nothing without a correction');
select plant('I17', without_check('pending_is_undecided', 'public.deposits', $$ update public.deposits set decided_at = null where user_id = user_id('ask') $$), 'a decision without a time');
select plant('I17', $$ update public.withdrawals set status = 'rejected', admin_notes = 'x', decided_at = now() where user_id = user_id('freya') and amount = 100 $$, 'a decision without a decider');
select plant('I18', without_index('private.profiles_username_key', $$ update private.profiles set username = 'ASK' where user_id = user_id('embla') $$), 'one name twice');
select plant('I19', $$ insert into private.transfer_keys (request_id, key, kind, is_payout) select id, 'same', 'text', false from public.deposits where user_id in (user_id('ask'), user_id('embla')) $$, 'one transfer approved twice');
select plant('I20', $$ delete from storage.objects where owner_id = user_id('ask')::text $$, 'a receipt that is gone');
select plant('I20', $$ update storage.objects set owner_id = user_id('loke')::text where owner_id = user_id('ask')::text $$, 'somebody else''s receipt');
select plant('I20', $$ update storage.objects set metadata = metadata || '{"eTag": "\"other\""}' where owner_id = user_id('ask')::text $$, 'another file in the place of a receipt');
select plant('I20', $$ update private.deposit_receipts set etag = 'other' where name like user_id('ask') || '/%' $$, 'a hash that is not the file''s');
select plant('I21', $$ update public.bonuses set volume = 9000000, amount = 90000 where user_id = user_id('ymir') and bonus_type = 'override' $$, 'bonuses beyond 56% of packages');
select plant('I22', $$ update public.withdrawals set amount = 9999999 where user_id = user_id('freya') and status = 'approved' $$, 'more paid out than came in');
select plant('I23', $$ update private.positions set child_no = 7 where user_id = user_id('buri') $$, 'a gap among the children');
select plant('I23', $$ update private.positions set package_cents = 100000, paid_cents = 100000 where user_id = user_id('buri') $$, 'a place that carries another package');
select plant('I23', $$ delete from private.positions where user_id = user_id('loke') $$, 'a member without a place');
select plant('I24', without_index('public.bot_subscriptions_running_key', $$ insert into public.bot_subscriptions (user_id, bot_name, mt5_server, mt5_login) values (user_id('freya'), 'Scout', 's', 'l') $$), 'one bot twice');
select plant('I25', $$ update public.admin_sessions set expires_at = now() + interval '9 hours' where admin_id = user_id('sam') $$, 'a session beyond its limit');
select private.link_entries();
select plant('I26', $$ update private.audit_log set actor = 'system' where action = 'withdrawal.approved' $$, 'an edited entry of the audit log');
select plant('I27', $$ update private.counters set value = value + 1 where name = 'profiles' $$, 'a counter that is none');
-- Every counter but those that nothing reads.
select plant('I27', format($$ update private.counters set value = value + 1 where name = %L $$, name), 'the counter ' || name)
from private.counters where name not in ('available_balance') order by name;
select plant('I27', $$ update private.flow_deltas set deposits = deposits + 1 $$, 'a day on which more came in');
select plant('I27', $$ update private.flow_deltas set decided_deposits = 0 $$, 'a day on which nothing was decided');
select plant('I27', $$ update private.flow_deltas set day = day - 1 where withdrawals > 0 $$, 'a payout on another day');
select plant('I27', $$ insert into private.flow_days (day, withdrawals) values ('2020-01-01', 5) $$, 'a day on which nothing went out');
-- Kept days and sums, with changes that no roll-up has seen yet and a team large enough to have days of its own.
select jobs.roll_up_networks();
select private.backfill_team_days(array[position_no('ymir')], 1);
select is_empty('select * from private.team_day_discrepancies(20)', 'a large team is walked to its last member');
select private.backfill_team_days(array[position_no('ymir'), position_no('freya')], 2);
select pays('embla', 1000);
select is(broken(), null, 'kept days and sums are good before a roll-up and after it');
select plant('I33', $$ update public.bonuses set source_user_id = user_id('ask') where bonus_type = 'pairing' $$, 'a pair that the other child completed');
select plant('I34', $$ update private.positions set paid_order = paid_order + 1000 where user_id = user_id('ask') $$, 'a member funded later than by any deposit');
select plant('I34', $$ update private.positions set paid_order = 1000 where user_id = user_id('buri') $$, 'an unfunded member in the order of fundings');
select plant('I35', $$ update public.transactions set decision_no = null where transaction_type = 'bonus' and user_id = user_id('ymir') $$, 'a credit of no decision');
select plant('I03', $$ update public.transactions set decision_no = decision_no + 1 where transaction_type = 'deposit' and user_id = user_id('ask') $$, 'a deposit of another decision in the journal');
select plant('I28', $$ update private.earning_days set pairing = pairing + 1 where no = position_no('freya') $$, 'earnings on a day that the journal does not have');
select plant('I28', $$ update private.earning_days set day = day - 1 where no = position_no('freya') $$, 'earnings on another day');
select plant('I28', $$ delete from private.network_deltas where no = position_no('freya') $$, 'a change that is never rolled up');
select plant('I29', $$ update private.networks set members = members + 1 where no = position_no('freya') $$, 'a network with a member too many');
select plant('I29', $$ update private.networks set override = override + 0.01 where no = position_no('ymir') $$, 'a network''s bonuses');
select plant('I29', $$ update private.networks set direct_cents = 0 where no = position_no('freya') $$, 'packages of direct referrals that were lost');
select plant('I29', $$ update private.networks set direct_funded = direct_funded + 1 where no = position_no('freya') $$, 'a funded referral too many');
select plant('I30', $$ update private.team_days set funded = funded + 1 where no = position_no('freya') $$, 'a team that grew more than it did');
select plant('I30', $$ update private.team_days set day = day - 1 where no = position_no('ymir') $$, 'a team that grew on another day');
select plant('I31', $$ delete from private.transfer_keys where request_id = (select id from public.deposits where user_id = user_id('ask')) $$, 'a deposit that no other is compared with');
select plant('I31', $$ update private.transfer_keys set key = 'other' where request_id = (select id from public.deposits where user_id = user_id('ask')) $$, 'a deposit that is compared by another reference');
select plant('I31', $$ insert into private.transfer_keys (request_id, key, kind, is_payout) select id, 'more', 'text', false from public.deposits where user_id = user_id('ask') $$, 'a deposit that is compared by more than its reference');
select plant('I07', $$ update private.totals set reentry_amount = 0 where user_id = user_id('freya') $$, 're-entries that were lost');
select plant('I27', $$ delete from private.counters where name = 'shortfall' $$, 'a counter that is missing');
select plant('I36', $$ update public.bonuses set created_at = created_at - interval '1 microsecond' where bonus_type = 'pairing' $$, 'a bonus from before its journal row');
select plant('I36', $$ update public.transactions set created_at = created_at + interval '1 hour' where transaction_type = 'bonus' and user_id = user_id('ymir') $$, 'a journal row of another time');
select plant('I36', $$ update public.transactions set created_at = created_at + interval '1 hour' where transaction_type = 'deposit' and user_id = user_id('ask') $$, 'a deposit of another time in the journal');
select plant('I36', $$ update public.withdrawals set created_at = created_at - interval '1 hour' $$, 'a withdrawal of another time than in the journal');
select plant('I53', format('update public.transactions set balance_after = %s where transaction_type = ''bonus'' and user_id = user_id(''freya'')', v), d || ' balance beside a bonus')
from (values ('balance_after + 0.01', 'another'), ('null', 'no')) as b (v, d);
select plant('I53', $$ update public.transactions set balance_after = balance_after + 1 where transaction_type = 'withdrawal' and balance_after is not null $$, 'another balance after a withdrawal');
select plant('I53', $$ update public.transactions set balance_after = 1 where transaction_type = 'deposit' and user_id = user_id('ask') $$, 'a balance that a deposit changed');
select plant('I53', $$ update public.transactions set balance_after = 1 where transaction_type = 'withdrawal' and status = 'pending' $$, 'a balance before the decision');
select plant('I53', $$ update public.transactions as t set decision_no = f.last - t.decision_no from (select max(decision_no) + min(decision_no) as last from public.transactions where user_id = user_id('freya') and transaction_type <> 'deposit') as f
    where user_id = user_id('freya') and transaction_type <> 'deposit' and decision_no is not null $$, 'another order of decisions');
select plant('I50', $$ update private.last_decision set no = no - 1 $$, 'a number that would be given again');
select plant('I37', format($$ update private.totals set %1$I = %1$I + 1 where user_id = user_id('freya') $$, name), name || ' of no bonus')
from unnest(array['referral_count', 'pairing_count', 'override_count']) as name;
select plant('I37', $$ update private.totals set referral_count = referral_count + 1, pairing_count = pairing_count - 1 where user_id = user_id('freya') $$, 'counts of which only the sum is right');
select plant('I40', format($$ update private.packages set %s where value = 500 $$, change), 'another plan: ' || change)
from unnest(array['pairing_percent = 41', 'value = 600']) as change;
select plant('I40', $$ insert into private.packages (value, label, pairing_percent) values (2000, 'More', 50) $$, 'a package that the plan does not have');
select plant('I40', $$ delete from private.packages where value = 50 $$, 'a package that is missing');
select plant('I40', format($$ create or replace function private.%I() returns integer language plpgsql immutable parallel safe set search_path = '' as 'begin return 7; end' $$, name), 'another ' || name)
from unnest(array['referral_percent', 'override_percent', 'reentry_percent']) as name;
select plant('I41', $$ update private.positions set child_no = 9 where no = position_no('ask'); update private.positions set child_no = 1 where no = position_no('embla');
    update private.positions set child_no = 2 where no = position_no('ask') $$, 'direct referrals who changed places');
select plant('I41', $$ update private.profiles set created_at = (select created_at from private.profiles where user_id = user_id('freya')) where user_id = user_id('embla') $$, 'one who joined earlier than the number says');
select plant('I42', $$ update public.transactions set created_at = '1999-12-31' where user_id = user_id('ymir') $$, 'a bonus of another century');
select plant('I42', $$ update public.transactions set created_at = now() + interval '8 days' where user_id = user_id('ymir') $$, 'a bonus of next week');
select is(broken(), null, 'and nothing of it is left');

-- A correction says what its member's package is from then on; it does not excuse every other one.
select administrator('orm', 'super_admin');
create temporary table corrected (id uuid);
grant all on corrected to public;
select act_as('olga');
insert into corrected select (propose_correction('set_package', profile_id('buri'), 100, 'test') #>> '{correction,id}')::uuid;
select act_as('orm');
select confirm_correction(id) from corrected;
select act_as_owner();
select is(broken(), null, 'a corrected package is right');
select plant('I13', $$ update private.profiles set package_value = 1000 where user_id = user_id('buri') $$, 'a package that neither a deposit nor the correction gave');
select plant('I13', $$ update private.profiles set package_value = 0 where user_id = user_id('buri') $$, 'a correction that was lost');

rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A past day and a disclosure are what had been decided when they were computed, whatever clocks said then or say now
-- =====================================================================================================================
create function pg_temp.at(p_day integer, p_time text) returns void language sql as $$
    select set_config('app.demo_clock', (now() at time zone 'UTC')::date + p_day + p_time::time || '+00', true)
$$;
create function pg_temp.day(p_day integer) returns date language sql as $$ select (now() at time zone 'UTC')::date + p_day $$;
-- As the worker publishes on that day.
create function pg_temp.publishes(p_day integer) returns void language sql as $$
    insert into private.income_disclosures (computed_at, body, decision_no)
    select m.at, private.compute_disclosure(m.at::date - interval '1 year', m.at::date) || jsonb_build_object('computed_at', m.at), private.last_decision_no()
    from (select (pg_temp.day(p_day) || ' 00:02:00.123+00')::timestamptz as at) as m
$$;
create function pg_temp.withdraws(p_name text, p_amount numeric) returns uuid language plpgsql as $$
declare
    v_id uuid := gen_random_uuid();
begin
    perform act_as(p_name);
    insert into public.withdrawals (id, user_id, amount, wallet_address) values (v_id, auth.uid(), p_amount, wallets.of(p_name));
    perform act_as_owner();
    return v_id;
end
$$;
create function pg_temp.decides(p_id uuid, p_action text, p_reason text default null) returns void language plpgsql as $$
begin
    perform act_as('elin');
    perform public.decide_withdrawal(p_id, p_action, p_reason);
    perform act_as_owner();
end
$$;
grant execute on all functions in schema pg_temp to public;
create function actors.wrong() returns text language sql stable as $$
    select string_agg(concat_ws(' ', v.rule, v.object, v.details), '; ') from private.ledger_violations as v where v.rule in ('I38', 'I39')
$$;
set local timezone = 'UTC';

select pg_temp.at(0, '10:00');
create temporary table story as select pays('freya', 500) as freya, pays('ask', 500) as ask, pays('embla', 500) as embla;
grant select on story to public;
alter table story add column early uuid, add column late uuid, add column recalled uuid, add column rejected uuid;
update story set early = pg_temp.withdraws('freya', 100), late = pg_temp.withdraws('freya', 101);
update story set recalled = pg_temp.withdraws('freya', 102), rejected = pg_temp.withdraws('freya', 103);
select pg_temp.decides(early, 'approve') from story;
-- The last thing that happens is a repair: it has a number and no decision.
set local session_replication_role = replica;
delete from public.transactions where reference_id in (select id from public.bonuses where bonus_type = 'override');
delete from public.bonuses where bonus_type = 'override';
set local session_replication_role = origin;
select is(private.reconcile(), 1, 'a bonus is repaired');
select pg_temp.at(1, '00:05');
select is(jobs.snapshot_coverage(), 1, 'a day is stored');
select pg_temp.publishes(1);
select is(
    (select c.decision_no from private.coverage_days as c), (select max(t.decision_no) from public.transactions as t),
    'with the last decision'
);
select is((select cardinality(c.pending_ids) from private.coverage_days as c), 3, 'and the requests that were pending');
select is((select c.figures ->> 'pending' from private.coverage_days as c), '306.00', 'which its figures count');
select is((select d.body ->> 'withdrawn' from private.income_disclosures as d), '100.00', 'and a disclosure is published');
select is(broken(), null, 'both are what was decided');

-- The clock steps back over midnight: all of this seems to belong to the stored day.
select pg_temp.at(0, '23:59');
select pays('buri', 100);
select pg_temp.decides(late, 'approve') from story;
select pg_temp.decides(rejected, 'reject', 'No.') from story;
select act_as('freya');
select cancel_request(recalled) from story;
select act_as_owner();
select pg_temp.withdraws('freya', 104);
select ok(
    (select c.figures from private.coverage_days as c) is distinct from private.coverage_at(pg_temp.day(1)), 'by their times the day would be another'
);
select is(broken(), null, 'a clock that steps back over midnight raises nothing');
select pg_temp.at(-2, '12:00');
select pays('buri', 250);
select is(broken(), null, 'nor one that steps back before the first day');

-- A bonus of a member who seems to have joined after it.
select pg_temp.at(3, '00:00');
select join_as('sol', 'loke'), join_as('var', 'sol');
select complete('sol'), complete('var');
select pg_temp.at(1, '12:00');
select pays('var', 100);

-- The same moment as the end of the day, and as another decision.
select pg_temp.at(1, '00:00');
select pays('ask', 1000);
select pg_temp.decides(pg_temp.withdraws('freya', 105), 'approve');
select pg_temp.at(2, '00:00');
select is(jobs.snapshot_coverage() > 0, true, 'days are stored at midnight');
select pg_temp.publishes(2);
select pays('buri', 500);
select is(broken(), null, 'equal times raise nothing');

-- Corrections after the fact, also with a clock that is days behind.
select pg_temp.at(2, '09:00');
select corrects('void_deposit', embla) from story;
select is(broken(), null, 'a deposit that is voided afterwards raises nothing');
select pg_temp.at(0, '11:00');
select corrects('void_withdrawal', early) from story;
select corrects('set_package', profile_id('buri'), 50);
select is(broken(), null, 'nor corrections that seem to be older than the day');
select pg_temp.at(3, '00:05');
select is(jobs.snapshot_coverage(), 1, 'the next day is stored');
select pg_temp.publishes(3);
select is((select count(distinct c.figures) from private.coverage_days as c where c.day >= pg_temp.day(0)), 3::bigint, 'with other figures');
select is(broken(), null, 'by the decisions until then');

-- A worker that was away stores the last days first; meanwhile the clock was behind.
select pg_temp.at(40, '07:00');
select is((select sum(jobs.snapshot_coverage(0)) from generate_series(1, 31)), 31::bigint, 'late runs store a month');
select pg_temp.at(4, '12:00');
select pays('embla', 500);
select pg_temp.at(5, '12:00');
create temporary table odd as select pg_temp.withdraws('freya', 106) as id;
select pg_temp.at(4, '13:00');
select pg_temp.decides(id, 'approve') from odd;
select pg_temp.at(40, '08:00');
select is(jobs.snapshot_coverage(), 6, 'and the next one what is left, which saw more');
select ok(
    (select c.decision_no from private.coverage_days as c where c.day = pg_temp.day(4))
    > (select c.decision_no from private.coverage_days as c where c.day = pg_temp.day(39)), 'an older day has the later number'
);
select is(broken(), null, 'late runs raise nothing');
select pg_temp.at(5, '12:00');
select corrects('void_deposit', ask) from story;
select is(broken(), null, 'nor does what follows');

-- Freya asked for more than is left: what she claims beyond it is in the figures of each day.
select corrects('void_deposit', freya) from story;
select corrects('set_package', profile_id(name), 0) from unnest(array['ask', 'embla', 'buri']) as name;
select pg_temp.at(41, '00:05');
select is(jobs.snapshot_coverage(), 1, 'a day with a shortfall is stored');
select ok(private.counter_value('shortfall') > 0, 'there is one');
select is(wrong(), null, 'and raises nothing');
-- A bonus seems to be taken back before it was earned.
select pg_temp.at(43, '12:00');
create temporary table earned as select pays('sol', 1000) as id;
select pg_temp.at(42, '12:00');
select corrects('void_deposit', id) from earned;
select pg_temp.at(44, '00:05');
select is(jobs.snapshot_coverage(), 3, 'days are stored, one with less than nothing');
select is(wrong(), null, 'which is nothing to claim and raises nothing');
set local app.demo_clock = '';

-- What was changed is found: the row, or what it was computed from.
create function pg_temp.day_figures(p_change text) returns text language sql as $$
    select format('update private.coverage_days set figures = figures || %L where day = pg_temp.day(1)', p_change)
$$;
select plant('I38', pg_temp.day_figures(figures), 'another figure of a past day: ' || figures)
from unnest(array[
    '{"approved_cash_in": "0.01"}', '{"approved_withdrawals": "0.01"}', '{"withdrawable": "0.01"}', '{"pending": "0.01"}', '{"ratio": "0.01"}',
    '{"ratio": null}', '{"other": 1}'
]) as figures;
select plant('I38', $$ update private.coverage_days set figures = figures - 'ratio' where day = pg_temp.day(1) $$, 'a figure that is gone');
select plant('I38', $$ update private.coverage_days set decision_no = 0 where day = pg_temp.day(0) $$, 'another decision');
select plant('I38', $$ update private.coverage_days set pending_ids = pending_ids[2:] where day = pg_temp.day(0) $$, 'a pending request fewer');
select plant('I38', $$ update private.coverage_days set pending_ids = pending_ids || array[gen_random_uuid(), null] || (select early from story) where day = pg_temp.day(0) $$,
    'a pending request more');
select plant('I38', $$ update private.coverage_days set day = day - 90 where day = pg_temp.day(0) $$, 'the figures of another day');
select plant('I38', $$ update public.transactions set amount = amount + 1 where transaction_type = 'bonus' and user_id = user_id('ymir') $$, 'another credit');
select plant('I38', $$ update public.transactions set decision_no = 10000000 where transaction_type = 'bonus' and user_id = user_id('ymir') $$, 'a credit of a later decision');
select plant('I38', $$ insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    select user_id('ymir'), 5, 'bonus', 'completed', gen_random_uuid(), pg_temp.day(0) $$, 'a credit of no decision');
select plant('I38', $$ update public.deposits set amount = amount + 1 where id = (select ask from story) $$, 'another deposit');
select plant('I38', $$ update public.deposits set voided_at = null where id = (select embla from story) $$, 'a void that was taken back');
select plant('I38', $$ update public.withdrawals set amount = amount + 1 where id = (select early from story) $$, 'another withdrawal');
select plant('I38', $$ delete from private.corrections where kind = 'void_withdrawal' $$, 'a void without its correction');

-- Rows from before say nothing of what they saw. No new one may.
select throws_ok(
    $$ insert into private.coverage_days (day, figures, taken_at) values ('2020-01-01', '{}', now()) $$, '23514', null, 'a day says what it saw'
);
set local session_replication_role = replica;
alter table private.coverage_days drop constraint a_day_says_what_it_saw;
insert into private.coverage_days (day, figures, taken_at) values (pg_temp.day(-9), '{"ratio": "1.00"}', now());
alter table private.income_disclosures drop constraint a_disclosure_says_what_it_saw;
insert into private.income_disclosures (computed_at, body) values (now(), '{}');
set local session_replication_role = origin;
select is(wrong(), null, 'what does not say what it saw is not verified');

create function pg_temp.published(p_change text) returns text language sql as $$
    select format('update private.income_disclosures set body = body || %L where decision_no > 0', p_change)
$$;
select plant('I39', pg_temp.published(body), 'a published figure that was not: ' || body)
from unnest(array[
    '{"credited": "1.00"}', '{"withdrawn": "1.00"}', '{"credited": null}', '{"computed_at": "2020-01-01T00:00:00Z"}', '{"computed_at": "x"}',
    '{"to": "2020-01-01T00:00:00Z"}', '{"to": "2020-02-31T00:00:00Z"}', '{"from": null}', '{"from": "2020-01-01T00:00:00Z"}',
    '{"from": "2999-01-01T00:00:00Z"}', '{"members": 100000}', '{"members": 1}', '{"members": "x"}', '{"members": 1e99}', '{"too_few": null}',
    '{"received_nothing": {"members": 0, "percent": "50.00"}}', '{"received_nothing": {"members": 99, "percent": "1100.00"}}',
    '{"below_paid": {"members": 0, "percent": "50.00"}}', '{"below_paid": {"members": 99, "percent": "1100.00"}}', '{"below_paid": 1}'
]) as body;
select plant('I39', $$ update private.income_disclosures set body = '[]' where decision_no > 0 $$, 'a disclosure of nothing');
select plant('I39', $$ update private.income_disclosures set decision_no = 0 where decision_no > 0 $$, 'another decision');
select plant('I39', $$ update public.transactions set amount = amount + 1 where transaction_type = 'bonus' and user_id = user_id('ymir') $$, 'another credit');
select plant('I39', $$ update public.withdrawals set amount = amount + 1 where id = (select early from story) $$, 'another withdrawal');
select plant('I39', $$ delete from private.corrections where kind = 'void_withdrawal' $$, 'a void without its correction');

-- What was lost is missing in every later row: that is one violation, which says in how many, and what differs.
set local session_replication_role = replica;
update private.coverage_days set figures = figures || '{"pending": "0.01"}' where day = pg_temp.day(1);
update public.withdrawals set amount = amount + 1 where id = (select late from story);
update private.coverage_days set figures = figures || '{"ratio": null}' where day = pg_temp.day(30);
set local session_replication_role = origin;
select results_eq(
    $$ select v.object, v.user_id, (v.details ->> 'days')::integer, v.details ->> 'stored_pending', v.details ->> 'due_pending'
    from private.ledger_violations as v where v.rule = 'I38' $$,
    $$ values (pg_temp.day(0)::text, null::uuid, 44, '306.00', '307.00') $$, 'a damaged withdrawal is one violation of days that follow each other'
);
select results_eq(
    $$ select v.object, v.user_id, v.details from private.ledger_violations as v where v.rule = 'I39' $$,
    $$ values (
        (pg_temp.day(2) + time '00:02:00.123')::text, null::uuid,
        '{"disclosures": 2, "stored_withdrawn": "306.00", "due_withdrawn": "307.00"}'::jsonb
    ) $$, 'and one of disclosures'
);
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- A correction explains what it caused, and nothing else
-- =====================================================================================================================
-- Freya earned 450 and was paid 440; then a child's deposit is voided.
select pays('freya', 500); select pays('ask', 500);
create temporary table things as select pays('embla', 500) as deposit;
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 440, wallets.of('freya'));
select act_as('elin');
select decide_withdrawal(id, 'approve') from withdrawals;
select act_as_owner();
create function pg_temp.overdraw(p_name text, p_amount numeric) returns text language sql as $$
    select format('update private.totals set withdrawn_amount = bonus_amount + %s where user_id = user_id(%L)', p_amount, p_name)
$$;
create function pg_temp.shortfall() returns numeric language sql as $$
    select greatest(t.withdrawn_amount - t.bonus_amount, 0)::numeric from private.totals as t where t.user_id = user_id('freya')
$$;

select corrects('set_package', profile_id('ask'), 500);
select plant('I08', pg_temp.overdraw('freya', 0.01), 'an overdraft after a correction that changed nothing');
select plant(
    'I08', pg_temp.overdraw('freya', 0.01) || $$; update public.transactions set amount = -450.01 where transaction_type = 'withdrawal' $$,
    'a withdrawal of more than was earned'
);
select plant('I16', $$ update public.bonuses set volume = 0, amount = 0 where bonus_type = 'override' $$, 'a bonus of nothing after such a correction');

select corrects('void_deposit', deposit) from things;
select is(pg_temp.shortfall(), 415.00, 'the correction leaves a shortfall');
select is(broken(), null, 'which it explains, with the bonuses that it set to zero');
select plant('I08', pg_temp.overdraw('freya', 415.01), 'a cent more');
select plant('I08', pg_temp.overdraw('ymir', 0.01), 'an overdraft of a member whose bonuses it lowered, but not below the withdrawals');
select plant('I08', pg_temp.overdraw('loke', 0.01), 'an overdraft of somebody else');
select plant('I16', $$ update public.bonuses set volume = 0, amount = 0 where bonus_type = 'referral' and source_user_id = user_id('ask') $$, 'a bonus that the correction did not touch');

select pays('buri', 100);
select is(pg_temp.shortfall(), 410.00, 'Freya earns five dollars');
select is(broken(), null, 'the rest of the shortfall is explained');
select plant('I08', pg_temp.overdraw('freya', 410.01), 'and the five are not, once more');
select corrects('set_package', profile_id('buri'), 50);
select is(pg_temp.shortfall(), 412.50, 'another correction adds its part');
select is(broken(), null, 'which is explained too');
select plant('I08', pg_temp.overdraw('freya', 412.51), 'to the cent');

select pays('embla', 500);
select is(pg_temp.shortfall(), 0.00, 'Freya has earned all of it back');
select plant('I08', pg_temp.overdraw('freya', 0.01), 'a shortfall that was caused once explains no later one');
select plant('I16', $$ update public.bonuses set volume = 0, amount = 0 where bonus_type = 'pairing' $$, 'nor a bonus that was zero once one that pays');

-- A withdrawal that is voided is earned back, too.
select corrects('void_deposit', (select id from public.deposits where user_id = user_id('embla') and voided_at is null));
select corrects('void_withdrawal', (select id from public.withdrawals));
select is(pg_temp.shortfall(), 0.00, 'nothing was paid out any more');
select is(broken(), null, 'nothing needs explaining');
select plant('I08', pg_temp.overdraw('freya', 0.01), 'and nothing is explained');

-- Of corrected members, the order of fundings follows from deposits and corrections.
select pays('embla', 500);
select is(broken(), null, 'a member who was funded three times');
select plant('I34', $$ update private.positions set paid_order = (select min(decision_no) from public.deposits where user_id = user_id('embla')) where user_id = user_id('embla') $$, 'the first funding of a member whose deposit was voided');
select corrects('set_package', profile_id('embla'), 1000);
select corrects('set_package', profile_id('embla'), 250);
select is(
    (select paid_order from private.positions where user_id = user_id('embla')),
    (select max(decision_no) from private.corrections), 'a correction can make a member funded'
);
select is(broken(), null, 'and is found in the corrections');

rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Nothing that moves money is without its entry of the audit log, and no entry without what it says
-- =====================================================================================================================
-- Freya asks for four payouts: one is paid, one rejected, one taken back, one waits. Ask takes one of two deposits back, the
-- rest of the other is asked for twice. Buri's account is closed, Embla completes a package, Loke's deposit arrives short.
create temporary table ids (name text, id uuid);
grant all on ids to public;
select pays('freya', 500), pays('ask', 500), pays('embla', 500);
select claims_deposit('ask', 70), claims_deposit('ask', 80, md5('c') || md5('d')), claims_deposit('buri', 100), claims_deposit('embla', 30);
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address)
select auth.uid(), a, wallets.of('freya') from unnest(array[110, 100, 130, 101]) as a;
select cancel_request(id) from withdrawals where amount = 101;
select act_as('ask');
select cancel_request(id) from deposits where amount = 70;
select act_as('elin');
select decide_withdrawal(id, 'approve', null, 'paid') from withdrawals where amount = 110;
select decide_withdrawal(id, 'reject', 'No.') from withdrawals where amount = 100;
select decide_deposit(id, 'reject', 'No.') from deposits where amount = 30;
select act_as_owner();
select private.close_profile(user_id('buri'));
select corrects('set_package', profile_id('embla'), 1000);
select claims_deposit('embla', 500), claims_deposit('loke', 50);
select act_as('elin');
select decide_deposit(id, 'ask_rest', null, 20) from deposits where amount = 80;
select act_as('ask');
select add_deposit_reference(id, md5('a') || md5('b')) from deposits where amount = 80;
select act_as('elin');
select decide_deposit(id, 'ask_rest', null, 50) from deposits where amount = 80;
select decide_deposit(id, 'approve', null, 49) from deposits where user_id = user_id('loke');
select act_as('olga');
insert into ids select 'waiting', (propose_correction('set_package', profile_id('ask'), 50, 'x') #>> '{correction,id}')::uuid;
insert into ids select 'discarded', (propose_correction('set_package', profile_id('freya'), 50, 'x') #>> '{correction,id}')::uuid;
select discard_correction(id) from ids where name = 'discarded';
select update_administrator(user_id('sam'), 'Sam', 'support_admin', false);
select act_as_owner();
select is(broken(), null, 'whatever was done has its entry');
select results_eq(
    $$ select d.action, count(*)::integer from private.due_audit_entries as d group by d.action order by d.action $$,
    $$ values
    ('correction.confirmed', 1), ('correction.discarded', 1), ('correction.proposed', 3), ('deposit.approved', 4), ('deposit.cancelled', 2),
    ('deposit.reference_added', 1), ('deposit.rejected', 1), ('deposit.requested', 9), ('deposit.rest_asked', 2), ('withdrawal.approved', 1), ('withdrawal.cancelled', 1), ('withdrawal.paid', 1), ('withdrawal.rejected', 1),
    ('withdrawal.requested', 4) $$,
    'of each kind there is one'
);
select is(
    (select array_agg(distinct l.actor) from private.audit_log as l where l.action = 'withdrawal.requested'), array['member:' || user_id('freya')], 'a request is the member''s'
);

-- An entry that is gone, written twice, written for nothing, or by somebody else.
create function pg_temp.without(p_action text) returns text language sql as $$ select format('delete from private.audit_log where action = %L', p_action) $$;
create function pg_temp.copied(p_action text, p_id text, p_payload text) returns text language sql as $$
    select format(
        'insert into private.audit_log (at, actor, action, object_type, object_id, payload, hash)'
        ' select at, actor, action, object_type, %s, %s, hash from private.audit_log where action = %L order by id limit 1', p_id, p_payload, p_action
    )
$$;
create temporary table kinds as
select distinct d.rule, d.action from private.due_audit_entries as d;
select plant(rule, pg_temp.without(action), 'no ' || action) from kinds order by rule, action;
select plant(rule, pg_temp.copied(action, 'object_id', 'payload'), action || ' twice') from kinds order by rule, action;
select plant(rule, pg_temp.copied(action, 'gen_random_uuid()', 'payload'), action || ' of nothing') from kinds order by rule, action;
select plant(rule, format($$ update private.audit_log set actor = 'admin:' || gen_random_uuid() where action = %L $$, action), action || ' by somebody else')
from kinds where action <> 'withdrawal.paid' order by rule, action;
select plant(rule, format($$ update private.audit_log set at = at - interval '1 second' where action = %L $$, action), action || ' at another time')
from kinds order by rule, action;
select plant(k.rule, format($$ update private.audit_log set payload = payload || %L where action = %L $$, jsonb_build_object(f.key, '"other"'), k.action), action || ' with another ' || f.key)
from kinds as k cross join lateral (select d.facts from private.due_audit_entries as d where d.action = k.action limit 1) as d cross join jsonb_object_keys(d.facts) as f (key)
order by k.rule, k.action, f.key;
-- Of what the database had already, support decided nothing.
select plant(rule, format($$ update private.audit_log set payload = payload || '{"actor_role": "support_admin"}' where action = %L $$, action), action || ' by support')
from kinds where action ~ '(approved|rejected|paid|proposed|confirmed|discarded)$' order by rule, action;
select plant(rule, format($$ update private.audit_log set payload = payload - 'actor_role' where action = %L $$, action), action || ' in no role')
from kinds where action ~ '(approved|rejected|paid|proposed|confirmed|discarded)$' order by rule, action;
select plant('I48', $$ update private.audit_log set payload = payload || '{"actor_role": "finance_admin"}' where action = 'correction.proposed' $$, 'a proposal by finance');

-- A row that was changed or written past its function.
select plant('I44', $$ update public.withdrawals set wallet_address = 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8' where status = 'pending' $$, 'another address of a pending withdrawal');
select plant('I44', $$ update public.withdrawals set amount = 131 where status = 'pending' $$, 'another amount of a pending withdrawal');
select plant('I44', $$ update public.withdrawals set user_id = user_id('ask') where status = 'pending' $$, 'a pending withdrawal of somebody else');
select plant('I43', $$ update public.deposits set reference_number = 'other' where user_id = user_id('ask') $$, 'another reference of a deposit');
select plant('I43', $$ update public.deposits set created_at = created_at - interval '1 day' where user_id = user_id('ask') $$, 'a deposit of another day');
select plant('I43', $$ update public.deposits set kind = 'upgrade' where kind = 'cash_in' and amount = 500 $$, 'an upgrade that was to complete a package');
select plant('I43', $$ update public.deposits set kind = 'cash_in' where amount = 30 or amount = 100 $$, 'a first package that is to make none');
select plant('I16', $$ update public.deposits set kind = 'upgrade' where amount = 80 $$, 'an upgrade to no package');
select plant('I43', $$ update private.deposit_rests set reference_number = 'other' where no = 1 $$, 'another reference of a rest');
select plant('I43', $$ update private.deposit_rests set reference_number = null, referenced_at = null where no = 1 $$, 'a reference of a rest that is gone');
select plant('I31', $$ delete from private.transfer_keys where key = md5('a') || md5('b') $$, 'a rest that no deposit is compared with');
select plant('I45', $$ update private.deposit_rests set received_amount = 51 where no = 2 $$, 'another amount that had arrived');
select plant('I45', $$ delete from private.deposit_rests where no = 2 $$, 'a rest that is not asked for any more');
select plant('I45', $$ update public.deposits set received_amount = 50 where received_amount = 49 $$, 'another amount that arrived');
select plant('I45', $$ update public.deposits set received_amount = null where received_amount = 49 $$, 'an amount that arrived and is gone');
select plant('I45', $$ update public.deposits set decided_by = user_id('sam') where status = 'approved' $$, 'another decider of a deposit');
select plant('I45', $$ update public.deposits set status = 'rejected', admin_notes = 'No.' where user_id = user_id('freya') $$, 'another decision of a deposit');
select plant('I45', $$ update public.deposits set decision_no = decision_no + 1000 where user_id = user_id('freya') $$, 'a decision at another place');
select plant('I45', $$ update public.deposits set status = 'pending', decided_at = null where admin_notes = 'Account closed' $$, 'a request that a closed account had taken back');
select plant('I46', $$ update public.withdrawals set decided_by = user_id('olga') where status = 'approved' $$, 'another decider of a withdrawal');
select plant('I46', $$ update public.withdrawals set admin_notes = 'Because.' where status = 'rejected' $$, 'another reason');
select plant('I46', $$ update public.withdrawals set wallet_address = 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8' where status = 'approved' $$, 'another address of an approved withdrawal');
select plant('I31', $$ delete from private.transfer_keys where is_payout $$, 'a payout that no deposit is compared with');
select plant('I19', $$ insert into private.transfer_keys (request_id, key, kind, is_payout)
    select id, repeat('a', 64), 'hash', false from public.deposits where status = 'approved' and voided_at is null
    union all select id, repeat('a', 64), 'hash', true from public.withdrawals where payout_reference is not null $$, 'a payout that was credited');
select plant('I47', $$ update public.withdrawals set payout_reference = 'other' where status = 'approved' $$, 'another payout reference');
select plant('I47', $$ update public.withdrawals set payout_reference = null, payout_at = null where status = 'approved' $$, 'a payout that was taken back');
select plant('I48', $$ update private.corrections set value = 500 where confirmed_by is null $$, 'another value of a correction that waits');
select plant('I48', $$ update private.corrections set confirmed_by = user_id('sam') where confirmed_by is not null $$, 'another confirmer');
select plant('I48', $$ insert into private.corrections (kind, target_id, user_id, value, reason, proposed_by, proposed_at)
    values ('set_package', profile_id('loke'), user_id('loke'), 500, 'x', user_id('olga'), now()) $$, 'a correction that nobody proposed');
select plant('I49', $$ insert into private.admin_users (email, role, password_hash) values ('x@admins.test', 'super_admin', '$argon2id$x') $$, 'an administrator whom nobody made');
select plant('I49', $$ update private.admin_users set role = 'super_admin' where id = user_id('elin') $$, 'a role that nobody gave');
select plant('I49', $$ update private.admin_users set is_active = true where id = user_id('sam') $$, 'an account that nobody switched on');
select plant('I49', $$ delete from private.admin_users where id = user_id('sam') $$, 'an administrator who is gone');
select plant('I49', pg_temp.without('admin.created'), 'an administrator without an entry');
select plant('I49', $$ update private.audit_log set payload = payload || '{"actor_role": "support_admin"}' where action = 'admin.updated' $$, 'a role that support gave');
select plant('I49', $$ update private.admin_users set email = 'x@admins.test' where id = user_id('elin') $$, 'an administrator''s email');
select plant('I49', $$ update private.admin_users set password_hash = '$argon2id$x' where id = user_id('elin') $$, 'a password that nobody reset');
select plant('I49', $$ update private.admin_users set totp_key_id = 'k', totp_secret = '\x00', totp_confirmed_at = now() where id = user_id('elin') $$, 'a second step that nobody set up');
select plant('I49', $$ update private.admin_users set revision = revision + 2 where id = user_id('elin') $$, 'a change that was taken back');
select plant('I51', $$ update private.profiles set trc20_wallet_address = 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8' where user_id = user_id('freya') $$, 'a wallet that nobody named');
select plant('I51', $$ update private.profiles set email = 'x@people.test' where user_id = user_id('freya'); update auth.users set email = 'x@people.test' where id = user_id('freya') $$, 'an email that nobody confirmed');
select plant('I51', $$ update auth.users set email = 'x@people.test' where id = user_id('freya') $$, 'another email to sign in with');
select plant('I51', $$ update private.profiles set account_status = 'suspended' where user_id = user_id('freya') $$, 'a status that no administrator set');
select plant('I51', $$ update private.profiles set hold_until = now() + interval '1 day', hold_reason = 'wallet' where user_id = user_id('freya') $$, 'a hold that nothing caused');
select plant('I51', $$ update private.profiles set closed_at = now() where user_id = user_id('freya'); update auth.users set email = 'x@people.test' where id = user_id('freya') $$, 'an account that nobody closed');
select plant('I51', $$ update private.profiles set revision = revision + 2 where user_id = user_id('freya') $$, 'a wallet that was changed and changed back');
select plant('I51', $$ delete from private.profiles where user_id = user_id('loke') $$, 'a member who is gone');
select plant('I51', $$ delete from private.audit_log where object_id = profile_id('freya') $$, 'a member of whom the audit log says nothing');
select plant('I54', $$ update private.profiles set referrer_id = profile_id('loke') where user_id = user_id('buri') $$, 'a member of another sponsor');
select plant('I54', $$ update private.profiles set created_at = created_at - interval '1 second' where user_id = user_id('loke') $$, 'a member of an earlier day');
-- What says nothing hides nothing.
savepoint malformed;
select private.audit('system', 'member.updated', 'profile', profile_id('freya'), v::jsonb), private.audit('system', 'admin.recorded', 'admin_user', user_id('elin'), v::jsonb),
    private.audit('system', 'setting.changed', null, null, '{"key": "deposit.address"}' || v::jsonb), private.audit('system', 'admin.created', 'admin_user', null, '{}')
from unnest(array['{"state": "abc"}', '{"state": {"revision": "abc"}}', '{"state": {"revision": 99999999999999999999}}', '{"state": null}']) as v;
select is(broken(), null, 'an entry that says no state is none');
select plant('I51', $$ update private.profiles set trc20_wallet_address = 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8' where user_id = user_id('freya') $$, 'a wallet that nobody named, beside it');
rollback to savepoint malformed;
select plant('I50', $$ delete from private.last_decision $$, 'no number at all');
select plant('I52', $$ update private.settings set value = '"TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"' where key = 'deposit.address' $$, 'a deposit address that nobody entered');
select plant('I52', $$ delete from private.settings where key = 'deposit.tolerance' $$, 'a setting that is gone');
select plant('I52', $$ update private.settings set maximum = 1000 where key = 'deposit.tolerance' $$, 'a wider limit of a setting');
select plant('I52', $$ update private.settings set needs_proof = false where key = 'deposit.address' $$, 'a setting that needs no fresh sign-in');
select plant('I52', $$ update private.settings set revision = revision + 2 where key = 'deposit.open' $$, 'a setting that was changed and changed back');
select plant('I20', $$ update public.deposits set receipt_url = replace(receipt_url, '.png', '.pdf') where status = 'pending' $$, 'a receipt that is opened under another name');
select plant('I20', $$ update private.deposit_receipts set etag = 'x'; update storage.objects set metadata = metadata || '{"eTag": "x"}' where bucket_id = 'receipts' $$, 'a receipt that was replaced together with what is stored of it');

-- A change past the product is not said by the next entry, which is about something else, nor by a count that is set back.
savepoint changed;
update private.profiles set trc20_wallet_address = 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8' where user_id = user_id('freya');
select private.notify_security_change(user_id('freya'), 'password_changed', 'x', 'password');
select is((select payload #>> '{state,wallet}' from private.audit_log where action = 'member.held' order by id desc limit 1), wallets.of('freya'), 'a hold says what the wallet was');
select results_eq(
    $$ select v.rule, v.user_id, v.details -> 'says', v.details -> 'is' from private.check_ledger() as v $$,
    $$ values ('I51', user_id('freya'), jsonb_build_object('wallet', wallets.of('freya')), '{"wallet": "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"}'::jsonb) $$,
    'a wallet that was changed past the product is reported with both'
);
update private.profiles set revision = 1 where user_id = user_id('freya');
select isnt((select revision from private.profiles where user_id = user_id('freya')), 1::bigint, 'no statement sets the count back');
update private.admin_users set revision = 0 where id = user_id('elin');
select isnt((select revision from private.admin_users where id = user_id('elin')), 0::bigint, 'of an administrator neither');
update private.settings set revision = 0 where key = 'deposit.open';
select isnt((select revision from private.settings where key = 'deposit.open'), 0::bigint, 'nor of a setting');
rollback to changed;

-- What no entry speaks of is taken as it stands, once.
set local session_replication_role = replica;
delete from private.audit_log where payload ? 'state';
set local session_replication_role = origin;
select is(broken(), 'I49 I51 I52', 'without entries nothing says what anybody is');
select private.backfill_states();
select is(broken(), null, 'taken as it stands it is said');
create temporary table said as select count(*) from private.audit_log;
select private.backfill_states();
select is((select count(*) from private.audit_log), (select count from said), 'once');
rollback to changed;

-- With every trigger on, as who owns the tables: Freya is suspended and on hold, and support approves.
update private.profiles set account_status = 'suspended', hold_until = now() + interval '1 day', hold_reason = 'wallet' where user_id = user_id('freya');
create function pg_temp.approve() returns void language sql as $$
    update public.withdrawals set status = 'approved', decided_at = now(), decided_by = user_id('sam'), decision_no = private.next_decision_no()
    where status = 'pending'
$$;
savepoint asked;
select pg_temp.approve();
select results_eq(
    $$ select v.rule, v.object, v.user_id, v.details ->> 'entry' from private.check_ledger() as v where v.rule like 'I4%' $$,
    $$ select 'I46', w.id || ' withdrawal.approved', user_id('freya'), null from public.withdrawals as w where w.decided_by = user_id('sam') $$,
    'a decision past its function is reported with its member'
);
select private.audit(
    'admin:' || user_id('sam'), 'withdrawal.approved', 'withdrawal', w.id, private.withdrawal_decision_facts(w), w.decided_at
) from public.withdrawals as w where w.decided_by = user_id('sam');
select is((select string_agg(d.rule, ' ') from private.audit_discrepancies() as d), 'I46', 'with an entry too: support approves nothing');
rollback to asked;

-- Rows from before this was compared: their entries hold as far as they say anything, and may be backfilled.
set local session_replication_role = replica;
update private.audit_log set payload = payload - array['wallet_address', 'decision_no', 'actor_role'] || '{"backfilled": true}', at = at - interval '1 hour'
where action in (select k.action from kinds as k);
set local session_replication_role = origin;
select record_states();
select is(broken(), 'I26 I43 I44 I45 I46 I47 I48', 'nothing is backfilled now');
update private.audit_state set earlier_id = (select max(l.id) from private.audit_log as l);
select is(broken(), 'I26 I43 I44 I45 I46 I47 I48', 'nor by calling entries earlier that are not');
set local session_replication_role = replica;
delete from private.audit_log where action = 'schema.recorded';
set local session_replication_role = origin;
select is((select string_agg(distinct d.rule, ' ') from private.audit_discrepancies() as d), null, 'what was is');
select plant('I46', $$ update public.withdrawals set amount = amount + 1 where status = 'approved' $$, 'another amount from before');
select plant('I43', pg_temp.without('deposit.requested'), 'a request from before without its entry');

-- Every rule that is asked has a corruption above
select is_empty($$ select rule from (
    select distinct m[1] as rule from rule_functions() as f cross join regexp_matches(f.source, '''(I[0-9]{2})''', 'g') as m
) as asked
    where rule not in ('I01','I02','I03','I04','I05','I06','I07','I08','I09','I10','I11','I12','I13','I14','I15','I16','I17','I18','I19','I20','I21','I22','I23','I24','I25','I26','I27','I28','I29','I30','I31','I33','I34','I35','I36','I37','I38','I39','I40','I41','I42','I43','I44','I45','I46','I47','I48','I49','I50','I51','I52','I53','I54') $$, 'no rule without a test');
select * from finish();
rollback;
