begin;
\ir ../support/actors.sql
select plan(7);
delete from private.outbox;
insert into private.outbox (template, recipient) values ('test_mail', 'a@people.test');
create temporary table first_claim as select * from jobs.claim_mail(10);
grant select on first_claim to public;
select is((select count(*) from first_claim), 1::bigint, 'a worker claims a letter');
select ok((select jobs.hand_over_mail(c.id, c.claimed_until) from first_claim as c), 'and may send it');
select ok((select not jobs.hand_over_mail(c.id, c.claimed_until) from first_claim as c), 'once: the lease it had is spent');

update private.outbox set claimed_until = clock_timestamp() - interval '1 second';
create temporary table second_claim as select * from jobs.claim_mail(10);
select is((select count(*) from second_claim), 1::bigint, 'when the lease ended another worker claims it');
select ok((select not jobs.hand_over_mail(c.id, c.claimed_until) from first_claim as c), 'the first one must not send it any more');
select ok((select jobs.hand_over_mail(c.id, c.claimed_until) from second_claim as c), 'the second one does');
update private.outbox set sent_at = now();
select ok((select not jobs.hand_over_mail(o.id, o.claimed_until) from private.outbox as o), 'what was sent is not sent again');

select * from finish();
rollback;
