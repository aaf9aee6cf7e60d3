begin;
\ir ../support/actors.sql
select * from no_plan();
select lives_ok(format('select %L::public.usd', v), 'money: ' || v) from unnest(array['0', '0.01', '100.50', '-3', '10000000', '1e2']) as v;
select throws_ok(format('select %L::public.usd', v), '23514', null, 'not money: ' || v)
from unnest(array['NaN', 'Infinity', '-Infinity', '0.005', '0.999', '100.000']) as v;
select throws_ok(format('select %L::public.usd', v), '22P02', null, 'not a number: ' || v) from unnest(array['1;drop', '[]', 'true', '１００', '']) as v;
select is(private.money(1234.5), '1234.50', 'JSON money has two decimals');
select is(private.money(0), '0.00', 'JSON money of nothing');
select is(private.dollars(1234.5), '$1,234.50', 'dollars in a sentence');
select is(private.dollars(-0.5), '-$0.50', 'negative dollars in a sentence');
select is(private.ago(now() - d, now()), t, 'ago: ' || t)
from (values (interval '3 seconds', 'just now'), (interval '90 seconds', '1 minute ago'), (interval '5 minutes', '5 minutes ago'),
    (interval '1 hour', '1 hour ago'), (interval '5 hours', '5 hours ago'), (interval '30 hours', '1 day ago'), (interval '9 days', '9 days ago')) as v (d, t);
select refuses($$ select private.refuse(418, 'short_and_stout', 'I''m "a" teapot.') $$, 418, 'short_and_stout', 'I''m "a" teapot.', 'a refusal carries status, code and text');
select * from finish();
rollback;
