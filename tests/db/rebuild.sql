-- Sums and counters derived from the rows again: who may, what is changed, and that nothing is left.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
create function actors.broken() returns text language sql security definer set search_path = actors, public, extensions as $$
    select string_agg(distinct c.rule, ' ' order by c.rule) from private.check_ledger() as c
$$;
select pays('freya', 500); select pays('ask', 500); select pays('embla', 500);
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 200, wallets.of('freya')), (auth.uid(), 100, wallets.of('freya'));
select act_as('elin');
select decide_withdrawal(id, 'approve') from withdrawals where user_id = user_id('freya') and amount = 200;
select act_as_owner();
select jobs.roll_up_counters(); select jobs.roll_up_networks();
select private.backfill_team_days(array[position_no('ymir'), position_no('freya')], 2);
select pays('buri', 50);
insert into public.bot_subscriptions (user_id, bot_name, mt5_server, mt5_login) values (user_id('freya'), 'Scout', 's', 'l');
savepoint paid;

-- =====================================================================================================================
-- Who may, and with which reason
-- =====================================================================================================================
select raises('select rebuild_counters(''x'')', 403, 'forbidden', 'Only administrators can do this.', 'nobody without a session');
select act_as('freya');
select throws_ok('select rebuild_counters(''x'')', '42501', null, 'no member');
select act_as('anonymous');
select throws_ok('select rebuild_counters(''x'')', '42501', null, 'no anonymous client');
select act_as('elin');
select raises('select rebuild_counters(''x'')', 403, 'forbidden', 'A finance admin cannot do this.', 'not finance');
select act_as('sam');
select raises('select rebuild_counters(''x'')', 403, 'forbidden', 'A support admin cannot do this.', 'not support');
select act_as('olga');
select raises('select rebuild_counters('' '')', 400, 'reason_required', 'Give a reason.', 'not without a reason');
select raises('select rebuild_counters(null)', 400, 'reason_required', 'Give a reason.', 'nor with none');
select raises('select rebuild_counters(repeat(''x'', 1001))', 400, 'invalid_reason', 'A reason has at most 1,000 characters.', 'nor with a long one');
select is(rebuild_counters(' After the restore '), '{"success": true, "changes": [], "count": 0}', 'where all agrees nothing changes');
select act_as_owner();
select is(
    (select row(l.actor, l.payload - 'actor_role' - 'request_id')::text from private.audit_log as l where l.action = 'books.rebuilt' order by l.id desc limit 1),
    row('admin:' || user_id('olga'), '{"reason": "After the restore", "changes": [], "count": 0}'::jsonb)::text, 'which is on the record with its reason'
);
delete from public.admin_sessions where admin_id = user_id('olga');
select act_as('olga');
select raises('select rebuild_counters(''x'')', 401, 'session_ended', 'Your session has ended. Sign in again.', 'nor after the session has ended');
rollback to savepoint paid;

-- =====================================================================================================================
-- What is damaged is found and set, and nothing else
-- =====================================================================================================================
-- Damages behind the triggers, rebuilds, and returns what changed as kind, object, old and new.
create function actors.rebuilds(p_damage text, p_rules text, p_changes jsonb, p_description text) returns setof text language plpgsql as $$
declare
    v_response jsonb;
begin
    begin
        perform set_config('session_replication_role', 'replica', true);
        execute p_damage;
        perform set_config('session_replication_role', 'origin', true);
        return next is(broken(), p_rules, p_description || ' is seen');
        perform act_as('olga');
        v_response := rebuild_counters('test');
        return next is(
            (select jsonb_agg(c - 'user_id' order by c ->> 'kind', c ->> 'object') from jsonb_array_elements(v_response -> 'changes') as c),
            p_changes, p_description || ' is set right, and nothing else'
        );
        return next is((v_response ->> 'count')::integer, jsonb_array_length(p_changes), p_description || ': they are counted');
        perform act_as_owner();
        return next is(
            (select l.payload -> 'changes' from private.audit_log as l where l.action = 'books.rebuilt' order by l.id desc limit 1),
            v_response -> 'changes', p_description || ' is on the record'
        );
        return next is(broken(), null, p_description || ': no rule is broken any more');
        perform act_as('olga');
        return next is(rebuild_counters('test') -> 'count', '0', p_description || ': the next one changes nothing');
        raise exception 'planted' using errcode = 'ZZ999';
    exception when sqlstate 'ZZ999' then
        perform act_as_owner();
        perform set_config('session_replication_role', 'origin', true);
    end;
