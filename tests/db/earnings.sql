-- Members are notified of what a decision brought them: afterwards, once, with how much and from whom.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

create function actors.earned(p_name text) returns table (amount numeric, body text) language sql stable as $$
    select n.amount, n.body from public.notifications as n
    where n.user_id = actors.user_id(p_name) and n.kind = 'bonus_earned' order by n.created_at, n.id
$$;
savepoint earned;

-- =====================================================================================================================
-- Nothing is written with the decision, everything by the job
-- =====================================================================================================================
select pays('freya', 1000);
select is_empty($$ select earned('ymir') $$, 'an approval notifies nobody of a bonus');
select ok(jobs.are_earnings_due(), 'but leaves something to notify of');
select is(jobs.notify_earnings(), 1, 'the job notifies one member');
select results_eq(
    $$ select * from earned('ymir') $$, $$ values (50.00, 'freya’s deposit was approved and brought you a referral bonus of $50.00.') $$,
    'Ymir learns how much, and from whom'
);
select results_eq(
    $$ select title, link, read_at, created_at = (select decided_at from public.deposits) from public.notifications where kind = 'bonus_earned' $$,
    $$ values ('You earned $50.00', '/transactions', null::timestamptz, true) $$, 'unread, dated when it was decided'
);
select is_empty($$ select 1 from private.outbox where template = 'bonus_earned' $$, 'and by no mail that he did not ask for');
select ok(not jobs.are_earnings_due(), 'then nothing is due');
select is(jobs.notify_earnings(), 0, 'and a second run writes nothing');

-- One decision, several bonuses: one notification for each who earned
select pays('ask', 1000);
select pays('embla', 1000);
select is(jobs.notify_earnings(), 3, 'two decisions, three notifications');
select results_eq(
    $$ select * from earned('freya') $$, $$ values
    (50.00, 'ask’s deposit was approved and brought you a referral bonus of $50.00.'),
    (1050.00, 'embla’s deposit was approved and brought you a referral bonus of $50.00 and a pairing bonus of $1,000.00 for pair 1.') $$,
    'what one decision brought Freya is one notification'
);
select results_eq(
    $$ select body from earned('ymir') offset 1 $$,
    $$ values ('embla’s deposit was approved and brought you an override bonus of $20.00 for pair 1 of freya.') $$, 'Ymir learns of whose pair it was'
);

-- What brings nobody anything
select pays('embla', 7);
create temporary table claimed as select claims_deposit('buri', 50) as id;
grant select on claimed to public;
select act_as('elin');
select decide_deposit(id, 'reject', 'No transfer.') from claimed;
select act_as_owner();
select is(jobs.notify_earnings(), 0, 'cash-in and a rejection are no earnings');
select ok(not jobs.are_earnings_due(), 'and are not looked at again');
rollback to savepoint earned;

-- =====================================================================================================================
-- The own package: a higher rate on pairs that pay already
-- =====================================================================================================================
select join_as('vili', 'freya');
select complete('vili');
select pays('freya', 50); select pays('ask', 100); select pays('embla', 100); select pays('buri', 50); select pays('vili', 50);
select jobs.notify_earnings();
delete from public.notifications;
select pays('freya', 100);
select is(jobs.notify_earnings(), 2, 'an upgrade brings something to the member and to the referrer');
select results_eq(
    $$ select * from earned('freya') $$, $$ values (30.00, 'Your deposit was approved and brought you pairing bonuses of $30.00 for 2 pairs.') $$,
    'Freya: the difference, of both pairs'
);
select results_eq(
    $$ select * from earned('ymir') $$, $$ values (2.50, 'freya’s deposit was approved and brought you a referral bonus of $2.50.') $$,
    'Ymir: the difference alone'
);
rollback to savepoint earned;

-- =====================================================================================================================
-- Corrections give to some and take from others
-- =====================================================================================================================
select pays('freya', 1000); select pays('ask', 50); select pays('embla', 50);
select jobs.notify_earnings();
delete from public.notifications;
select corrects('set_package', profile_id('embla'), 100);
select corrects('void_deposit', (select id from public.deposits where user_id = user_id('ask')));
select is(jobs.notify_earnings(), 0, 'who lost a bonus is told of no earnings');
select ok(not jobs.are_earnings_due(), 'both corrections are done with');
select corrects('set_package', profile_id('embla'), 50);
select is(jobs.notify_earnings(), 1, 'who is given one is');
select results_eq(
    $$ select * from earned('freya') $$, $$ values (2.50, 'embla’s package was corrected, which brought you a referral bonus of $2.50.') $$, 'in the words of a correction'
);
rollback to savepoint earned;

-- =====================================================================================================================
-- Step by step, and from where it was
-- =====================================================================================================================
select pays('freya', 1000); select pays('ask', 50); select pays('embla', 50);
select is(jobs.notify_earnings(1), 1, 'a first step');
select results_eq($$ select count(*) from public.notifications where kind = 'bonus_earned' $$, $$ values (1::bigint) $$, 'takes the first decision');
select ok(jobs.are_earnings_due(), 'and leaves the others');
select is(jobs.notify_earnings(1), 1, 'a second step goes on');
select is(jobs.notify_earnings(1), 2, 'a third ends it');
select ok(not jobs.are_earnings_due(), 'nothing is left');
update private.earnings_state set entry_id = (select max(id) from private.audit_log);
select pays('buri', 50);
select is(jobs.notify_earnings(), 1, 'what was decided before the mark is never notified');
rollback to savepoint earned;

-- A closed account reads nothing
select pays('freya', 1000);
delete from auth.users where id = user_id('freya');
select pays('ask', 1000);
select is(jobs.notify_earnings(), 1, 'Ymir is notified, and Freya''s closed account is not');
select is_empty($$ select earned('freya') $$, 'it gets no notification');
rollback to savepoint earned;

-- Mail, for who wants it
select act_as('ymir');
select set_mail_choice('earnings', true);
select act_as_owner();
select pays('freya', 1000);
select jobs.notify_earnings();
select results_eq(
    $$ select recipient, data ->> 'title', data ->> 'amount', created_at = (select decided_at from public.deposits) from private.outbox where template = 'bonus_earned' $$,
    $$ values ('ymir@people.test', 'You earned $50.00', '50.00', true) $$, 'Ymir chose mail about earnings and gets it'
);
rollback to savepoint earned;

-- Who may run it
select act_as('freya');
select throws_ok('select jobs.notify_earnings()', '42501', null, 'no member runs the job');
select act_as_owner();
set local role worker;
select lives_ok('select jobs.are_earnings_due(), jobs.notify_earnings()', 'the worker does');
reset role;
select * from finish();
rollback;
