-- Alarms: one is open for each kind and object; they reach administrators and stop decisions until they are acknowledged.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint one;

-- =====================================================================================================================
-- One open alarm for each kind and object
-- =====================================================================================================================
create function actors.alarms(p_object text) returns text language sql stable as $$
    select string_agg(
        concat_ws(' ', a.details ->> 'rows', case when a.acknowledged_at is not null then 'acknowledged' end, case when a.ended_at is null then 'open' else 'ended' end),
        ', ' order by a.raised_at
    ) from private.alarms as a where a.object = p_object
$$;
select ok(private.raise_alarm('repair', 'one', user_id('freya'), '{"rows": 1}'), 'a first sighting is news');
create temporary table first_sighting as select raised_at, changed_at, last_seen from private.alarms where object = 'one';
select ok(not private.raise_alarm('repair', 'one', user_id('freya'), '{"rows": 1}'), 'the same once more is not');
select is(alarms('one'), '1 open', 'seen again as it was, it is the same alarm');
select results_eq(
    $$ select a.raised_at = f.raised_at, a.changed_at = f.changed_at, a.last_seen > f.last_seen from private.alarms as a, first_sighting as f where a.object = 'one' $$,
    $$ values (true, true, true) $$, 'that was seen later'
);
update private.alarms set mailed_at = now() where object = 'one';
select ok(private.raise_alarm('repair', 'one', user_id('freya'), '{"rows": 2}'), 'a change is');
select is((select mailed_at from private.alarms where object = 'one'), null, 'to be told anew');
select is(alarms('one'), '2 open', 'other figures change it');
select ok((select a.raised_at = f.raised_at and a.changed_at > f.changed_at from private.alarms as a, first_sighting as f where a.object = 'one'), 'not when it began');
select private.raise_alarm('repair', 'one', user_id('ask'), '{"rows": 2}');
select is((select user_id from private.alarms where object = 'one'), user_id('ask'), 'so does another member');
select private.raise_alarm('disk', 'one', null, '{"rows": 3}');
select is(alarms('one'), '2 open, 3 open', 'another kind is another alarm');
select throws_ok($$ insert into private.alarms (kind, object) values ('disk', 'one') $$, '23505', null, 'two are never open');

-- Acknowledged: until it changes.
update private.alarms set acknowledged_at = now(), acknowledged_by = user_id('elin'), reason = 'Understood.' where kind = 'disk' and object = 'one';
delete from private.alarms where kind = 'repair';
select private.raise_alarm('disk', 'one', null, '{"rows": 3}');
select is(alarms('one'), '3 acknowledged open', 'an acknowledged one that does not change stays acknowledged');
select private.raise_alarm('disk', 'one', null, '{"rows": 4}');
select is(alarms('one'), '3 acknowledged ended, 4 open', 'one that changes is a new alarm, and the old one is history');
select private.raise_alarm('disk', 'two', null, '{}');
select private.end_alarm('disk', 'one');
select is(alarms('two'), 'open', 'an end is the end of one');
select private.raise_alarm('disk', 'one', null, '{"rows": 4}');
select is(alarms('one'), '3 acknowledged ended, 4 ended, 4 open', 'one that comes back is a new alarm');
select throws_ok($$ select private.raise_alarm('no_such_kind', 'one', null, '{}') $$, '23514', null, 'an unknown kind is an error');

rollback to savepoint one;
savepoint fixture_members;

-- =====================================================================================================================
-- Every violation of the ledger is an alarm, and over when it is over
-- =====================================================================================================================
-- What nobody may do: behind the triggers.
create function actors.tamper(p_sql text) returns void language plpgsql as $$
begin
    perform set_config('session_replication_role', 'replica', true);
    execute p_sql;
    perform set_config('session_replication_role', 'origin', true);
end
$$;
create function actors.open_alarms() returns text language sql stable security definer as $$
    select string_agg(a.object, ', ' order by a.object) from private.alarms as a where a.ended_at is null
$$;
create function actors.miscount(p_name text, p_amount text) returns void language sql as $$
    select tamper(format('update private.totals set reentry_amount = reentry_amount %s where user_id = %L', p_amount, user_id(p_name)))
$$;
create function actors.found(p_rule text, p_rows integer) returns jsonb language sql as $$
    select jsonb_agg(jsonb_build_object('rule', p_rule, 'object', to_char(n, 'FM0000'), 'user_id', user_id('freya'), 'details', null)) from generate_series(1, p_rows) as n
