-- The worker's queue lies in a schema of its own, which no other role may use.
begin;
\ir ../support/actors.sql
select * from no_plan();

select ok(has_schema_privilege('worker', 'procrastinate', 'USAGE, CREATE'), 'the worker installs its queue in a schema of its own');
select ok(not has_schema_privilege('worker', 'private', 'USAGE'), 'and sees nothing of the tables');
select ok(not has_schema_privilege('worker', 'public', 'CREATE'), 'nor makes anything elsewhere');
select ok(not has_schema_privilege(r, 'procrastinate', 'USAGE'), r || ' has no business in the queue')
from unnest(array['authenticated', 'edge_functions']) as r;
select * from finish();
rollback;