end
$$;
create function actors.change(p_kind text, p_object text, p_old jsonb, p_new jsonb) returns jsonb language sql as $$
    select jsonb_build_array(jsonb_build_object('kind', p_kind, 'object', p_object, 'old', p_old, 'new', p_new))
$$;
create function actors.today() returns text language sql as $$ select (now() at time zone 'UTC')::date::text $$;

select rebuilds($$ update private.profiles set cash_in_amount = 700 where user_id = user_id('ask') $$, 'I02 I09',
    change('member', user_id('ask')::text, '{"cash_in_amount": "700.00"}', '{"cash_in_amount": "500.00"}'), 'a cash-in');
select rebuilds($$ update private.profiles set package_value = 1000 where user_id = user_id('ask') $$, 'I13 I23 I27',
    change('member', user_id('ask')::text, '{"package_value": "1000.00"}', '{"package_value": "500.00"}'), 'a package that was raised');
select rebuilds($$ update private.profiles set package_value = 0 where user_id = user_id('ask') $$, 'I13 I23 I27',
    change('member', user_id('ask')::text, '{"package_value": "0.00"}', '{"package_value": "500.00"}'), 'a package that was lost, with whether the account is verified');
select rebuilds(format('update public.transactions set balance_after = 7 where id = %L', t.id), 'I53',
    change('balance', t.id::text, '{"balance_after": "7.00"}', jsonb_build_object('balance_after', t.balance_after::text, 'rows', 1)), 'a balance beside a journal row')
from (select id, balance_after from public.transactions where transaction_type = 'bonus' and user_id = user_id('ymir') order by id limit 1) as t;
select rebuilds($$ update private.positions set package_cents = 100000, paid_cents = 100000 where no = position_no('loke') $$, 'I23 I29',
    change('position', position_no('loke')::text, '{"package_cents": 100000, "paid_cents": 100000}', '{"package_cents": 0, "paid_cents": 0}'), 'a position');
select rebuilds($$ update private.positions set children = 9 where no = position_no('freya') $$, 'I23',
    change('position', position_no('freya')::text, '{"children": 9}', '{"children": 3}'), 'a number of direct referrals');
select rebuilds($$ update private.positions set paid_order = null where no in (position_no('ask'), position_no('embla')) $$, 'I34',
    (select jsonb_agg(jsonb_build_object('kind', 'position', 'object', o.no::text, 'old', '{"paid_order": null}'::jsonb, 'new', jsonb_build_object('paid_order', o.paid_order)) order by o.no::text)
    from private.positions as o where o.no in (position_no('ask'), position_no('embla'))), 'the order of fundings');
savepoint undamaged;
-- Rows that are wrong in themselves: no sum is made of them, and the response says which they are.
create function actors.stops(p_damage text, p_rules text, p_description text) returns setof text language plpgsql as $$
declare
    v_sums jsonb;
    v_message jsonb;
begin
    begin
        perform set_config('session_replication_role', 'replica', true);
        execute p_damage;
        update private.totals set withdrawn_amount = 5 where user_id = user_id('loke');
        perform set_config('session_replication_role', 'origin', true);
        v_sums := (select jsonb_agg(to_jsonb(t) order by t.user_id) from private.totals as t);
        perform act_as('olga');
        begin
            perform rebuild_counters('test');
        exception when sqlstate 'PGRST' then
            v_message := sqlerrm::jsonb;
        end;
        perform act_as_owner();
        return next is(v_message ->> 'code', 'rows_wrong', p_description || ' stops a rebuild');
        return next is(
            (select string_agg(distinct r ->> 'rule', ' ' order by r ->> 'rule') from jsonb_array_elements((v_message ->> 'details')::jsonb -> 'rows') as r),
            p_rules, p_description || ' is named'
        );
        return next is((select jsonb_agg(to_jsonb(t) order by t.user_id) from private.totals as t), v_sums, p_description || ': no sum is changed, also none that was wrong');
        raise exception 'planted' using errcode = 'ZZ999';
    exception when sqlstate 'ZZ999' then
        perform act_as_owner();
        perform set_config('session_replication_role', 'origin', true);
    end;
