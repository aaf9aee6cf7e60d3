-- Each kind of damage to rows of money, behind the triggers: seen by its rule, stopped, mended by the one way back that the
-- runbook names, and then the ledger is in order and everybody's money what it was.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
create function actors.broken() returns text language sql stable security definer set search_path = actors, public, extensions as $$
    select string_agg(distinct c.rule, ' ' order by c.rule) from private.check_ledger() as c
$$;
-- What everybody has, and everything that is stored of it.
create function actors.figures() returns jsonb language sql stable security definer set search_path = actors, public, extensions as $$
    select jsonb_build_object(
        'totals', (select jsonb_agg(to_jsonb(t) order by t.user_id) from private.totals as t),
        'members', (select jsonb_agg(jsonb_build_array(p.user_id, p.cash_in_amount, p.package_value) order by p.user_id) from private.profiles as p),
        'counters', (select jsonb_object_agg(c.name, c.value::numeric(20, 2)) from private.counter_values() as c where c.name not in ('bonus_transactions', 'bonus_volume')),
        'networks', (select jsonb_agg(to_jsonb(private.network_sums(p)) order by p.id) from private.profiles as p),
        'journal', (select jsonb_object_agg(j.user_id, j.amount) from (
            select t.user_id, sum(t.amount) as amount from public.transactions as t where t.status = 'completed' group by t.user_id having sum(t.amount) <> 0) as j),
        'requests', (select jsonb_agg(to_jsonb(d) order by d.id) from public.deposits as d)
            || (select jsonb_agg(to_jsonb(w) order by w.id) from public.withdrawals as w),
        'bonuses', (select jsonb_agg(jsonb_build_object(
            'key', concat_ws(' ', b.bonus_type, b.subject_no, b.pair_number), 'of', b.user_id, 'from', b.source_user_id, 'amount', b.amount
        ) order by b.bonus_type, b.subject_no, b.pair_number) from public.bonuses as b)
    )
$$;
create function actors.journal() returns jsonb language sql stable security definer set search_path = actors, public, extensions as $$
    select jsonb_agg(to_jsonb(t) - 'id' order by to_jsonb(t) - 'id') from public.transactions as t
$$;
select administrator('orm', 'super_admin');
select join_as('vili', 'freya'); select complete('vili');
select pays('freya', 500); select pays('ask', 500); select pays('embla', 250);
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 120, wallets.of('freya')), (auth.uid(), 100, wallets.of('freya'));
select act_as('elin');
select decide_withdrawal(id, 'approve') from withdrawals where user_id = user_id('freya') and amount = 120;
select act_as_owner();
select jobs.roll_up_counters(); select jobs.roll_up_networks();
-- Raised afterwards, so that a bonus has two journal rows.
select pays('embla', 500); select pays('buri', 50);
select private.link_entries();
select is(broken(), null, 'the ledger is in order');
create temporary table sound as select figures() as figures, journal() as journal;
create temporary table pairing as select b.id from public.bonuses as b where b.bonus_type = 'pairing' and b.user_id = user_id('freya') and b.pair_number = 1;
grant all on sound, pairing to public;
create function actors.plants(p_damage text) returns void language plpgsql as $$
begin
    perform set_config('session_replication_role', 'replica', true);
    execute p_damage;
    perform set_config('session_replication_role', 'origin', true);
    perform jobs.check_ledger();
    -- Long ago.
    update private.ledger_check_state set checked_at = null;
end
$$;
create function actors.stopped(p_name text, p_description text) returns setof text language plpgsql as $$
begin
    return next ok(exists (
        select 1 from private.alarms as a where a.kind = 'ledger_violation' and a.ended_at is null and a.user_id = user_id(p_name)
    ), p_description || ' is told');
    return next raises(format('select private.require_no_alarm(%L, ''deposit'')', user_id(p_name)), 409, 'ledger_alarm', null, p_description || ' stops decisions about the member');
end
$$;
create function actors.in_order(p_description text) returns setof text language plpgsql as $$
begin
    return next is(broken(), null, p_description || ': the ledger is in order');
    return next is(figures(), (select figures from sound), p_description || ': everybody has what they had');
    perform jobs.check_ledger();
    return next is_empty($q$ select a.object from private.alarms as a where a.kind = 'ledger_violation' and a.ended_at is null $q$, p_description || ': no alarm is left');
end
$$;
create function actors.raised(p_sql text) returns text language plpgsql as $$
begin
    execute p_sql;
    return null;
exception when sqlstate 'PGRST' then
    return sqlerrm::jsonb ->> 'code';
end
$$;

-- By a correction of two people.
create function actors.corrected(p_damage text, p_rules text, p_name text, p_description text, p_is_same boolean default true) returns setof text language plpgsql as $$
declare
    v_id uuid;