$$;
savepoint tampering;
select pays('freya', 500);
select is(jobs.check_ledger(), '{}', 'a sound ledger');
select is(open_alarms(), null, 'has no alarm');
select miscount('freya', '+ 1');
select ok(jobs.check_ledger() ? 'I07', 'totals that no bonus explains are found');
select results_eq(
    $$ select a.user_id, a.details from private.alarms as a where a.kind = 'ledger_violation' and a.object = 'I07 ' || user_id('freya') and a.ended_at is null $$,
    $$ values (user_id('freya'), '{}'::jsonb) $$, 'and is an alarm that names rule, row and member'
);
create temporary table raised as select id from private.alarms where object like 'I07 %';
grant select on raised to public;
select jobs.check_ledger();
select is((select count(*) from private.alarms where object like 'I07 %'), 1::bigint, 'found again it is the same alarm');
update private.ledger_check_state set check_duration = '30 seconds', checked_at = clock_timestamp();
select miscount('freya', '- 1');
select jobs.check_ledger();
select isnt(open_alarms(), null, 'a check that waits for its turn ends none');
update private.ledger_check_state set check_duration = '0';
select jobs.check_ledger();
select is(open_alarms(), null, 'mended, it is over');
select ok((select ended_at is not null from private.alarms where id = (select id from raised)), 'and history');
rollback to savepoint tampering;

-- Thousands are a few hundred: some of each rule, and one alarm that names the rule, the number and nobody.
select private.record_violations(found('I09', 3) || found('I07', 5000));
select is((select count(*) from private.alarms where ended_at is null), 301::bigint, 'five thousand violations are 301 alarms');
select is((select count(*) from private.alarms where object like 'I09 %' and user_id = user_id('freya')), 3::bigint, 'of each rule some');
select results_eq(
    $$ select user_id, details from private.alarms where object = 'I07' $$, $$ values (null::uuid, '{"violations": 5000}'::jsonb) $$,
    'and one of the rule, which names nobody'
);
select ok((private.alarm_texts(a)).problem like '%This concerns 5000 rows%', 'with their number') from private.alarms as a where a.object = 'I07';
select private.record_violations((select jsonb_agg(f.value) from jsonb_array_elements(found('I07', 400)) as f where f.value ->> 'object' > '0100'));
select is((select count(*) from private.alarms where ended_at is not null and object like 'I07 %'), 100::bigint, 'what is mended among them is over');
select ok((select min(object) from private.alarms where ended_at is null and object like 'I07 %') = 'I07 0101', 'and the others stay');
select private.record_violations('[]');
select is(open_alarms(), null, 'all mended, all over');
rollback to savepoint tampering;

-- Rules that look at a sample: what was found is looked at until it is right.
insert into private.earning_days (no, day, referral) values (position_no('freya'), '2026-01-01', 7);
select ok(jobs.check_ledger() ? 'I28', 'earnings of a day that nobody earned');
create function actors.sample_none() returns void language plpgsql as $$
begin
    create or replace function private.ledger_check_sample(out first_no integer, out last_no integer) language sql volatile as 'select 0, -1';
end
$$;
select sample_none();
select ok(jobs.check_ledger() ? 'I28', 'are found when the sample has another member');
delete from private.earning_days where day = '2026-01-01';
select jobs.check_ledger();
select is(open_alarms(), null, 'and mended they are over, sample or not');
insert into private.earning_days (no, day, referral) values (position_no('freya'), '2026-01-01', 7);
select is(jobs.check_ledger(), '{}', 'without an alarm nobody outside the sample is looked at');
delete from private.earning_days where day = '2026-01-01';
select private.record_violations(found('I28', 5000));
select private.record_violations(found('I28', 2));
select ok(open_alarms() like 'I28, I28 0001, I28 0002', 'a sampled rule as a whole is not over because a sample has fewer');
select private.record_violations('[]');
select is(open_alarms(), null, 'only when nothing is found');
rollback to savepoint tampering;

select tamper(format('update private.networks set members = members + 1 where no = %s', position_no('freya')));
select lives_ok('select jobs.check_ledger()', 'a network that differs is looked at too');
rollback to savepoint tampering;

-- =====================================================================================================================
-- While a violation names a member, nobody decides about that member's money
-- =====================================================================================================================
create function actors.stopped(p_sql text, p_description text) returns text language sql as $$
    select raises(
        p_sql, 409, 'ledger_alarm',
        'Nothing can be decided about this member''s money now: a check of the ledger fails. A member''s totals are not the sums of the bonuses and withdrawals, so the balance is wrong. See Alarms: find out why, then a super admin acknowledges it there.',
        p_description
    )
