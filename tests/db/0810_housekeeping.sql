begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
select private.tell(user_id('ask'), 'greeting', 'Old', 'Sent long ago.', null, null), private.tell(user_id('ask'), 'greeting', 'New', 'Not sent yet.', null, null);
update private.outbox set sent_at = now() - interval '31 days' where data ->> 'title' = 'Old';
select private.take('t', 'old', 3, '1 minute'), private.take('t', 'new', 3, '1 minute');
update private.rate_limits set window_start = now() - interval '2 days' where key = 'old';
insert into private.sign_in_failures (kind, key, at) values ('admin_account', 'old', now() - interval '2 days'), ('admin_account', 'new', now());
set local role worker;
select ok(jobs.forget() >= 3, 'the worker forgets what has served its time');
reset role;
select is_empty($$ select 1 from private.outbox where data ->> 'title' = 'Old' union all select 1 from private.rate_limits where key = 'old' union all select 1 from private.sign_in_failures where key = 'old' $$, 'it is gone');
select is((select (select count(*) from private.outbox where data ->> 'title' = 'New') + (select count(*) from private.rate_limits where key = 'new') + (select count(*) from private.sign_in_failures where key = 'new')), 3::bigint, 'the rest stays');
select is_empty($$ select * from private.check_books() $$, 'the books agree');
select * from finish();
rollback;