begin
    begin
        perform plants(p_damage);
        return next is(broken(), p_rules, p_description || ' is seen');
        return query select stopped(p_name, p_description);
        perform act_as('olga');
        -- Receipts and keys are in no sum.
        return next is(raised('select rebuild_counters(''x'')'), case when p_rules not in ('I20', 'I31') then 'rows_wrong' end, p_description || ' stops a rebuild');
        v_id := propose_correction('repair_rows', profile_id(p_name), null, 'The database was changed.') #>> '{correction,id}';
        perform act_as_owner();
        return next is(broken(), p_rules, p_description || ': a proposal changes nothing');
        perform act_as('orm');
        return next is(confirm_correction(v_id) ->> 'success', 'true', p_description || ' is mended by two people');
        perform act_as_owner();
        return query select in_order(p_description);
        if p_is_same then
            return next is(journal(), (select journal from sound), p_description || ': the journal is what it was');
        end if;
        return next is(
            (select l.payload -> 'restores' from private.audit_log as l where l.action = 'correction.confirmed' and l.object_id = v_id),
            (select c.restores from private.corrections as c where c.id = v_id), p_description || ': what was and what is stands in the audit log'
        );
        perform act_as('olga');
        return next is(rebuild_counters('x') -> 'count', '0', p_description || ': a rebuild has nothing to do');
        raise exception 'planted' using errcode = 'ZZ999';
    exception when sqlstate 'ZZ999' then
        perform act_as_owner();
        perform set_config('session_replication_role', 'origin', true);
    end;
end
$$;
select corrected($$ delete from public.transactions where transaction_type = 'deposit' and user_id = user_id('ask') $$, 'I02 I03', 'ask', 'a deposit without its journal row');
select corrected($$ delete from public.transactions where transaction_type = 'withdrawal' and amount = -100 $$, 'I04', 'freya', 'a pending withdrawal without its journal row');
select corrected($$ update public.transactions set amount = amount + 1 where transaction_type = 'deposit' and user_id = user_id('ask') $$, 'I02 I03', 'ask', 'a deposit of another amount in the journal');
select corrected($$ update public.transactions set decision_no = decision_no - 1 where transaction_type = 'deposit' and user_id = user_id('ask') $$, 'I03', 'ask', 'a wrong decision number in the journal');
select corrected($$ update public.transactions set status = 'pending' where transaction_type = 'withdrawal' and amount = -120 $$, 'I02 I04 I53', 'freya', 'an approved withdrawal that is pending in the journal');
select corrected($$ update public.transactions set user_id = user_id('loke') where transaction_type = 'deposit' and user_id = user_id('ask') $$, 'I02 I03 I05', 'ask', 'a journal row that was given to another member');
select corrected($$ update public.transactions set created_at = created_at - interval '1 hour' where transaction_type = 'deposit' and user_id = user_id('ask') $$, 'I36', 'ask', 'a journal row of another time');
select corrected($$ drop index public.transactions_source_key; insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
    select user_id, amount, transaction_type, status, reference_id, created_at, decision_no from public.transactions where transaction_type = 'deposit' and user_id = user_id('ask') $$, 'I02 I06', 'ask', 'a second journal row of a deposit');
select corrected($$ insert into public.transactions (user_id, amount, transaction_type, status, reference_id) values (user_id('ask'), 70, 'deposit', 'completed', gen_random_uuid()) $$,
    'I02 I05 I35', 'ask', 'a journal row of nothing');
select corrected($$ update public.deposits set decision_no = decision_no - 1 where user_id = user_id('ask');
    update public.transactions set decision_no = decision_no - 1 where transaction_type = 'deposit' and user_id = user_id('ask') $$, 'I34 I45', 'ask', 'a wrong decision number of a deposit');
select corrected($$ update public.deposits set amount = 1000 where user_id = user_id('buri'); update public.transactions set amount = 1000 where transaction_type = 'deposit' and user_id = user_id('buri') $$,
    'I02 I09 I13 I27 I43 I45', 'buri', 'a deposit that was raised with its journal row');
