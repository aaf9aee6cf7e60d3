-- Outgoing mail: claimed by one worker at a time, tried again, given up in the end; what members choose to receive, and
-- what administrators see of it.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- The worker claims and reports
-- =====================================================================================================================
select private.notify_member(user_id('ask'), 'greeting', 'Hello', 'Welcome.', 12.5, '/dashboard');
update private.outbox set sent_at = now() where recipient not like 'ask@%';
set local role worker;
select is((select data ->> 'amount' from jobs.lease_mail(5) where template = 'greeting'), '12.50', 'mail is claimed with what it prints');
select is_empty($$ select 1 from jobs.lease_mail(5) $$, 'a claimed row is not claimed again');
reset role;
select lives_ok(format('set local role worker; select jobs.mark_mail_failed(%s, %L)', id, 'no server'), 'a failure is noted') from private.outbox where template = 'greeting' and recipient like 'ask@%';
reset role;
select is((select next_attempt_at > now() and sent_at is null and failed_at is null from private.outbox where template = 'greeting' and recipient like 'ask@%'), true, 'and tried again later');
update private.outbox set attempts = 12 where template = 'greeting' and recipient like 'ask@%';
select lives_ok(format('select jobs.mark_mail_failed(%s, %L)', id, 'no server'), 'the twelfth failure') from private.outbox where template = 'greeting' and recipient like 'ask@%';
select isnt((select failed_at from private.outbox where template = 'greeting' and recipient like 'ask@%'), null, 'is the last');
set local role worker;
select throws_ok($$ select * from private.outbox $$, '42501', null, 'the worker reads no table');

reset role;
insert into private.outbox (template, recipient, sent_at) values ('sent_once', 'ask@people.test', now());
insert into private.outbox (template, recipient, failed_at) values ('given_up', 'ask@people.test', now());
select is_empty($$ select 1 from jobs.lease_mail(1000) where template in ('sent_once', 'given_up') $$, 'what was sent or given up is not claimed');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- What is due, and nothing else, calls for the worker
-- =====================================================================================================================
update private.outbox set sent_at = now() where sent_at is null;
insert into private.outbox (template, recipient, next_attempt_at) values ('test_mail', 'later@people.test', clock_timestamp() + interval '59 minutes');
insert into private.outbox (template, recipient, leased_until) values ('test_mail', 'leased@people.test', clock_timestamp() + interval '1 minute');
insert into private.outbox (template, recipient, failed_at) values ('test_mail', 'given-up@people.test', now());
set local role worker;
select ok(not jobs.is_mail_due(), 'what is sent, leased, given up or for later is not due');
reset role;
update private.outbox set leased_until = clock_timestamp() - interval '1 second' where recipient = 'leased@people.test';
select ok(jobs.is_mail_due(), 'a lease that ended is');
update private.outbox set leased_until = clock_timestamp() + interval '3 minutes' where recipient = 'leased@people.test';
select ok(jobs.is_mail_due(), 'as is one from before the clock was set back');
select isnt_empty($$ select from jobs.lease_mail(5) where recipient = 'leased@people.test' $$, 'which the worker gets');
update private.outbox set sent_at = now() where recipient = 'leased@people.test';
update private.outbox set next_attempt_at = clock_timestamp() where recipient = 'later@people.test';
select ok(jobs.is_mail_due(), 'and what was for later, when its time has come');
update private.outbox set next_attempt_at = clock_timestamp() + interval '1 day' where recipient = 'later@people.test';
select ok(jobs.is_mail_due(), 'or what was scheduled while the clock was a day ahead');
select isnt_empty($$ select from jobs.lease_mail(5) where recipient = 'later@people.test' $$, 'which the worker gets too');
rollback to savepoint fixture_members;

select is_empty(
    $$
    select p.oid::regprocedure from pg_proc as p
    where p.pronamespace in ('public'::regnamespace, 'private'::regnamespace, 'jobs'::regnamespace) and p.prosrc ~* '\mnotify\M|pg_notify'
    $$, 'no function notifies: that would take a lock of the whole database at the commit of a decision'
);

-- =====================================================================================================================
-- A claim is spent when the mail is handed over
-- =====================================================================================================================
delete from private.outbox;
insert into private.outbox (template, recipient) values ('test_mail', 'a@people.test');
create temporary table first_claim as select * from jobs.lease_mail(10);
grant select on first_claim to public;
select is((select count(*) from first_claim), 1::bigint, 'a worker leases an email');
select ok((select jobs.renew_mail_lease(c.id, c.leased_until) from first_claim as c), 'and may send it');
select ok((select not jobs.renew_mail_lease(c.id, c.leased_until) from first_claim as c), 'once: the lease it had is spent');

update private.outbox set leased_until = clock_timestamp() - interval '1 second';
create temporary table second_claim as select * from jobs.lease_mail(10);
select is((select count(*) from second_claim), 1::bigint, 'when the lease ended another worker claims it');
select ok((select not jobs.renew_mail_lease(c.id, c.leased_until) from first_claim as c), 'the first one must not send it any more');
select ok((select jobs.renew_mail_lease(c.id, c.leased_until) from second_claim as c), 'the second one does');
update private.outbox set sent_at = now();
select ok((select not jobs.renew_mail_lease(o.id, o.leased_until) from private.outbox as o), 'what was sent is not sent again');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Mail that was given up is sent once more
-- =====================================================================================================================
insert into private.outbox (template, recipient, data, attempts, failed_at, last_error)
values ('test_mail', 'gone@people.test', '{"title": "x"}', 12, now(), 'rejected');
create temporary table lost as select id from private.outbox where recipient = 'gone@people.test';
grant select on lost to public;