end
$$;
select stops($$ delete from public.transactions where transaction_type = 'bonus' and user_id = user_id('ymir') $$, 'I01', 'a bonus without its journal row');
select stops($$ update public.transactions set status = 'pending' where reference_id in (select id from public.bonuses where bonus_type = 'pairing') $$, 'I01', 'a journal row that was not completed');
select stops($$ delete from public.transactions where transaction_type = 'deposit' and user_id = user_id('ask') $$, 'I03', 'a deposit without its journal row');
select stops($$ update public.transactions set amount = -150 where transaction_type = 'withdrawal' and amount = -200 $$, 'I04', 'a withdrawal of another amount in the journal');
select stops($$ update public.transactions set reference_id = gen_random_uuid() where transaction_type = 'bonus' and user_id = user_id('ymir') $$, 'I01 I05', 'journal rows without a source');
select stops($$ drop index public.transactions_source_key; insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
    select user_id, amount, transaction_type, status, reference_id, created_at, decision_no from public.transactions where transaction_type = 'deposit' and user_id = user_id('ask') $$, 'I06', 'two journal rows of a deposit');
select stops($$ drop index public.bonuses_referral_key; insert into public.bonuses (user_id, source_user_id, bonus_type, amount, rate, volume, subject_no, created_at)
    select user_id, source_user_id, bonus_type, amount, rate, volume, subject_no, created_at from public.bonuses where bonus_type = 'referral' and user_id = user_id('ymir') $$, 'I01 I10', 'two rows of a bonus');
select stops($$ update public.bonuses set amount = 0, volume = 0 where bonus_type = 'pairing' $$, 'I01 I11 I16', 'a bonus of another amount');
select stops($$ update public.bonuses set user_id = user_id('loke') where bonus_type = 'pairing'; update public.transactions set user_id = user_id('loke') where reference_id in (select id from public.bonuses where bonus_type = 'pairing') $$, 'I11', 'a bonus of another member, with its journal rows');
select stops($$ update public.bonuses set source_user_id = user_id('ask') where bonus_type = 'pairing' $$, 'I33', 'a pair that the other child completed');
select stops($$ update private.profiles set depth = 7 where user_id = user_id('buri') $$, 'I14', 'a member at another level');
select stops($$ update private.profiles set created_at = now() + interval '1 day' where user_id = user_id('freya') $$, 'I15 I23 I54', 'a referrer younger than the child');
select stops($$ update public.transactions set decision_no = null where transaction_type = 'bonus' and user_id = user_id('ymir') $$, 'I35', 'a credit of no decision');
select stops($$ update public.transactions set created_at = created_at + interval '1 hour' where transaction_type = 'bonus' and user_id = user_id('ymir') $$, 'I36', 'a journal row of another time');
select stops($$ update public.transactions set created_at = '1999-12-31' where user_id = user_id('ymir') $$, 'I36 I42', 'a bonus of another century');
select stops($$ delete from private.packages where value = 500 $$, 'I11 I16 I40', 'another plan');
select stops($$ update public.deposits set amount = 1000 where user_id = user_id('ask'); update public.transactions set amount = 1000 where transaction_type = 'deposit' and user_id = user_id('ask') $$, 'I43 I45', 'a deposit that was raised with its journal row');
select stops($$ update public.withdrawals set amount = 150 where amount = 100; update public.transactions set amount = -150 where amount = -100 $$, 'I44', 'a request that was raised with its journal row');
select stops($$ update public.withdrawals set decision_no = decision_no + 1000 where amount = 200; update public.transactions set decision_no = decision_no + 1000 where amount = -200 $$, 'I46 I50', 'a decision number that is yet to be given');
select stops($$ update public.withdrawals set payout_reference = 'x', payout_at = now() where amount = 200 $$, 'I47', 'a payout that nobody recorded');
select administrator('orm', 'super_admin');
select corrects('set_package', profile_id('loke'), 100);
select stops($$ update private.corrections set value = 1000 where kind = 'set_package' $$, 'I48', 'a correction that was changed');
rollback to savepoint undamaged;
select results_eq(
    $$ select r.rule from private.rule_texts() as r where r.rule <> all(private.row_rules()) order by r.rule $$,
    $$ values ('I07'), ('I08'), ('I09'), ('I13'), ('I18'), ('I19'), ('I20'), ('I21'), ('I22'), ('I24'), ('I25'), ('I26'), ('I27'),
        ('I28'), ('I29'), ('I30'), ('I31'), ('I34'), ('I37'), ('I38'), ('I39'), ('I49'), ('I51'), ('I52'), ('I53') $$,
    'the other rules are of sums, or say nothing about figures'
);
savepoint sound;
select set_config('test.advice', r.advice, true) from private.rule_texts() as r where r.rule = 'I03';
set local session_replication_role = replica;
delete from public.transactions where transaction_type = 'deposit' and user_id = user_id('ask');
set local session_replication_role = origin;
select act_as('olga');
select raises($$ select rebuild_counters('x') $$, 409, 'rows_wrong', 'Nothing was changed: sums made of wrong rows would be wrong, too. Mend the rows first. I03 (one row): A deposit and its journal row do not say the same. '
    || current_setting('test.advice'), 'in words, with what to do');