select corrected($$ update public.withdrawals set amount = 150 where amount = 100; update public.transactions set amount = -150 where amount = -100 $$, 'I07 I27 I44', 'freya', 'a request that was raised with its journal row');
select corrected($$ update public.withdrawals set wallet_address = 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwc' where amount = 100 $$, 'I44', 'freya', 'a request with another address');
select corrected($$ update public.deposits set decided_by = user_id('sam') where user_id = user_id('ask') $$, 'I45', 'ask', 'a decision of another administrator');
select corrected($$ update public.deposits set received_amount = amount - 1 where user_id = user_id('ask') $$, 'I45', 'ask', 'an amount that nobody said had arrived');
select corrected($$ alter table public.deposits drop constraint pending_is_undecided; update public.deposits set decided_at = null where user_id = user_id('ask') $$, 'I17 I27 I45', 'ask', 'a decision without a time');
select corrected($$ update public.transactions set user_id = user_id('loke') where transaction_type = 'deposit' and user_id = user_id('ask') $$, 'I02 I03 I05', 'loke', 'a journal row that was given to this member');
select corrected($$ update public.deposits set user_id = user_id('loke') where user_id = user_id('ask'); update public.transactions set user_id = user_id('loke') where transaction_type = 'deposit' and user_id = user_id('ask') $$,
    'I02 I09 I13 I20 I34 I43 I45', 'loke', 'a deposit that was given to another member with its journal row');
-- A request that is another one, is gone, or was never made.
select corrected($$ update public.deposits set kind = 'upgrade' where user_id = user_id('buri') $$, 'I43', 'buri', 'a deposit of another kind');
select corrected($$ update public.deposits set status = 'rejected', admin_notes = 'x' where user_id = user_id('buri') $$, 'I03 I09 I13 I27 I34 I45', 'buri', 'another decision about a deposit');
select corrected($$ update public.withdrawals set status = 'approved', decided_at = now(), decided_by = user_id('elin'), decision_no = 1 where amount = 100 $$, 'I02 I04 I07 I27 I46', 'freya', 'a decision that nobody took');
select corrected($$ delete from public.deposits where user_id = user_id('ask') $$, 'I05 I09 I13 I27 I34 I43 I45', 'ask', 'a deposit that is gone');
select corrected($$ delete from private.transfer_keys where request_id = (select d.id from public.deposits as d where d.user_id = user_id('ask')); delete from private.deposit_receipts where deposit_id = (select d.id from public.deposits as d where d.user_id = user_id('ask'));
    delete from public.transactions where transaction_type = 'deposit' and user_id = user_id('ask'); delete from public.deposits where user_id = user_id('ask') $$, 'I02 I09 I13 I27 I34 I43 I45', 'ask', 'a deposit that is gone with all that belongs to it');
select corrected($$ delete from public.withdrawals where amount = 120; delete from public.transactions where amount = -120 $$, 'I07 I27 I44 I46 I53', 'freya', 'a withdrawal that is gone with its journal row');
select corrected($$ insert into public.deposits (id, user_id, amount, reference_number, receipt_url, status, kind, reference_key, decided_at, decided_by, decision_no)
    values ('00000000-0000-4000-8000-000000000001', user_id('loke'), 1000, 'x', 'x', 'approved', 'first', 'x', now(), user_id('elin'), private.last_decision_no());
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, decision_no)
    values (user_id('loke'), 1000, 'deposit', 'completed', '00000000-0000-4000-8000-000000000001', private.last_decision_no());
    insert into private.deposit_receipts (deposit_id, name) values ('00000000-0000-4000-8000-000000000001', 'x');
    insert into private.deposit_rests (deposit_id, no, received_amount, asked_by, asked_at, ended_at) values ('00000000-0000-4000-8000-000000000001', 1, 1, user_id('elin'), now(), now());
    insert into private.transfer_keys (request_id, key, kind, is_payout) values ('00000000-0000-4000-8000-000000000001', 'y', 'text', false) $$, 'I02 I09 I13 I20 I27 I31 I43 I45', 'loke', 'a deposit that nobody requested');
select corrected($$ insert into public.withdrawals (id, user_id, amount, wallet_address) values ('00000000-0000-4000-8000-000000000001', user_id('freya'), 100, wallets.of('freya')) $$, 'I04 I07 I27 I44', 'freya', 'a withdrawal that nobody requested');
select corrected($$ update public.deposits as d set user_id = case d.user_id when user_id('ask') then user_id('embla') else user_id('ask') end where d.amount = 500 and d.user_id in (user_id('ask'), user_id('embla')) $$,
    'I03 I05 I20 I34 I43 I45', 'ask', 'deposits of two members that changed places');
select corrected($$ delete from private.deposit_receipts where deposit_id = (select d.id from public.deposits as d where d.user_id = user_id('ask')) $$, 'I20', 'ask', 'a deposit whose receipt is gone');
select corrected($$ update private.transfer_keys set key = 'x' where request_id = (select d.id from public.deposits as d where d.user_id = user_id('ask')) $$, 'I31', 'ask', 'a deposit with another key');
select corrected($$ insert into private.transfer_keys (request_id, key, kind, is_payout) select w.id, 'x', 'text', true from public.withdrawals as w where w.amount = 120 $$, 'I31', 'freya', 'the key of a payout that was not recorded');
savepoint uncorrected;
select claims_deposit('loke', 500);
select act_as('elin');
select decide_deposit(d.id, 'ask_rest', null, 400) from public.deposits as d where d.user_id = user_id('loke');
select decide_withdrawal(w.id, 'approve', null, repeat('ab', 32)) from public.withdrawals as w where w.amount = 120;
select act_as('olga');
select propose_correction('set_package', profile_id('buri'), 100, 'x');
select act_as_owner();
update sound set figures = figures(), journal = journal();
select corrected($$ update public.deposits set receipt_url = replace(receipt_url, 'receipts/', 'receipts/x') where user_id = user_id('loke') $$, 'I20', 'loke', 'a deposit with another receipt');
select corrected($$ update public.withdrawals set payout_reference = 'another' where amount = 120 $$, 'I31 I47', 'freya', 'a payout with another reference');
select corrected($$ update public.withdrawals set payout_reference = null, payout_at = null where amount = 120 $$, 'I27 I31 I47', 'freya', 'a payout that was not recorded any more');
select corrected($$ update private.deposit_rests set received_amount = 499, ended_at = now() $$, 'I17 I45', 'loke', 'a rest that is another one and ended');
select corrected($$ delete from private.deposit_rests $$, 'I45', 'loke', 'a rest that is gone');
select corrected($$ insert into private.deposit_rests (deposit_id, no, received_amount, asked_by, asked_at, ended_at) select d.id, 9, 1, user_id('elin'), now(), d.decided_at from public.deposits as d where d.user_id = user_id('ask') $$, 'I45', 'ask', 'a rest that nobody asked for');
select corrected($$ update private.corrections set value = 1000 $$, 'I48', 'buri', 'a proposal of another value');
select corrected($$ delete from private.corrections $$, 'I48', 'buri', 'a proposal that is gone');
rollback to savepoint uncorrected;
-- Rows of a bonus that is right.
select corrected($$ delete from public.transactions where reference_id = (select id from pairing) $$, 'I01 I02 I27 I28 I53', 'freya', 'a bonus without its journal rows', false);
select corrected($$ update public.transactions set decision_no = null where reference_id = (select id from pairing) $$, 'I35 I53', 'freya', 'journal rows that lost their decisions');
select corrected($$ update public.transactions set status = 'pending' where reference_id = (select id from pairing) $$, 'I01 I02 I53', 'freya', 'journal rows of a bonus that are pending');
select corrected($$ update public.transactions set created_at = created_at + interval '1 millisecond' where reference_id = (select id from pairing) $$, 'I36', 'freya', 'journal rows of a bonus with other times', false);
select corrected($$ update public.transactions set amount = amount + 10 where reference_id = (select id from pairing) and amount = 300 $$, 'I01 I02 I27 I28 I53', 'freya', 'a journal row of a bonus with another amount', false);
select corrected($$ insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    select user_id('freya'), v.amount, 'bonus', 'completed', p.id, now() - interval '1 day' from pairing as p, (values (5), (-5)) as v (amount) $$, 'I27 I35 I53', 'freya', 'a row of five and one of minus five');
select corrected($$ insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
    select user_id('freya'), v.amount, 'bonus', 'completed', p.id, now() - interval '1 day', (select min(t.decision_no) from public.transactions as t where t.reference_id = p.id) from pairing as p, (values (5), (-5)) as v (amount) $$,
    'I27 I36 I53', 'freya', 'a row of five and one of minus five with the number of a decision');
