-- Alarms: one is open for each kind and object, and an acknowledgement holds for what was acknowledged.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();

-- =====================================================================================================================
-- One open alarm for each kind and object
-- =====================================================================================================================
create function actors.alarms(p_object text) returns text language sql stable as $$
    select string_agg(
        concat_ws(' ', a.details ->> 'rows', case when a.acknowledged_at is not null then 'acknowledged' end, case when a.ended_at is null then 'open' else 'ended' end),
        ', ' order by a.raised_at
    ) from private.alarms as a where a.object = p_object
$$;
select ok(private.raise_alarm('repair', 'one', user_id('freya'), '{"rows": 1}'), 'a first sighting is news');
create temporary table first_sighting as select raised_at, changed_at, last_seen from private.alarms where object = 'one';
select ok(not private.raise_alarm('repair', 'one', user_id('freya'), '{"rows": 1}'), 'the same once more is not');
select is(alarms('one'), '1 open', 'seen again as it was, it is the same alarm');
select results_eq(
    $$ select a.raised_at = f.raised_at, a.changed_at = f.changed_at, a.last_seen > f.last_seen from private.alarms as a, first_sighting as f where a.object = 'one' $$,
    $$ values (true, true, true) $$, 'that was seen later'
);
update private.alarms set mailed_at = now() where object = 'one';
select ok(private.raise_alarm('repair', 'one', user_id('freya'), '{"rows": 2}'), 'a change is');
select is((select mailed_at from private.alarms where object = 'one'), null, 'to be told anew');
select is(alarms('one'), '2 open', 'other figures change it');
select ok((select a.raised_at = f.raised_at and a.changed_at > f.changed_at from private.alarms as a, first_sighting as f where a.object = 'one'), 'not when it began');
select private.raise_alarm('repair', 'one', user_id('ask'), '{"rows": 2}');
select is((select user_id from private.alarms where object = 'one'), user_id('ask'), 'so does another member');
select private.raise_alarm('disk', 'one', null, '{"rows": 3}');
select is(alarms('one'), '2 open, 3 open', 'another kind is another alarm');
select throws_ok($$ insert into private.alarms (kind, object) values ('disk', 'one') $$, '23505', null, 'two are never open');

-- Acknowledged: until it changes.
update private.alarms set acknowledged_at = now(), acknowledged_by = user_id('elin'), reason = 'Understood.' where kind = 'disk' and object = 'one';
delete from private.alarms where kind = 'repair';
select private.raise_alarm('disk', 'one', null, '{"rows": 3}');
select is(alarms('one'), '3 acknowledged open', 'an acknowledged one that does not change stays acknowledged');
select private.raise_alarm('disk', 'one', null, '{"rows": 4}');
select is(alarms('one'), '3 acknowledged ended, 4 open', 'one that changes is a new alarm, and the old one is history');
select private.raise_alarm('disk', 'two', null, '{}');
select private.end_alarm('disk', 'one');
select is(alarms('two'), 'open', 'an end is the end of one');
select private.raise_alarm('disk', 'one', null, '{"rows": 4}');
select is(alarms('one'), '3 acknowledged ended, 4 ended, 4 open', 'one that comes back is a new alarm');
select throws_ok($$ select private.raise_alarm('no_such_kind', 'one', null, '{}') $$, '23514', null, 'an unknown kind is an error');

select * from finish();
rollback;