$$;
select administrator('orm', 'super_admin');
select pays('freya', 500); select pays('ask', 500); select pays('embla', 1000);
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 100, wallets.of('freya'));
select act_as_owner();
create temporary table requests as
select
    claims_deposit('freya', 600) as deposit, claims_deposit('ask', 600) as other,
    (select w.id from public.withdrawals as w where w.user_id = user_id('freya')) as withdrawal;
grant select on requests to public;
select act_as('olga');
select propose_correction('set_package', profile_id('freya'), 1000, 'Promised at the fair.');
select propose_correction('set_package', profile_id('ask'), 1000, 'Promised at the fair.');
select act_as_owner();
create temporary table proposals as select c.id, c.user_id from private.corrections as c;
grant select on proposals to public;
select miscount('freya', '+ 1');
select jobs.check_ledger();
create temporary table stopping as select id from private.alarms where object like 'I07 %';
grant select on stopping to public;
savepoint stopped;

select act_as('elin');
select stopped(format('select decide_deposit(%L, ''approve'')', deposit), 'a deposit is not approved') from requests;
select stopped(format('select decide_deposit(%L, ''reject'', ''x'')', deposit), 'nor rejected') from requests;
select stopped(format('select decide_deposit(%L, ''ask_rest'', null, 1)', deposit), 'nor is its rest asked for') from requests;
select stopped(format('select decide_withdrawal(%L, ''approve'')', withdrawal), 'a withdrawal is not approved') from requests;
select stopped(format('select decide_withdrawal(%L, ''reject'', ''x'')', withdrawal), 'nor rejected') from requests;
select stopped(format('select confirm_correction(%L)', id), 'a correction is not confirmed') from proposals where user_id = user_id('freya');
select stopped(format('select discard_correction(%L)', id), 'nor discarded') from proposals where user_id = user_id('freya');
select is(decide_deposit(other, 'approve') ->> 'success', 'true', 'another member''s deposit is approved') from requests;
select is(discard_correction(id) ->> 'success', 'true', 'and a correction of another member decided') from proposals where user_id = user_id('ask');
select act_as('freya');
select raises(
    format('select cancel_request(%L)', deposit), 409, 'ledger_alarm',
    'Your account is being checked, so this cannot be changed now. Try again later, or contact support.', 'the member cancels nothing either'
) from requests;
select is((select count(*) from deposits where status = 'pending'), 1::bigint, 'all waits as before');
select lives_ok($$ insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 100, wallets.of('freya')) $$, 'a request is no decision');
select act_as_owner();

-- Only violations stop, and only open ones.
update private.alarms set kind = 'repair' where id = (select id from stopping);
select act_as('elin');
select is(decide_withdrawal(withdrawal, 'approve') ->> 'success', 'true', 'no other kind of alarm stops anything') from requests;
rollback to savepoint stopped;
select miscount('freya', '- 1');
select jobs.check_ledger();
select act_as('elin');
select is(decide_withdrawal(withdrawal, 'approve') ->> 'success', 'true', 'nor one that is over') from requests;
rollback to savepoint stopped;
update private.alarms set user_id = null where id = (select id from stopping);
select act_as('elin');
select raises(
    format('select decide_deposit(%L, ''approve'')', other), 409, 'ledger_alarm',
    'Nothing can be decided now: a check of the ledger fails. A member''s totals are not the sums of the bonuses and withdrawals, so the balance is wrong. See Alarms: find out why, then a super admin acknowledges it there.',
    'one that names nobody stops every decision'
) from requests;
rollback to savepoint stopped;

-- What is not as the audit log says stops whom and what it concerns, and nobody else.
select miscount('freya', '- 1');
update private.admin_users set password_hash = '$argon2id$planted' where id = user_id('elin');
select is(jobs.check_ledger(), '{"I49": 1}', 'an administrator''s password was set past the product');
select is(private.alarm_stops(a), 'administrator', 'which stops this administrator') from private.alarms as a where a.object like 'I49 %' and a.ended_at is null;
select act_as('elin');
select raises(
    format('select decide_deposit(%L, ''approve'')', other), 409, 'ledger_alarm',
    'You can decide nothing now: a check of your account fails. An administrator''s email, role, activity, password or second step is not what the audit log says. See Alarms: find out why, then a super admin acknowledges it there.',
    'who decides nothing'
) from requests;
select act_as('olga');
select is(decide_deposit(other, 'approve') ->> 'success', 'true', 'another one does') from requests;
select act_as_owner();
select private.recover_administrator('elin@admins.test', '', '$argon2id$new', 'Somebody else''s password');
select is(jobs.check_ledger(), '{}', 'another password is the way back');
rollback to savepoint stopped;

