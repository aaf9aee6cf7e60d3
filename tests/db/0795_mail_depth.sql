begin;
\ir ../support/actors.sql
select plan(3);

update private.outbox set sent_at = now() where sent_at is null;
insert into private.outbox (template, recipient, data) values ('greeting', 'a@people.test', '{}'), ('greeting', 'b@people.test', '{}');
insert into private.outbox (template, recipient, data, failed_at) values ('greeting', 'c@people.test', '{}', now());
select results_eq(
    'select state, depth from jobs.count_mail() order by state desc',
    $$ values ('todo', 2::bigint), ('failed', 1::bigint) $$,
    'what waits and what was given up'
);
update private.outbox set sent_at = now() where sent_at is null;
select is((select sum(depth) from jobs.count_mail()), 0::numeric, 'nothing when all is sent');
select ok(not has_function_privilege('authenticated', 'jobs.count_mail()', 'execute'), 'for the worker alone');

select * from finish();
rollback;
