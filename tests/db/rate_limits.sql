-- Rate limits of attempts, and for how long failures are remembered.
-- threats: T16
begin;
\ir ../support/actors.sql
select * from no_plan();

select is(private.consume_rate_limit('t', 'k', 3, '1 minute'), expected, 'hit ' || n) from (values (1, true), (2, true), (3, true), (4, false), (5, false)) as v (n, expected);
select is(private.consume_rate_limit('t', 'other', 3, '1 minute'), true, 'another key has a share of its own');
update private.rate_limits set window_start = window_start - interval '2 minutes' where bucket = 't';
select is(private.consume_rate_limit('t', 'k', 3, '1 minute'), true, 'the next window starts anew');
select act_as('anonymous');
select is((select count(*) from generate_series(1, 30) where is_username_available('freja')), 30::bigint, 'an anonymous client may look up thirty names');
select raises($$ select is_username_available('freja') $$, 429, 'too_many_requests', 'Too many requests. Wait a few minutes and try again.', 'the thirty-first is rejected');
-- PostgREST hands on what the operator set.
select set_config('app.settings.username_limit', '32', true), set_config('app.settings.referrer_limit', '2', true);
select act_as('anonymous');
select is((select count(*) from generate_series(1, 2) where is_username_available('freja')), 2::bigint, 'with a limit of thirty-two they may look up two more');
select raises($$ select is_username_available('freja') $$, 429, 'too_many_requests', 'Too many requests. Wait a few minutes and try again.', 'the thirty-third is rejected');
select is((select count(*) from generate_series(1, 2) where get_sponsor('nobody') is not null), 2::bigint, 'and two sponsors');
select raises($$ select get_sponsor('nobody') $$, 429, 'too_many_requests', 'Too many requests. Wait a few minutes and try again.', 'no third one');
select act_as_owner();
select is((select relpersistence from pg_class where oid = 'private.sign_in_failures'::regclass), 'p'::"char", 'failed sign-ins survive a crash');
select * from finish();
rollback;