select miscount('freya', '- 1');
update private.settings set value = '"TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"' where key = 'deposit.address';
select is(jobs.check_ledger(), '{"I52": 1}', 'the deposit address was set past the product');
select act_as('elin');
select raises(
    format('select decide_deposit(%L, ''approve'')', other), 409, 'ledger_alarm',
    'This cannot be decided now: a check of a setting fails. A setting is not what the audit log says. See Alarms: find out why, then a super admin acknowledges it there.',
    'no deposit is decided'
) from requests;
select is(decide_withdrawal(withdrawal, 'approve') ->> 'success', 'true', 'withdrawals are') from requests;
select act_as('ask');
select is(get_deposit_options() -> 'deposit_address', 'null', 'and no member is shown the address');
select is(get_deposit_options() -> 'deposits_open', 'false', 'or sends anything there');
select act_as('olga');
select change_setting('deposit.address', '"T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"');
select act_as_owner();
select is(jobs.check_ledger(), '{}', 'entering it again is the way back');
update private.settings set revision = revision + 5 where key = 'product.name';
select jobs.check_ledger();
select is(private.alarm_stops(a), null, 'a name governs nothing') from private.alarms as a where a.object = 'I52 product.name';
rollback to savepoint stopped;

-- More than have an alarm each: the others are asked.
select miscount('freya', '- 1');
select jobs.check_ledger();
insert into private.alarms (kind, object) select 'ledger_violation', o from unnest(array['I49', 'I51', 'I52']) as o;
update private.profiles set trc20_wallet_address = 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8' where user_id = user_id('freya');
select act_as('elin');
select raises(
    format('select decide_deposit(%L, ''approve'')', deposit), 409, 'ledger_alarm',
    'Nothing can be decided about this member''s money now: a check of the ledger fails. A member''s wallet, email, status or hold is not what the audit log says, the email is not the one to sign in with, or the member is gone. This concerns many rows, more than are listed one by one. See Alarms: find out why, then a super admin acknowledges it there.',
    'a member without an alarm of the own is stopped'
) from requests;
select is(decide_deposit(other, 'approve') ->> 'success', 'true', 'not one who is what the audit log says') from requests;
rollback to savepoint stopped;
select miscount('freya', '- 1');
select jobs.check_ledger();
insert into private.alarms (kind, object) values ('ledger_violation', 'I49');
update private.admin_users set password_hash = '$argon2id$planted' where id = user_id('elin');
select act_as('elin');
select raises(format('select decide_deposit(%L, ''approve'')', other), 409, 'ledger_alarm', null, 'an administrator without an alarm of the own decides nothing') from requests;
select act_as('olga');
select is(decide_deposit(other, 'approve') ->> 'success', 'true', 'one who is what the audit log says does') from requests;
rollback to savepoint stopped;

-- =====================================================================================================================
-- A super administrator acknowledges, until it changes
-- =====================================================================================================================
select act_as('elin');
select raises(format('select acknowledge_alarm(%L, ''x'')', id), 403, 'forbidden', 'A finance admin cannot do this.', 'finance acknowledges nothing') from stopping;
select act_as('sam');
select raises(format('select acknowledge_alarm(%L, ''x'')', id), 403, 'forbidden', 'A support admin cannot do this.', 'support neither') from stopping;
select act_as('olga');
select raises(format('select acknowledge_alarm(%L, '' '')', id), 400, 'invalid_reason', 'Give a reason of at most 1,000 characters.', 'without a reason') from stopping;
select raises(format('select acknowledge_alarm(%L, repeat(''x'', 1001))', id), 400, 'invalid_reason', 'Give a reason of at most 1,000 characters.', 'with a book for one') from stopping;
select raises(format('select acknowledge_alarm(%L, ''x'')', gen_random_uuid()), 404, 'not_found', 'There is no such alarm.', 'of nothing');
select is(acknowledge_alarm(id, ' A test of the operator. '), '{"success": true}', 'a super admin acknowledges') from stopping;
select is(acknowledge_alarm(id, 'again'), '{"success": true, "already": true}', 'once') from stopping;
select act_as('orm');
select raises(format('select acknowledge_alarm(%L, ''x'')', id), 409, 'already_decided', 'Already acknowledged by Olga.', 'and no other does so again') from stopping;
select act_as_owner();
select audited('alarm.acknowledged', 'it is in the audit log');
select is((select reason from private.alarms where id = (select id from stopping)), 'A test of the operator.', 'with its reason');
select act_as('elin');
select is(decide_withdrawal(withdrawal, 'reject', 'x') ->> 'success', 'true', 'and no longer stops anything') from requests;
select act_as_owner();
select jobs.check_ledger();
select act_as('elin');
select is(decide_deposit(deposit, 'reject', 'x') ->> 'success', 'true', 'not after the next check either') from requests;
select act_as_owner();
select private.raise_alarm('ledger_violation', 'I07 ' || user_id('freya'), user_id('freya'), '{"rows": 2}');
select act_as('elin');
select stopped(format('select confirm_correction(%L)', id), 'changed, it stops again') from proposals where user_id = user_id('freya');
rollback to savepoint stopped;

