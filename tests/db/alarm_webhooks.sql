-- Alarms to the operator's webhook: with each mail about them, once an address is set, and with the same facts.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
create function actors.messages() returns bigint language sql stable as $$ select count(*) from private.alarm_webhooks $$;
update private.alarm_mail_state set mailed_at = null;
savepoint one;

-- =====================================================================================================================
-- What is written
-- =====================================================================================================================
select private.raise_alarm('disk', 'the receipts', null, '{"above": 90, "urgent": true}');
select private.announce_alarms();
select is(messages(), 0::bigint, 'without an address nothing is written');
rollback to savepoint one;
update private.settings set value = '"https://hooks.example/x"' where key = 'alarm.webhook_url';
savepoint addressed;
select private.raise_alarm('disk', 'the receipts', null, '{"above": 90, "urgent": true}');
select private.raise_alarm('ledger_violation', 'I07 x', user_id('freya'), '{}');
select private.announce_alarms();
select is(messages(), 1::bigint, 'what one mail says is one message');
create temporary table written as select w.body, a.value as alarm, a.ordinality as place from private.alarm_webhooks as w cross join jsonb_array_elements(w.body -> 'alarms') with ordinality as a;
select is((select distinct body - 'alarms' from written), '{"title": "2 new alarms", "link": "/admin/alarms"}', 'under the title of the mail');
select is(
    (select alarm - array['id', 'since'] from written where place = 1),
    '{"kind": "ledger_violation", "object": "I07 x", "urgent": false, "stops": "member", "username": "freya", "ended_at": null, "advice": "Mend the rows first where another rule names some. Then rebuild the counters.", "problem": "A member''s totals are not the sums of the bonuses and withdrawals, so the balance is wrong."}',
    'first what stops decisions, with its words'
);
select is(
    (select alarm - array['id', 'since'] from written where place = 2),
    '{"kind": "disk", "object": "the receipts", "urgent": true, "stops": null, "username": null, "ended_at": null, "advice": "Make room before it is full: the product stops then.", "problem": "The disk of the receipts is more than 90% full."}',
    'and whether it is urgent'
);
select ok((select bool_and((w.alarm ->> 'since')::timestamptz = a.raised_at) from written as w inner join private.alarms as a on a.id = (w.alarm ->> 'id')::uuid), 'since when');
select private.raise_alarm('disk', 'the database', null, '{"above": 80}');
select private.announce_alarms();
select is(messages(), 1::bigint, 'no oftener than the mails');
rollback to savepoint addressed;

update private.settings set value = '"TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"' where key = 'deposit.address';
select is((select body ->> 'title' from private.alarm_webhooks), 'The deposit address was changed', 'a changed deposit address goes out at once');
select is((select body #>> '{alarms,0,object}' from private.alarm_webhooks), 'changed', 'with its alarm');
select jobs.check_deposit_address();
select is((select count(*) from private.alarm_webhooks where body ->> 'title' = 'The deposit address is not the expected one' and body #>> '{alarms,0,object}' = 'unexpected'), 1::bigint, 'and an unexpected one');
rollback to savepoint addressed;

-- =====================================================================================================================
-- What the worker is given
-- =====================================================================================================================
select is(jobs.is_webhook_due(), false, 'nothing waits');
insert into private.alarm_webhooks (id, body, created_at) values
('00000000-0000-4000-8000-000000000002', '{"title": "second"}', '2026-01-02 00:00:00+00'), ('00000000-0000-4000-8000-000000000001', '{"title": "first"}', '2026-01-01 00:00:00+00');
set local role worker;
select is(jobs.is_webhook_due(), true, 'a job is needed');
select results_eq(
    'select * from jobs.next_webhook()',
    $$ values ('00000000-0000-4000-8000-000000000001'::uuid, 'https://hooks.example/x', true, '{"id": "00000000-0000-4000-8000-000000000001", "at": "2026-01-01T00:00:00+00:00", "title": "first"}'::jsonb) $$,
    'the oldest message comes first, with its id and its time'
);
select jobs.mark_webhook('00000000-0000-4000-8000-000000000001', 'The response was 500.', false);
select is(jobs.is_webhook_due(), false, 'one that was tried has its job: no other is needed');
select is((select id from jobs.next_webhook()), '00000000-0000-4000-8000-000000000001', 'that sends it again');
select jobs.mark_webhook('00000000-0000-4000-8000-000000000001', null, false);
select is((select id from jobs.next_webhook()), '00000000-0000-4000-8000-000000000002', 'what was sent is not sent again');
select is(jobs.is_webhook_due(), true, 'and the next one needs a job');
select jobs.mark_webhook('00000000-0000-4000-8000-000000000002', repeat('x', 300), true);
select is_empty('select * from jobs.next_webhook()', 'what was given up is not tried again');
select is(jobs.is_webhook_due(), false, 'and needs none');
reset role;
select results_eq(
    'select sent_at is not null, failed_at is not null, length(last_error) from private.alarm_webhooks order by created_at',
    $$ values (true, false, null), (false, true, 200) $$, 'how each ended is noted'
);
update private.alarm_webhooks set failed_at = null, tried_at = null;
update private.settings set value = 'null' where key = 'alarm.webhook_url';
select is_empty('select * from jobs.next_webhook()', 'without an address nothing is sent any more');
select is(jobs.is_webhook_due(), false, 'nor is a job needed');
update private.alarm_webhooks set created_at = now() - interval '31 days' where id = '00000000-0000-4000-8000-000000000001';
update private.alarm_webhooks set created_at = now() - interval '29 days' where id = '00000000-0000-4000-8000-000000000002';
select jobs.purge();
select is((select array_agg(id) from private.alarm_webhooks), array['00000000-0000-4000-8000-000000000002'::uuid], 'a month later it is purged');

select * from finish();
rollback;
