-- A long check of the books takes a tenth of the time, and its last answer stands meanwhile.
begin;
\ir ../support/actors.sql
select plan(8);
select family();
select pays('freya', 500);

select is(jobs.check_books(), '{}', 'good books');
create temporary table before as select checked_at, took from private.books_state;
select is(jobs.check_books(), '{}', 'asked again');
select isnt((select checked_at from private.books_state), (select checked_at from before), 'they are checked again at once');
select ok((select took from private.books_state) > interval '0', 'and it is known how long that took');

set local session_replication_role = replica;
update private.profiles set cash_in_amount = cash_in_amount + 1 where user_id = user_id('freya');
set local session_replication_role = origin;
update private.books_state set took = '30 seconds', checked_at = clock_timestamp() - interval '4 minutes';
select is(jobs.check_books(), '{}', 'before its turn the last answer stands');
update private.books_state set checked_at = clock_timestamp() - interval '5 minutes';
select ok(jobs.check_books() ? 'I09', 'when its turn has come the check finds what happened');
update private.books_state set took = '30 seconds', checked_at = clock_timestamp();
select ok(jobs.check_books() ? 'I09', 'and an alarm stands too');
select is((select violations > 0 from private.books_state), true, 'for everybody who looks');
select * from finish();
rollback;