-- What has happened is over with the acknowledgement; a state lasts.
select private.raise_alarm('repair', 'one', null, '{"rows": 1}'), private.raise_alarm('disk', 'one', null, '{"above": 80}'),
    private.raise_alarm('deposit_address', 'changed', null, '{"to": "x"}'), private.raise_alarm('deposit_address', 'unexpected', null, '{"shown": "x"}');
create temporary table others as select id from private.alarms where kind <> 'ledger_violation';
grant select on others to public;
select act_as('olga');
select acknowledge_alarm(id, 'x') from others;
select act_as_owner();
select is(
    (select string_agg(kind || ' ' || object, ', ' order by kind, object) from private.alarms where ended_at is null and kind <> 'ledger_violation'),
    'deposit_address unexpected, disk one', 'a repair and an agreed deposit address are over when acknowledged'
);
select act_as_owner();
select private.end_alarm('ledger_violation', object) from private.alarms where id = (select id from stopping);
select act_as('olga');
select raises(format('select acknowledge_alarm(%L, ''x'')', id), 409, 'already_decided', 'This alarm is over.', 'what is over is not acknowledged') from stopping;
rollback to savepoint tampering;

-- =====================================================================================================================
-- The list
-- =====================================================================================================================
select pays('freya', 500);
create temporary table named as select d.id from public.deposits as d;
select private.raise_alarm('ledger_violation', 'I03 ' || id, user_id('freya'), '{}') from named;
select private.raise_alarm('ledger_violation', 'I26 17', null, '{}');
select private.raise_alarm('ledger_violation', 'I09 ' || user_id('freya'), user_id('freya'), '{}');
select private.raise_alarm('repair', 'one', null, jsonb_build_object('rows', 1, 'repairs', jsonb_build_array(jsonb_build_object('user_id', user_id('freya'), 'old_amount', '1.00', 'new_amount', '2.00'))));
select private.end_alarm('ledger_violation', 'I26 17');
select act_as('olga');
create temporary table listed as select value as item from jsonb_array_elements(list_alarms() -> 'items');
select is((select count(*) from listed), 3::bigint, 'open alarms are listed');
select is((select string_agg(item ->> 'kind', ' ') from (select item from listed limit 3) as l), 'ledger_violation ledger_violation repair', 'first what stops decisions');
select results_eq(
    $$ select item ->> 'rule', item ->> 'problem', item ->> 'advice', item ->> 'stops', item ->> 'username', item -> 'row' ->> 'kind' from listed where item ->> 'rule' = 'I03' $$,
    $$ values ('I03', 'A deposit and its journal row do not say the same.', 'Find out who changed which. Then propose a repair of rows under Members: another administrator confirms it.', 'member', 'freya', 'deposit') $$,
    'in words, with what it stops and the row it names'
);
select is((select item -> 'row' ->> 'kind' from listed where item ->> 'rule' = 'I09'), 'member', 'a member is a row too');
select act_as_owner();
select is(
    private.alarm_object(jsonb_populate_record(null::private.alarms, jsonb_build_object('kind', 'ledger_violation', 'object', 'I45 ' || id || ' deposit.approved'))),
    jsonb_build_object('kind', 'deposit', 'id', id), 'what is said of the row after its id is not the row'
) from named;
select is(
    private.alarm_object(jsonb_populate_record(null::private.alarms, jsonb_build_object('kind', 'ledger_violation', 'object', 'I49 ' || user_id('olga')))) ->> 'kind',
    'administrator', 'an administrator is one too'
);
select is(
    private.alarm_object(jsonb_populate_record(null::private.alarms, jsonb_build_object('kind', 'ledger_violation', 'object', 'I25 ' || p.session_id))),
    jsonb_build_object('kind', 'administrator', 'id', p.user_id, 'name', 'olga@admins.test'), 'a session names whose it is'
) from actors.people as p where p.name = 'olga';
select is(
    private.alarm_item(jsonb_populate_record(null::private.alarms, jsonb_build_object('kind', 'ledger_violation', 'object', o.object))) -> 'at_place' ->> 'username',
    o.username, 'who stands at the place of ' || o.rule
) from (
    select 'I11' as rule, 'I11 pairing ' || position_no('freya') || ' 1' as object, 'freya' as username
    union all
    select 'I10', 'I10 referral ' || position_no('freya') || ' ', 'freya'
    union all
    select 'I41', 'I41 ' || position_no('freya'), 'freya'
    union all
    select 'I11, of a row', 'I11 ' || profile_id('freya'), null
) as o;
select act_as('olga');
select is((select item -> 'members' -> user_id('freya')::text ->> 'username' from listed where item ->> 'kind' = 'repair'), 'freya', 'a repair has the names of whose bonuses it changed');
select is(list_alarms('{"status": "ended"}') -> 'total', '1', 'history is another list');
select is(list_alarms('{"status": "ended"}') -> 'items' -> 0 ->> 'object', 'I26 17', 'of what is over');
select is(jsonb_array_length(list_alarms('{"page": 2, "pageSize": 2}') -> 'items'), 1, 'in pages');
select raises($$ select list_alarms('{"status": "lost"}') $$, 400, 'invalid_filter', 'There is no such status.', 'of no other status');
select is(
    get_admin_overview() -> 'alarms' #- '{rules}',
    jsonb_build_object('open', 3, 'stopping', 2, 'stops_everybody', false, 'stopped_members', jsonb_build_array(user_id('freya'))), 'and the overview counts them'
);
select is((select string_agg(k, ' ' order by k) from jsonb_object_keys(get_admin_overview() -> 'alarms' -> 'rules') as k), 'I03 I09', 'by rule');
select act_as('sam');
select is(list_alarms() -> 'total', '3', 'every administrator reads them');
rollback to savepoint tampering;