select act_as_owner();
rollback to savepoint sound;
create temporary table orders as select no, paid_order from private.positions;
grant all on orders to public;
select rebuilds($$ update private.positions as p set paid_order = o.paid_order from orders as o
    where (p.no, o.no) in ((position_no('ask'), position_no('embla')), (position_no('embla'), position_no('ask'))) $$, 'I33 I34',
    (select jsonb_agg(jsonb_build_object('kind', 'position', 'object', o.no::text, 'old', jsonb_build_object('paid_order', s.paid_order), 'new', jsonb_build_object('paid_order', o.paid_order)) order by o.no::text)
    from private.positions as o, private.positions as s where (o.no, s.no) in ((position_no('ask'), position_no('embla')), (position_no('embla'), position_no('ask')))), 'two places in that order, changed');
select rebuilds($$ update private.totals set pairing_amount = 1, reserved_amount = 5, referral_count = 9 where user_id = user_id('freya') $$, 'I07 I08 I27 I29 I37',
    change('totals', user_id('freya')::text, '{"pairing_amount": "1.00", "reserved_amount": "5.00", "referral_count": 9}',
    '{"pairing_amount": "400.00", "reserved_amount": "100.00", "referral_count": 3}'), 'a total');
select rebuilds($$ delete from private.totals where user_id = user_id('ymir') $$, 'I07 I37',
    change('totals', user_id('ymir')::text, '{"referral_amount": "0.00", "referral_count": 0, "override_amount": "0.00", "override_count": 0, "reentry_amount": "0.00"}',
    '{"referral_amount": "25.00", "referral_count": 1, "override_amount": "10.00", "override_count": 1, "reentry_amount": "3.50"}'), 'a total that is missing');
select rebuilds(format($$ update private.counters set value = value + 1000000 where name = %L $$, c.name), 'I27',
    change('counter', c.name, jsonb_build_object('value', (c.value + 1000000)::text), jsonb_build_object('value', c.value::text)), 'the counter ' || c.name)
from private.counter_values() as c where c.name <> 'available_balance' order by c.name;
select rebuilds($$ delete from private.counters where name = 'bonus_rows'; delete from private.counter_deltas where name = 'bonus_rows' $$, 'I27',
    change('counter', 'bonus_rows', '{"value": "0"}', '{"value": "6"}'), 'a counter that is missing');
