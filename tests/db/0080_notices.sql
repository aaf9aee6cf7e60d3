begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
select private.tell(user_id('ask'), 'greeting', 'Hello', 'Welcome.', 12.5, '/dashboard');

select act_as('ask');
select is((select title from notifications where kind = 'greeting'), 'Hello', 'a member reads the own notifications');
select throws_ok($$ update notifications set read_at = now() $$, '42501', null, 'and changes them through the function only');
select act_as('freya');
select is_empty($$ select 1 from notifications where kind = 'greeting' $$, 'nobody else reads them');
select act_as('anonymous');
select throws_ok($$ select 1 from notifications $$, '42501', null, 'a visitor reads nothing');

-- The worker
select act_as_owner();
update private.outbox set sent_at = now() where recipient not like 'ask@%';
set local role worker;
select is((select data ->> 'amount' from jobs.claim_mail(5) where template = 'greeting'), '12.50', 'mail is claimed with what it prints');
select is_empty($$ select 1 from jobs.claim_mail(5) $$, 'a claimed row is not claimed again');
reset role;
select lives_ok(format('set local role worker; select jobs.mail_failed(%s, %L)', id, 'no server'), 'a failure is noted') from private.outbox where template = 'greeting' and recipient like 'ask@%';
reset role;
select is((select next_attempt_at > now() and sent_at is null and failed_at is null from private.outbox where template = 'greeting' and recipient like 'ask@%'), true, 'and tried again later');
update private.outbox set attempts = 12 where template = 'greeting' and recipient like 'ask@%';
select lives_ok(format('select jobs.mail_failed(%s, %L)', id, 'no server'), 'the twelfth failure') from private.outbox where template = 'greeting' and recipient like 'ask@%';
select isnt((select failed_at from private.outbox where template = 'greeting' and recipient like 'ask@%'), null, 'is the last');
set local role worker;
select throws_ok($$ select * from private.outbox $$, '42501', null, 'the worker reads no table');

reset role;
insert into private.outbox (template, recipient, sent_at) values ('sent_once', 'ask@people.test', now());
insert into private.outbox (template, recipient, failed_at) values ('given_up', 'ask@people.test', now());
select is_empty($$ select 1 from jobs.claim_mail(1000) where template in ('sent_once', 'given_up') $$, 'what was sent or given up is not claimed');
select * from finish();
rollback;