-- Every rule and every kind has words.
select is_empty(
    $$
    select distinct r.rule[1]
    from pg_proc as p cross join regexp_matches(p.prosrc || pg_get_viewdef('private.due_audit_entries'), '''(I\d\d)''', 'g') as r (rule)
    where p.pronamespace = 'private'::regnamespace and p.proname ~ '(_violations|^check_chain)$'
    except
    select t.rule from private.rule_texts() as t where t.problem ~ '^[A-Z].*\.$' and t.advice ~ '^[A-Z].*\.$'
    $$, 'each rule of the ledger has a sentence of what is wrong and one of what to do'
);
select is_empty($$ select t.rule from private.rule_texts() as t group by t.rule having count(*) > 1 $$, 'and one only');
select is(
    (private.alarm_texts(row(null, 'ledger_violation', 'I99 x', null, '{}', null, null, null, null, null, null, null, null, null)::private.alarms)).problem,
    'A check of the ledger fails.', 'a rule that nobody described has a sentence too'
);
select ok((private.alarm_texts(row(null, k.kind, k.object, null, k.details::jsonb, null, null, null, null, null, null, null, null, null)::private.alarms)).problem = k.words, k.words)
from (
    values
    ('repair', 'one', '{"rows": 1}', 'One bonus was stored differently from what tree and packages say, and repaired.'),
    ('repair', 'one', '{"rows": 3}', '3 bonuses were stored differently from what tree and packages say, and repaired.'),
    ('deposit_address', 'changed', '{"to": "T2"}', 'The deposit address was changed to T2.'),
    ('deposit_address', 'unexpected', '{"shown": "T2"}', 'Members are shown the deposit address T2, which is not the expected one.'),
    ('audit_entry', 'not linked', '{}', 'Entries wait to be written into the audit log''s chain.'),
    ('disk', 'the receipts', '{"above": 90}', 'The disk of the receipts is more than 90% full.'),
    ('dead_job', 'product:purge', '{}', 'The job purge failed and was given up.'),
    ('failed_mail', 'outbox', '{"emails": 1}', 'One email could not be sent and was given up.'),
    ('failed_mail', 'outbox', '{"emails": 2}', '2 emails could not be sent and were given up.')
) as k (kind, object, details, words);

-- =====================================================================================================================
-- Administrators are notified: in the app at once, by e-mail once an hour, and of what lasts once a day
-- =====================================================================================================================
create function actors.alarm_mails() returns text language sql stable as $$
    select string_agg(split_part(o.recipient, '@', 1) || ': ' || (o.data ->> 'title'), ', ' order by o.data ->> 'title', o.recipient) from private.outbox as o where o.template = 'alarms'