select act_as('elin');
select raises($$ select list_jobs() $$, 403, 'forbidden', 'A finance admin cannot do this.', 'finance does not see the outbox');
select raises($$ select retry_mail(1) $$, 403, 'forbidden', 'A finance admin cannot do this.', 'nor touch it');
select act_as('olga');
select is(list_jobs() #>> '{failed,0,recipient}', 'gone@people.test', 'Olga sees what was given up');
select lives_ok($$ select retry_mail(l.id) from lost as l $$, 'and sends it once more');
select raises($$ select retry_mail(l.id) from lost as l $$, 404, 'not_found', 'There is no failed email like this.', 'while it waits there is nothing to retry');
select act_as_owner();
select is((select attempts from private.outbox where recipient = 'gone@people.test'), 0, 'with all its attempts');
select is((select action from private.audit_log order by id desc limit 1), 'mail.retried', 'on the record');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- What a super admin sees of the outbox
-- =====================================================================================================================
delete from private.outbox;
insert into private.outbox (template, recipient, created_at, sent_at, failed_at) values
('mail_a', 'a@b.test', now() - interval '3 hours', null, null),
('mail_a', 'a@b.test', now() - interval '2 hours', null, null),
('mail_b', 'a@b.test', now() - interval '2 days', null, now() - interval '1 day'),
('mail_c', 'a@b.test', now() - interval '1 day', now() - interval '1 hour', null),
('mail_c', 'a@b.test', now() - interval '3 days', now() - interval '3 days', null);
select act_as('olga');
select is(
    (list_jobs() -> 'mail') - 'oldest_waiting', '{"waiting": 2, "failed": 1, "sent_today": 1}'::jsonb, 'mail that waits, was given up, was sent today'
);
select is((list_jobs() #>> '{mail,oldest_waiting}')::timestamptz, now() - interval '3 hours', 'and since when the oldest waits');
select is(list_jobs() #>> '{failed,0,template}', 'mail_b', 'the given-up ones by name');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Members choose their mail
-- =====================================================================================================================
select act_as('anonymous');
select throws_ok('select get_mail_choices()', '42501', null, 'an anonymous client has no mail to choose');
select act_as('freya');
select is(get_mail_choices() -> 0 ->> 'topic', 'bots', 'Freya sees what can be switched off');
select is((get_mail_choices() #>> '{0,wanted}')::boolean, true, 'all of it is wanted until she says otherwise');
select raises($$ select set_mail_choice('money', false) $$, 400, 'invalid_input', 'This email cannot be switched off.', 'money is not among it');
select raises($$ select set_mail_choice('bots', null) $$, 400, 'invalid_input', null, 'a choice is yes or no');
select is((set_mail_choice('bots', false) #>> '{0,wanted}')::boolean, false, 'she switches bots off');
select is((set_mail_choice('bots', false) #>> '{0,wanted}')::boolean, false, 'twice is once');
select act_as('ask');
select is((get_mail_choices() #>> '{0,wanted}')::boolean, true, 'for herself alone');

select act_as_owner();
delete from private.outbox;
delete from public.notifications;
select private.notify_member(user_id('freya'), 'bot_suspended', 'Scout is suspended', 'x', null, '/bots');
select is_empty('select 1 from private.outbox', 'no mail about bots leaves');
select isnt_empty('select 1 from public.notifications', 'the notice in the app is there');
select private.notify_member(user_id('freya'), 'withdrawal_approved', 'Approved', 'x', 100, '/transactions');
select results_eq(
    'select template, data ->> ''topic'' from private.outbox', $$ values ('withdrawal_approved', null::text) $$, 'mail about money does, without a switch'
);
select act_as('freya');
select is((set_mail_choice('bots', true) #>> '{0,wanted}')::boolean, true, 'she switches bots on again');
select act_as_owner();
delete from private.outbox;
select private.notify_member(user_id('freya'), 'bot_active', 'Scout is active', 'x', null, '/bots');
select results_eq('select template, data ->> ''topic'' from private.outbox', $$ values ('bot_active', 'bots') $$, 'and gets mail that says what switches it off');
select results_eq('select topic, wanted from private.mail_choices', $$ values ('bots', true) $$, 'the last choice is kept, once');

-- =====================================================================================================================
-- Mail about earnings is wanted by nobody who has not said so
-- =====================================================================================================================
select act_as('ask');
select is(
    (select jsonb_object_agg(c ->> 'topic', c -> 'wanted') from jsonb_array_elements(get_mail_choices()) as c), '{"bots": true, "earnings": false}'::jsonb,
    'Ask gets mail about bots and none about earnings until he chooses'
);
select act_as_owner();
delete from private.outbox;
select private.notify_member(user_id('ask'), 'bonus_earned', 'You earned $5.00', 'x', 5, '/transactions');
select is_empty('select 1 from private.outbox', 'no mail about a bonus leaves');
select notified('ask', 'bonus_earned', 'the notification in the app is there');
select act_as('ask');
select is((set_mail_choice('earnings', true) #>> '{1,wanted}')::boolean, true, 'he switches it on');
select act_as_owner();
select private.notify_member(user_id('ask'), kind, 'Title', 'x', null, '/dashboard') from unnest(array['bonus_earned', 'referral_joined']) as kind;
select results_eq(
    'select template, data ->> ''topic'' from private.outbox order by id', $$ values ('bonus_earned', 'earnings'), ('referral_joined', 'earnings') $$,
    'and gets mail about both'
);
select is((select count(*) from private.mail_choices where user_id = user_id('freya') and topic = 'earnings'), 0::bigint, 'for himself alone');
select * from finish();
rollback;