select corrected($$ update public.transactions set user_id = user_id('loke') where reference_id = (select id from pairing) $$, 'I01 I02 I05 I28 I53', 'freya', 'journal rows of a bonus that were given to another member');
-- Two rows of one bonus.
select corrected($$ drop index public.bonuses_pairing_key; insert into public.bonuses (user_id, source_user_id, bonus_type, amount, rate, volume, subject_no, pair_number, created_at)
    select user_id, source_user_id, bonus_type, amount, rate, volume, subject_no, pair_number, created_at from public.bonuses where id = (select id from pairing) $$, 'I01 I02 I07 I10 I21 I27 I37', 'freya', 'a bonus stored twice');
select corrected($$ drop index public.bonuses_pairing_key; with doubled as (insert into public.bonuses (user_id, source_user_id, bonus_type, amount, rate, volume, subject_no, pair_number, created_at)
    select user_id, source_user_id, bonus_type, amount, rate, volume, subject_no, pair_number, created_at from public.bonuses where id = (select id from pairing) returning *)
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no) select user_id, amount, 'bonus', 'completed', id, created_at, 1 + (select min(decision_no) from public.transactions where reference_id = (select id from pairing)) from doubled $$,
    'I07 I10 I21 I27 I28 I37 I53', 'freya', 'a bonus stored twice with its journal row');

-- A correction, and the journal row that it wrote.
savepoint uncorrected;
select corrects('void_deposit', (select d.id from public.deposits as d where d.user_id = user_id('buri')));
select corrects('set_package', profile_id('buri'), 100);
update sound set figures = figures(), journal = journal();
select corrected($$ update private.corrections set value = 1000 where kind = 'set_package' $$, 'I13 I48', 'buri', 'a correction of another value');
select corrected($$ update private.corrections set decision_no = 1 where kind = 'set_package' $$, 'I48', 'buri', 'a correction of another number');
select corrected($$ delete from public.transactions where transaction_type = 'deposit' and amount = -50 $$, 'I02', 'buri', 'a voided deposit without its second journal row');
select corrected($$ update public.deposits set voided_at = null where user_id = user_id('buri') $$, 'I09 I17 I27', 'buri', 'a voided deposit that counts again');
select corrected($$ insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
    select user_id('freya'), v.amount, 'bonus', 'completed', c.id, c.confirmed_at, c.decision_no from private.corrections as c, (values (77), (-77)) as v (amount) where c.kind = 'set_package' $$,
    'I05 I27 I53', 'freya', 'rows of a bonus that name a correction');

-- The statement of the runbook, as it stands there.
savepoint numbered;
select plants($$ update private.last_decision set no = (select max(decision_no) from public.transactions) $$);
select is(broken(), 'I50', 'a correction has a number that is yet to be given');
insert into private.last_decision (no) select max(n.decision_no) from (select decision_no from private.numbered_decisions union all select decision_no from public.transactions) as n on conflict (only_row) do update set no = excluded.no;
select is(broken(), null, 'and then it has not');
rollback to savepoint numbered;
rollback to savepoint uncorrected;