$$;
create function actors.mail_body() returns text language sql stable as $$
    select o.data ->> 'body' from private.outbox as o where o.template = 'alarms' order by o.id desc limit 1
$$;
create function actors.time_passes(p_interval interval) returns void language sql as $$
    update private.alarm_mail_state set mailed_at = mailed_at - p_interval;
    update private.alarms set mailed_at = mailed_at - p_interval;
$$;
savepoint news;
select private.raise_alarm('ledger_violation', 'I09 ' || user_id('freya'), user_id('freya'), '{}');
select private.raise_alarm('disk', 'the receipts', null, '{"above": 80}');
select is(jobs.check_alarms(), '{"disk": 1, "ledger_violation": 1}', 'what is open, by kind');
select is((select string_agg(title || ' ' || coalesce(link, ''), ', ') from private.admin_notices where kind = 'alarm'), '2 new alarms /admin/alarms', 'one notice in the app');
select is(alarm_mails(), 'elin: 2 new alarms, olga: 2 new alarms', 'one e-mail to finance and super administrators, not to support');
select ok(mail_body() like 'A member''s cash-in is not the sum of the approved deposits.%Check I09 ' || user_id('freya') || '. Member: freya. Since % UTC. Decisions about this member''s money are blocked.%The disk of the receipts is more than 80\% full.%Decisions go on.', 'with rule, member, time and what it stops');
select unalike(mail_body(), '%: .%', 'and no name where there is none');
select is((select o.data ->> 'link' from private.outbox as o where o.template = 'alarms' limit 1), '/admin/alarms', 'and the way to the page');
select is((select count(*) from private.alarms where mailed_at is null or noticed_at is null), 0::bigint, 'and they are known to have been told');
select private.raise_alarm('ledger_violation', 'I26 17', null, '{}');
select jobs.check_alarms();
select is((select count(*) from private.admin_notices where kind = 'alarm'), 2::bigint, 'the next alarm is a notice at once');
select is(alarm_mails(), 'elin: 2 new alarms, olga: 2 new alarms', 'and no second e-mail within the hour');
select time_passes('61 minutes');
select jobs.check_alarms();
select is(alarm_mails(), 'elin: 2 new alarms, olga: 2 new alarms, elin: A new alarm, olga: A new alarm', 'after the hour it is');
select ok(mail_body() like 'The audit log was changed%Every decision about money is blocked.%You were told before.%', 'the new one first, then what lasts');
delete from private.outbox where template = 'alarms';
select time_passes('23 hours');
select jobs.check_alarms();
select is(alarm_mails(), null, 'what lasts is not mailed again the same day');
select time_passes('61 minutes');
select jobs.check_alarms();
select is(alarm_mails(), 'elin: Reminder: 3 alarms last, olga: Reminder: 3 alarms last', 'it is after a day');
delete from private.outbox where template = 'alarms';
update private.alarms set acknowledged_at = now(), acknowledged_by = user_id('olga'), reason = 'x';
select time_passes('25 hours');
select jobs.check_alarms();
select is(alarm_mails(), null, 'what is acknowledged is no reminder');
select private.raise_alarm('disk', 'the database', null, '{"above": 80}');
select private.end_alarm('disk', 'the database');
select jobs.check_alarms();
select ok(mail_body() like '%Over since % UTC.', 'what is over before it could be mailed is mailed all the same');
delete from private.outbox where template = 'alarms';
select time_passes('25 hours');
select jobs.check_alarms();
select is(alarm_mails(), null, 'once');
rollback to savepoint news;
select private.raise_alarm('disk', 'disk ' || n, null, '{"above": 80}') from generate_series(1, 30) as n;
select jobs.check_alarms();
select is(regexp_count(mail_body(), 'Decisions go on'), 20, 'thirty at once are twenty paragraphs');
select ok(mail_body() like '%There are more than these 20: see the page.', 'and a word of the others');
rollback to savepoint news;
select pays('freya', 500);
select miscount('freya', '+ 1');
select jobs.check_ledger();
select is(alarm_mails(), 'elin: A new alarm, olga: A new alarm', 'a check that finds something mails at once');
rollback to savepoint news;

-- =====================================================================================================================
-- Disks, jobs, e-mails, the deposit address
-- =====================================================================================================================
create function actors.disk_at(p_percent numeric) returns text language plpgsql as $$
begin
    perform jobs.check_disks(jsonb_build_array(jsonb_build_object('folder', 'the database', 'percent', p_percent)));
    return (select a.details ->> 'above' || case when (a.details ->> 'urgent')::boolean then ' urgent' else '' end from private.alarms as a where a.kind = 'disk' and a.ended_at is null);
