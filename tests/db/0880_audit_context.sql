begin;
\ir ../support/actors.sql
select plan(9);
-- threats: T130
select act_as_owner();
create function pg_temp.noted(p_actor text, p_payload jsonb default '{}') returns jsonb language plpgsql as $$
begin
    perform private.audit(p_actor, 'test.noted', null, null, p_payload);
    return (select a.payload from private.audit_log as a where a.action = 'test.noted' order by a.seq desc limit 1);
end
$$;
select is(pg_temp.noted('system', '{"n": 1}'), '{"n": 1}', 'without a request nothing is added');
select is(pg_temp.noted('system', null), '{}', 'nor to nothing');
select is(
    pg_temp.noted('admin:' || user_id('elin'), '{"role": "x"}'), '{"role": "x", "actor_role": "finance_admin"}',
    'an administrator''s role stands beside what was noted'
);
update private.admin_users set role = 'support_admin' where id = user_id('elin');
select is(
    (select array_agg(a.payload ->> 'actor_role' order by a.seq) from private.audit_log as a where a.payload ->> 'role' = 'x'), array['finance_admin'],
    'and stays what it was then'
);
select is(pg_temp.noted('admin:' || user_id('elin')), '{"actor_role": "support_admin"}', 'the next row has the new one');

select set_config('request.headers', '{"x-request-id": "4f1a", "x-real-ip": "10.0.0.1"}', true);
select is(pg_temp.noted('member:' || gen_random_uuid()), '{"request_id": "4f1a"}', 'of a request its number is kept');
select set_config('request.headers', jsonb_build_object('x-request-id', repeat('9', 5000))::text, true);
select is(length(pg_temp.noted('system') ->> 'request_id'), 64, 'cut to what the services accept');
select set_config('request.headers', '{}', true);
select is(pg_temp.noted('system'), '{}', 'a request without one has none');
select is_empty($$ select 1 from private.check_books() where rule = 'I26' $$, 'and the chain is whole');
select * from finish();
rollback;