select rebuilds($$ update private.flow_days set deposits = deposits + 1 $$, 'I27',
    change('flow_day', today(), '{"deposits": "1551.00"}', '{"deposits": "1550.00"}'), 'a day''s deposits');
select rebuilds($$ insert into private.flow_days (day, withdrawals, decided_deposits) values ('2020-01-01', 5, 6) $$, 'I27',
    change('flow_day', '2020-01-01', '{"withdrawals": "5.00", "decided_deposits": "6.00"}', '{"withdrawals": "0.00", "decided_deposits": "0.00"}'), 'a day on which nothing happened');
select rebuilds($$ update private.earning_days set pairing = pairing + 1 where no = position_no('freya') $$, 'I28',
    change('earning_day', position_no('freya') || ' ' || today(), '{"pairing": "401.00"}', '{"pairing": "400.00"}'), 'a day''s earnings');
select rebuilds($$ update private.networks set members = members + 1, override = 0 where no = position_no('ymir') $$, 'I29',
    change('network', position_no('ymir')::text, '{"members": 6, "override": "0.00"}', '{"members": 5, "override": "10.00"}'), 'a network');
select rebuilds($$ update private.networks set direct_cents = 0, direct_funded = 7 where no = position_no('freya') $$, 'I29',
    change('direct_referrals', position_no('freya')::text, '{"direct_cents": 0, "direct_funded": 7}', '{"direct_cents": 100000, "direct_funded": 2}'), 'direct referrals');
select rebuilds($$ update private.team_days set funded = funded + 1 where no = position_no('freya') $$, 'I30',
    change('team_day', position_no('freya') || ' ' || today(), '{"funded": 3}', '{"funded": 2}'), 'a large team''s day');
-- What is wrong at one member is wrong at everybody above.
select rebuilds($$ update private.networks set package_cents = package_cents + 100 where no in (position_no('ask'), position_no('freya'), position_no('ymir')) $$, 'I29',
    (select jsonb_agg(jsonb_build_object('kind', 'network', 'object', n.no::text, 'old', jsonb_build_object('package_cents', n.package_cents + 100), 'new', jsonb_build_object('package_cents', n.package_cents)) order by n.no::text)
    from private.networks as n where n.no in (position_no('ask'), position_no('freya'), position_no('ymir'))), 'a package in three networks');
rollback to savepoint paid;

-- Everything at once: a hundred changes are listed, all are counted.
set local session_replication_role = replica;
insert into private.earning_days (no, day, referral) select position_no('loke'), date '2020-01-01' + n, 5 from generate_series(1, 150) as n;
update private.totals set withdrawn_amount = 9000000;
update private.counters set value = 0;
set local session_replication_role = origin;
select act_as('olga');
create temporary table response as select rebuild_counters('After a bad restore') as body;
grant all on response to public;
select act_as_owner();
select is((select jsonb_array_length(body -> 'changes') from response), 100, 'a hundred changes are listed');
select cmp_ok((select (body ->> 'count')::integer from response), '>', 150, 'and all are counted');
select is(broken(), null, 'nothing is wrong any more');

-- A package that was derived again may make other bonuses due.
set local session_replication_role = replica;
update private.positions set paid_cents = 0 where no = position_no('ask');
set local session_replication_role = origin;
update private.reconcile_state set bonus_revision = (select last_value from private.bonus_revision_seq), ran_at = null;
select act_as('olga');
select is(rebuild_counters('x') -> 'count', '1', 'a position is set right');
select act_as_owner();
select ok((select s.bonus_revision < q.last_value from private.reconcile_state as s, private.bonus_revision_seq as q), 'so bonuses are compared again');

-- Afterwards everything is kept up as before.
select pays('loke', 100);
select is(broken(), null, 'decisions are booked as ever');
select raises($$ update private.profiles set package_value = 50 where user_id = user_id('loke') $$, 403, 'immutable', 'You can only upgrade to a higher package. Downgrades are not allowed.', 'and a package falls no more');

select * from finish();
rollback;
