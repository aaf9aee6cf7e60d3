-- The administrators' remaining lists say what they said before.
begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
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

select act_as_owner();
select private.audit('system', 'mail.retried', null, null), private.audit('system', 'mail_other.done', null, null),
    private.audit('member:' || user_id('ask'), 'mail.retried_twice', 'profile', profile_id('ask')), private.audit('system', 'mail', null, null);
create function pg_temp.actions(p_actor text, p_action text, p_object uuid) returns text language sql as $$
    select string_agg(a.action, ' ' order by a.seq) from private.audit_page(p_actor, p_action, p_object, 100, 0) as a
$$;
select is(pg_temp.actions(null, 'mail', null), 'mail.retried mail.retried_twice mail', 'an action, and all of its kind');
select is(pg_temp.actions(null, 'mail.retried', null), 'mail.retried', 'not what only begins like it');
select is(pg_temp.actions('system', 'mail', null), 'mail.retried mail', 'of one actor');
select is(pg_temp.actions(null, null, profile_id('ask')), 'mail.retried_twice', 'about one object');
select is(pg_temp.actions(null, $$x' or true --$$, null), null, 'and a text stays a text');
select is((select count(*) from private.audit_page(null, null, null, 3, 1)), 3::bigint, 'page by page');
select * from finish();
rollback;
