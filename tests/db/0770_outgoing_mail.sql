begin;
\ir ../support/actors.sql
select plan(7);
insert into private.outbox (template, recipient, data, attempts, failed_at, last_error)
values ('test_mail', 'gone@people.test', '{"title": "x"}', 12, now(), 'refused');
create temporary table lost as select id from private.outbox where recipient = 'gone@people.test';
grant select on lost to public;

select act_as('elin');
select refuses($$ select list_jobs() $$, 403, 'forbidden', 'A finance admin cannot do this.', 'finance does not see the outbox');
select refuses($$ select retry_mail(1) $$, 403, 'forbidden', 'A finance admin cannot do this.', 'nor touch it');
select act_as('olga');
select is(list_jobs() #>> '{failed,0,recipient}', 'gone@people.test', 'Olga sees what was given up');
select lives_ok($$ select retry_mail(l.id) from lost as l $$, 'and sends it once more');
select refuses($$ select retry_mail(l.id) from lost as l $$, 404, 'not_found', 'There is no failed mail like this.', 'while it waits there is nothing to retry');
select act_as_owner();
select is((select attempts from private.outbox where recipient = 'gone@people.test'), 0, 'with all its attempts');
select is((select action from private.audit_log order by seq desc limit 1), 'mail.retried', 'on the record');

select * from finish();
rollback;