-- What a decision about a damaged bonus left: the bonus is right again, its journal has the damage.
savepoint undamaged;
set local session_replication_role = replica;
update public.bonuses set amount = 0, volume = 0 where bonus_type = 'pairing';
set local session_replication_role = origin;
select pays('ask', 1000);
select is(private.reconcile(), 0, 'a bonus that was raised after it was damaged is right');
select is(broken(), 'I01 I02 I07 I27 I37', 'but not its journal and the sums');
select act_as('olga');
select propose_correction('repair_rows', profile_id('freya'), null, 'A decision about a damaged bonus.');
select act_as('elin');
create temporary table confirmed as select confirm_correction((w ->> 'id')::uuid) as body from jsonb_array_elements(list_corrections() -> 'waiting') as w;
grant all on confirmed to public;
select act_as_owner();
select is(broken(), 'I07 I27 I37', 'the journal is mended by a correction');
select results_eq(
    $$ select t.amount::numeric, t.decision_no from public.transactions as t where t.reference_id = (select id from pairing) order by t.id desc limit 1 $$,
    $$ select -400.00, (body #>> '{correction,decision_no}')::bigint from confirmed $$, 'with the difference, under its number'
);
select is((select count(*) from public.transactions where reference_id = (select id from pairing)), 4::bigint, 'and every decision''s row stays');
select notified('freya', 'correction', 'the member is notified');
select is(
    (select n.body from public.notifications as n where n.user_id = user_id('freya') and n.kind = 'correction'),
    'Entries of your history are again what they were. Your balance does not change. Reason: A decision about a damaged bonus.', 'the member reads what it was'
);
select act_as('olga');
select cmp_ok((rebuild_counters('x') ->> 'count')::integer, '>', 0, 'then the counters are rebuilt');
select act_as_owner();
select is(broken(), null, 'and the ledger is in order');
rollback to savepoint undamaged;

-- A proposal that nobody made is taken out where it is discarded, and leaves nothing.
select plants($$ insert into private.corrections (id, kind, target_id, user_id, reason, proposed_by, proposed_at, restores)
    values ('00000000-0000-4000-8000-000000000001', 'repair_rows', profile_id('ask'), user_id('ask'), 'x', user_id('olga'), now(), '[]') $$);
select is(broken(), 'I48', 'a proposal that nobody made is seen');
select act_as('olga');
select is(raised(format('select propose_correction(%L, %L, null, %L)', 'repair_rows', profile_id('ask'), 'x')), 'already_proposed', 'it stands in the way');
select is(discard_correction('00000000-0000-4000-8000-000000000001') ->> 'success', 'true', 'it can be discarded');
select act_as_owner();
select ok(not private.is_restoring_rows(), 'no row can be changed afterwards');
select is_empty('select from private.corrections', 'and is gone');
select audited('correction.taken_out', 'on the record');
select in_order('a proposal that nobody made');
rollback to savepoint undamaged;

-- A package that nobody paid for: the comparison pays nothing on it, and a rebuild takes back what was paid.
update private.profiles set cash_in_amount = 1000, package_value = 1000 where user_id = user_id('vili');
select is(broken(), 'I02 I09 I11 I13 I29 I34', 'a raised package is seen');
select is(private.reconcile(), 0, 'the comparison pays nothing on it');
select act_as('olga');
select cmp_ok((rebuild_counters('x') ->> 'count')::integer, '>', 0, 'a rebuild derives it again');
select act_as_owner();
select in_order('a raised package');
rollback to savepoint undamaged;
update private.profiles set cash_in_amount = 1000, package_value = 1000 where user_id = user_id('vili');
select private.next_decision_no();
select private.post_bonuses(position_no('vili'), private.clock());
select matches(broken(), '^I02 I09 I13( I33)? I34$', 'a raised package with its bonuses is seen');
select act_as('olga');
select cmp_ok((rebuild_counters('x') ->> 'count')::integer, '>', 0, 'a rebuild derives it again, and compares');
select act_as_owner();
select is(broken(), null, 'the ledger is in order');
select is((select coalesce(sum(b.amount), 0)::numeric from public.bonuses as b where b.subject_no = position_no('vili')), 0::numeric, 'and nobody earned from it');
rollback to savepoint undamaged;

-- =====================================================================================================================
-- Two people mean the same damage
-- =====================================================================================================================
select act_as('olga');
select raises(format('select propose_correction(%L, %L, null, %L)', 'repair_rows', profile_id('ask'), 'x'), 409, 'not_correctable', 'The rows of this member are what their sources say. Where an alarm about the member stays, restore the moment before.', 'nothing is proposed where nothing is wrong');
select act_as('elin');
select raises(format('select propose_correction(%L, %L, null, %L)', 'repair_rows', profile_id('ask'), 'x'), 403, 'forbidden', 'A finance admin cannot do this.', 'only a super administrator proposes it');
select act_as_owner();
select plants($$ delete from public.transactions where transaction_type = 'deposit' and user_id = user_id('ask') $$);
select act_as('olga');
create temporary table proposed as select (propose_correction('repair_rows', profile_id('ask'), null, 'Deleted by hand.') -> 'correction') as body;
grant all on proposed to public;
select is(
    (select body #> '{restores,0,new}' from proposed) - 'created_at' - 'decision_no',
    (select jsonb_build_object('user_id', user_id('ask'), 'amount', '500.00', 'transaction_type', 'deposit', 'status', 'completed', 'reference_id', d.id)
    from deposits as d where d.user_id = user_id('ask')), 'the proposal says what comes back'
);
select raises(format('select confirm_correction(%L)', body ->> 'id'), 403, 'two_people', null, 'not by who proposed it') from proposed;
select raises(format('select propose_correction(%L, %L, null, %L)', 'repair_rows', profile_id('ask'), 'x'), 409, 'already_proposed', 'This correction is already waiting for its confirmation.', 'once') from proposed;
select act_as('elin');
select is((select w -> 'restores' from jsonb_array_elements(list_corrections() -> 'waiting') as w), (select body -> 'restores' from proposed), 'who confirms sees it');
savepoint waits;
select act_as_owner();
select plants($$ update public.deposits set decision_no = decision_no - 1 where user_id = user_id('ask') $$);
select act_as('elin');
select raises(format('select confirm_correction(%L)', body ->> 'id'), 409, 'changed_since', 'Other rows are wrong than when this was proposed. Discard it, and propose again what is right now.', 'another damage is not what was proposed') from proposed;
select act_as_owner();
select ok(broken() like '%I03%I45%', 'and nothing is mended');
select act_as('olga');
select is(discard_correction((body ->> 'id')::uuid) ->> 'success', 'true', 'it is discarded, while the alarm is open') from proposed;
rollback to savepoint waits;
-- A copy that was restored decides nothing.
select act_as_owner();
insert into private.alarms (kind, object) values ('restored', 'copy');
select act_as('elin');
select raises(format('select confirm_correction(%L)', body ->> 'id'), 409, 'ledger_alarm', null, 'a restored copy mends nothing') from proposed;
rollback to savepoint waits;
select act_as('elin');
select is(confirm_correction((body ->> 'id')::uuid) ->> 'success', 'true', 'another administrator confirms it') from proposed;
select act_as_owner();
select is(broken(), null, 'and the row is there again');
select raises($$ update public.transactions set amount = 1 where transaction_type = 'deposit' and user_id = user_id('ask') $$, 403, 'append_only', 'The journal is kept as it is.', 'which nothing changes afterwards');
select raises($$ delete from public.bonuses $$, 403, 'append_only', 'Rows of bonuses are kept as they are.', 'nor deletes another');
rollback to savepoint undamaged;

-- What sources do not say is not written.
select plants($$ update private.audit_log set payload = payload || '{"amount": "1000.00"}' where action = 'deposit.requested' and object_id = (select id from public.deposits where user_id = user_id('buri')) $$);
select act_as('olga');
select raises(format('select propose_correction(%L, %L, null, %L)', 'repair_rows', profile_id('buri'), 'x'), 409, 'not_correctable', 'The audit log itself was changed, so nothing says what the rows were. Compare it with a backup.', 'nothing follows from a changed audit log');
select act_as_owner();
update private.alarms set ended_at = now() where object like 'I26%';
select act_as('olga');
select is(raised(format('select propose_correction(%L, %L, null, %L)', 'repair_rows', profile_id('buri'), 'x')), 'rows_wrong', 'also before the alarm: an entry with another hash says nothing');
select act_as_owner();
rollback to savepoint undamaged;

-- Of two decisions in the audit log none is right.
select private.audit('system', 'deposit.rejected', 'deposit', d.id, private.deposit_decision_facts(d)) from public.deposits as d where d.user_id = user_id('buri');
select act_as('olga');
select is(raised(format('select propose_correction(%L, %L, null, %L)', 'repair_rows', profile_id('buri'), 'x')), 'rows_wrong', 'two decisions contradict each other');
select act_as_owner();
rollback to savepoint undamaged;
select set_config('app.repair', 'rows', true);
select raises('delete from private.audit_log', 403, 'append_only', 'Rows of audit_log are kept as they are.', 'no repair takes entries out of the audit log');
select set_config('app.repair', '', true);

-- Nor while somebody whom it names is gone.
select plants($$ update public.deposits set decided_by = user_id('olga') where user_id = user_id('buri'); delete from private.admin_users where id = user_id('elin') $$);
select act_as('olga');
select raises(
    format('select propose_correction(%L, %L, null, %L)', 'repair_rows', profile_id('buri'), 'x'), 409, 'not_correctable',
    'Something else stands in the way of what the audit log says: insert or update on table "deposits" violates foreign key constraint "deposits_decided_by_fkey". Mend that first.',
    'while who decided is gone'
);
select act_as_owner();
rollback to savepoint undamaged;

-- A void is a correction's.
select corrected($$ update public.withdrawals set voided_at = now() where amount = 120 $$, 'I02 I07 I17 I27', 'freya', 'a withdrawal that no correction voided');
select corrected($$ update public.deposits set voided_at = now() where user_id = user_id('ask') and status = 'approved' $$, 'I09 I13 I17 I27', 'ask', 'a deposit that no correction voided');

-- A deposit that was approved by a statement never counted.
savepoint uncounted;
select claims_deposit('loke', 500);
select plants($$ update public.deposits set status = 'approved', decided_at = now(), decided_by = user_id('elin'), decision_no = private.last_decision_no() where user_id = user_id('loke') and status = 'pending' $$);
update private.alarms set ended_at = now() where ended_at is null;
select raises(format('select corrects(''void_deposit'', %L)', d.id), 409, 'rows_wrong',
    'This deposit never counted as cash-in, so nobody approved it through the product. Propose a repair of rows.', 'and is voided by nobody')
from public.deposits as d where d.user_id = user_id('loke');
select act_as_owner();
rollback to savepoint uncounted;

-- =====================================================================================================================
-- A bonus of another member is the reconciliation's
-- =====================================================================================================================
create function actors.reconciled(p_damage text, p_rules text, p_rows integer, p_description text) returns setof text language plpgsql as $$
begin
    begin
        perform plants(p_damage);
        return next is(broken(), p_rules, p_description || ' is seen');
        return next ok(exists (
            select 1 from private.alarms as a where a.kind = 'ledger_violation' and a.ended_at is null and a.user_id is not null
        ), p_description || ' is told');
        perform act_as('olga');
        return next is(raised('select rebuild_counters(''x'')'), 'rows_wrong', p_description || ' stops a rebuild');
        perform act_as_owner();
        return next is(private.reconcile(), p_rows, p_description || ' is repaired');
        return query select in_order(p_description);
        return next is(private.reconcile(), 0, p_description || ': a second run has nothing to do');
        perform act_as('olga');
        return next is(rebuild_counters('x') -> 'count', '0', p_description || ': nor has a rebuild');
        raise exception 'planted' using errcode = 'ZZ999';
    exception when sqlstate 'ZZ999' then
        perform act_as_owner();
        perform set_config('session_replication_role', 'origin', true);
    end;
end
$$;
select reconciled($$ update public.bonuses set user_id = user_id('loke') where id = (select id from pairing) $$, 'I01 I02 I05 I07 I11 I37', 1, 'a bonus of another member');
select reconciled($$ update public.bonuses set user_id = user_id('loke') where id = (select id from pairing); update public.transactions set user_id = user_id('loke') where reference_id = (select id from pairing) $$,
    'I07 I11 I28 I37 I53', 1, 'a bonus of another member with its journal rows');
select reconciled($$ update public.bonuses set user_id = user_id('loke') where id = (select id from pairing); update public.transactions set user_id = user_id('loke') where reference_id = (select id from pairing) and amount = 300 $$,
    'I01 I02 I05 I07 I11 I28 I37 I53', 1, 'a bonus of another member with the first of its journal rows');
select reconciled($$ update public.bonuses set user_id = user_id('loke') where bonus_type = 'referral'; update public.transactions set user_id = user_id('loke') where reference_id in (select id from public.bonuses where bonus_type = 'referral') $$,
    'I07 I11 I28 I37 I53', (select count(*)::integer from public.bonuses where bonus_type = 'referral'), 'every referral bonus of another member');
select reconciled($$ update public.bonuses set user_id = user_id('ask'), amount = amount * 2, volume = volume * 2 where bonus_type = 'override' $$, 'I01 I02 I05 I07 I11 I27 I37', 1, 'an override bonus of another member and amount');
select reconciled($$ update public.bonuses set source_user_id = user_id('loke') where id = (select id from pairing) $$, 'I33', 1, 'a pairing from another member');
select reconciled($$ update public.bonuses set source_user_id = user_id('loke') where bonus_type = 'referral' and subject_no = position_no('ask') $$, 'I11', 1, 'a referral bonus from another member');
select reconciled($$ alter table public.bonuses drop constraint no_bonus_from_oneself; update public.bonuses set user_id = source_user_id where bonus_type = 'referral' and subject_no = position_no('ask') $$,
    'I01 I02 I05 I07 I11 I12 I37', 1, 'a bonus from oneself');

select reconciled($$ update public.bonuses set rate = rate / 2, volume = volume * 2 where bonus_type = 'referral' and subject_no = position_no('ask') $$, 'I11', 1, 'a bonus of half the rate and twice the volume');
select reconciled($$ update public.bonuses set rate = rate / 2, volume = volume * 2 where id = (select id from pairing) $$, 'I11', 1, 'a pairing of half the rate and twice the volume');

-- A bonus of another amount than the plan's is not what a repair of rows goes by.
savepoint doubled;
select plants($$ update public.bonuses set amount = amount * 2, volume = volume * 2 where id = (select id from pairing) $$);
select act_as('olga');
select is(raised(format('select propose_correction(%L, %L, null, %L)', 'repair_rows', profile_id('freya'), 'x')), 'not_correctable', 'the journal does not follow a bonus that was doubled');
select act_as_owner();
select is(private.reconcile(), 1, 'the comparison sets it back');
select in_order('a doubled bonus');
rollback to savepoint doubled;

-- Minus for who had it, plus for whom it is due; the alarm and the audit log say so.
select plants($$ update public.bonuses set user_id = user_id('loke') where id = (select id from pairing); update public.transactions set user_id = user_id('loke') where reference_id = (select id from pairing) $$);
select is(private.reconcile(), 1, 'the bonus is given back');
select results_eq(
    $$ select t.user_id, t.amount::numeric, t.created_at = b.created_at from public.transactions as t, public.bonuses as b
    where b.id = (select id from pairing) and t.reference_id = b.id and t.decision_no = private.last_decision_no() order by t.amount $$,
    $$ values (user_id('loke'), -400.00, false), (user_id('freya'), 400.00, true) $$, 'the journal books minus to the wrong member and plus to the right one'
);
select is(
    (select a.details -> 'repairs' from private.alarms as a where a.kind = 'repair' and a.ended_at is null),
    jsonb_build_array(jsonb_build_object(
        'bonus_id', (select id from pairing), 'bonus_type', 'pairing', 'user_id', user_id('freya'), 'subject_no', position_no('freya'), 'pair_number', 1,
        'old_amount', '400.00', 'new_amount', '400.00', 'taken_from', user_id('loke')
    )), 'the alarm says from whom it was taken'
);
select act_as('freya');
select ok(
    exists (select 1 from jsonb_array_elements(get_transaction_history() -> 'items') as i where i ->> 'id' = (select id from pairing)::text and i ->> 'source' = 'bonus'),
    'the history of its owner has it as a bonus again'
);
select act_as_owner();
-- Only a repair explains journal rows of another member.
savepoint explained;
set local session_replication_role = replica;
update private.audit_log set payload = payload - 'decision_no' where action = 'books.repaired';
set local session_replication_role = origin;
select is(broken(), 'I05 I26', 'without its entry they have no source');
rollback to savepoint explained;
select raises($$ update public.bonuses set user_id = user_id('loke') where id = (select id from pairing) $$, 403, 'append_only', 'A bonus keeps its reason and its date.', 'afterwards a bonus keeps its owner');
select raises($$ delete from public.transactions where reference_id = (select id from pairing) $$, 403, 'append_only', 'Rows of transactions are kept as they are.', 'and its journal rows');
rollback to savepoint undamaged;

-- A member asks for the sync: a repair is made once a check has found whose bonus it is.
select plants($$ update public.bonuses set user_id = user_id('loke') where id = (select id from pairing) $$);
select nextval('private.bonus_revision_seq');
update private.reconcile_state set ran_at = null;
select act_as('ask');
select ok((sync_bonuses() ->> 'success')::boolean, 'a member asks for the sync');
select act_as_owner();
select is(broken(), null, 'which gives the bonus back');
rollback to savepoint undamaged;

-- A repair that would leave rows wrong changes nothing, and says why.
select plants($$ update public.bonuses set user_id = user_id('loke') where id = (select id from pairing); delete from public.transactions where transaction_type = 'deposit' and user_id = user_id('ask') $$);
create temporary table left_over as select broken() as rules, figures() as figures;
grant all on left_over to public;
select matches(
    (select sqlerrm from (select 1) as x, lateral (select raised('select private.reconcile()') as sqlerrm) as r), 'rows_wrong', 'nothing is repaired while a deposit has no journal row'
);
select is(figures(), (select figures from left_over), 'and nothing changes');
select nextval('private.bonus_revision_seq');
update private.reconcile_state set ran_at = null;
select act_as('ask');
select ok((sync_bonuses() ->> 'success')::boolean, 'a member who asks for the sync is told nothing of it');
select act_as_owner();
select ok((select ran_at is not null from private.reconcile_state), 'and others wait ten seconds before it is tried again');
select act_as('olga');
create temporary table first_step as select (propose_correction('repair_rows', profile_id('ask'), null, 'x') #>> '{correction,id}')::uuid as id;
grant all on first_step to public;
select act_as('elin');
select confirm_correction(id) from first_step;
select act_as_owner();
select is(private.reconcile(), 1, 'after the rows it is the bonus''s turn');
select in_order('both damages');
rollback to savepoint undamaged;
-- The other way round a correction leaves the journal of such a bonus alone.
select plants($$ update public.bonuses set user_id = user_id('loke') where id = (select id from pairing) $$);
select act_as('olga');
select raises(format('select propose_correction(%L, %L, null, %L)', 'repair_rows', profile_id('freya'), 'x'), 409, 'not_correctable', 'The rows of this member are what their sources say. Where an alarm about the member stays, restore the moment before.', 'no correction moves the journal after a bonus that was moved');
select raises(format('select propose_correction(%L, %L, null, %L)', 'repair_rows', profile_id('loke'), 'x'), 409, 'not_correctable', 'The rows of this member are what their sources say. Where an alarm about the member stays, restore the moment before.', 'nor of who has it');
select act_as_owner();
rollback to savepoint undamaged;
-- A bonus that the tree gives to nobody.
select plants($$ insert into public.bonuses (user_id, source_user_id, bonus_type, amount, rate, volume, subject_no) values (user_id('loke'), user_id('ymir'), 'referral', 25, 5, 500, position_no('ymir')) $$);
select is(raised('select private.reconcile()'), 'rows_wrong', 'a bonus that can be nobody''s is not repaired');
rollback to savepoint undamaged;
-- A position with another package is no reason to change a bonus.
select plants($$ update private.positions set paid_cents = 0 where no = position_no('ask') $$);
select is(private.reconcile(), 0, 'a position that was damaged changes no bonus');
select act_as('olga');
select is(rebuild_counters('x') -> 'count', '1', 'it is derived again');
select act_as_owner();
select in_order('a position');
rollback to savepoint undamaged;
select is(broken(), null, 'and nothing of it is left');

select * from finish();
rollback;