end
$$;
select is(disk_at(79.9), null, 'a disk below 80%');
select is(disk_at(80), '80', 'at 80%');
select is(disk_at(90), '90 urgent', 'at 90%');
select is(disk_at(88.5), '90 urgent', 'a little below is not another alarm');
select is(disk_at(87.9), '80', 'more below is');
select is(disk_at(78.5), '80', 'and so at 80%');
select is(disk_at(77.9), null, 'until there is room');
select jobs.check_disks('[{"folder": "x", "percent": 5}]', 4, 6);
select is(open_alarms(), 'x', 'the limits are settings');
select jobs.check_disks('[{"folder": "y", "percent": 5}]', 4, 6);
select jobs.check_disks('[{"folder": "y", "percent": 1}]', 4, 6);
select is(open_alarms(), 'x', 'another machine ends the alarms of its own disks alone');
rollback to savepoint news;

insert into private.outbox (template, recipient, failed_at) values ('test_mail', 'a@example.com', now()), ('test_mail', 'b@example.com', now());
select is(jobs.check_alarms(), '{"failed_mail": 1}', 'e-mails that were given up are an alarm');
update private.alarms set acknowledged_at = now(), acknowledged_by = user_id('olga'), reason = 'x' where kind = 'failed_mail';
update private.outbox set failed_at = null where recipient = 'a@example.com';
select is(jobs.check_alarms(), '{}', 'fewer are no news');
select is((select details from private.alarms where kind = 'failed_mail' and ended_at is null), '{"emails": 1}', 'but known');
update private.outbox set failed_at = now() where recipient = 'a@example.com';
select is(jobs.check_alarms(), '{"failed_mail": 1}', 'more are');
update private.outbox set failed_at = null;
select is(jobs.check_alarms(), '{}', 'sent again, it is over');
rollback to savepoint news;

-- The queue's tables as far as they are read, in place of the worker's own.
drop schema procrastinate cascade;
create schema procrastinate authorization postgres;
create table procrastinate.procrastinate_jobs (id bigint, task_name text, status text, attempts integer);
create table procrastinate.procrastinate_events (job_id bigint, at timestamptz);
select is(jobs.check_alarms(), '{}', 'before the worker lets it be read, no job is looked at');
grant select on procrastinate.procrastinate_jobs, procrastinate.procrastinate_events to postgres;
insert into procrastinate.procrastinate_jobs values (1, 'purge', 'failed', 4), (2, 'roll_up', 'todo', 1), (3, 'purge', 'failed', 4);
insert into procrastinate.procrastinate_events values (1, now() - interval '1 hour'), (2, now()), (3, now());
select is(jobs.check_alarms(), '{"dead_job": 1}', 'a task of which jobs were given up is an alarm');
select is(open_alarms(), 'purge', 'one that is tried again is none');
select jobs.end_dead_job('purge');
select is(jobs.check_alarms(), '{}', 'what was given up before it worked again is over');
insert into procrastinate.procrastinate_events values (3, clock_timestamp());
select is(jobs.check_alarms(), '{"dead_job": 1}', 'what is given up later is another alarm');
select jobs.end_dead_job('roll_up');
select is(open_alarms(), 'purge', 'a job that works ends no other job''s alarm');
select jobs.end_dead_job('purge');
select is(open_alarms(), null, 'it ends its own');
rollback to savepoint news;

update private.settings set value = '"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"' where key = 'deposit.address';
select results_eq(
    $$ select object, details, mailed_at is not null from private.alarms where kind = 'deposit_address' $$,
    $$ values ('changed', '{"from": "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb", "to": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"}'::jsonb, true) $$,
    'a changed deposit address is an alarm, whoever changed it, and mailed by itself'
);
select jobs.check_deposit_address();
select is(open_alarms(), 'changed, unexpected', 'one that is not the recorded one is another');
select is((select count(*) from private.outbox where template = 'deposit_address_unexpected'), 3::bigint, 'mailed to all at once');
select jobs.check_deposit_address();
select is((select count(*) from private.outbox where template = 'deposit_address_unexpected'), 3::bigint, 'and once');
select jobs.check_alarms();
select is(alarm_mails(), null, 'not again with the others');
select time_passes('25 hours');
select jobs.check_alarms();
select is(alarm_mails(), 'elin: Reminder: 2 alarms last, olga: Reminder: 2 alarms last', 'but with their reminder');
update private.settings set value = '"T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"' where key = 'deposit.address';
select jobs.check_deposit_address();
select is(open_alarms(), 'changed', 'back to the expected one it is over');

select * from finish();
rollback;
