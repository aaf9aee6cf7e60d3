-- Backups are reported, late ones are an alarm, and a restored copy decides and sends nothing until that is acknowledged.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
create function actors.open_backup_alarms() returns text language sql stable security definer as $$
    select string_agg(a.object, ', ' order by a.object) from private.alarms as a where a.kind = 'backup' and a.ended_at is null
$$;
-- What the schedule would report, all of it of now, except what is named.
create function actors.report(p_other jsonb default '{}') returns jsonb language sql as $$
    select jobs.check_backups(
        jsonb_build_object('at', now(), 'database_at', now(), 'files_at', now(), 'proven_at', now(), 'failures', '{}'::jsonb) || p_other
    )
$$;
savepoint start;

-- =====================================================================================================================
-- Late backups
-- =====================================================================================================================
select is(jobs.check_backups(null), null, 'a demo without backups');
select is(open_backup_alarms(), null, 'is no alarm');
select ok(not coalesce(private.are_backups_made(), false), 'and not ready for real money');
update private.settings set value = 'false' where key = 'demo';
select jobs.check_backups(null);
select is(open_backup_alarms(), 'off', 'with real money it is');
select is((select noticed_at is not null from private.alarms where kind = 'backup' and ended_at is null), true, 'which administrators are notified of at once');
select is(report('{"failures": {"database": "no room"}}'), '{"database": "no room"}', 'what failed is logged');
select is(open_backup_alarms(), null, 'backups that are made end it');
select ok(private.are_backups_made(), 'made and tried they are kept');

select report(jsonb_build_object('database_at', now() - interval '35 hours', 'files_at', now() - interval '14 minutes', 'proven_at', now() - interval '39 days'));
select is(open_backup_alarms(), null, 'not quite late');
select ok(private.are_backups_made(), 'still kept');
select report(jsonb_build_object('database_at', now() - interval '37 hours'));
select is(open_backup_alarms(), 'database', 'a database that was not backed up for a day and a half');
select ok(not private.are_backups_made(), 'is not kept');
select is(
    (select (private.alarm_texts(a)).problem from private.alarms as a where a.kind = 'backup' and a.ended_at is null),
    'The last backup of the database is of ' || to_char((now() - interval '37 hours') at time zone 'UTC', 'FMDD Mon YYYY HH24:MI') || ' UTC.', 'in words'
);
select report(jsonb_build_object('files_at', now() - interval '16 minutes'));
select is(open_backup_alarms(), 'files', 'files that are not known to be there for a quarter of an hour');
select ok(not private.are_backups_made(), 'are not kept either');
select report(jsonb_build_object('proven_at', now() - interval '41 days'));
select is(open_backup_alarms(), 'proof', 'a backup that nobody tried for forty days');
select ok(not private.are_backups_made(), 'is not relied on');
select report(jsonb_build_object('at', now() - interval '11 minutes'));
select ok(not private.are_backups_made(), 'a schedule that reports nothing any more keeps nothing');
select report('{"database_at": null, "files_at": null, "proven_at": null}');
select is(open_backup_alarms(), null, 'the first ones take their time');
select ok(not coalesce(private.are_backups_made(), false), 'until then there are none');
update private.backup_state set since = now() - interval '41 days';
select report('{"database_at": null, "files_at": null, "proven_at": null}');
select is(open_backup_alarms(), 'database, files, proof', 'but not for ever');
select is(
    (select string_agg((private.alarm_texts(a)).problem, ' ' order by a.object) from private.alarms as a where a.kind = 'backup' and a.ended_at is null),
    'No backup of the database was finished yet. Receipts and keys are not known to be in the backups yet. No backup was restored to try it for more than forty days.',
    'each says what lacks'
);
update private.backup_state set database_at = now() - interval '9 minutes';
select report('{"database_elsewhere": true}');
select is(open_backup_alarms(), null, 'a database elsewhere whose new primary has archived nothing yet is as far as the one before came');
select ok(private.are_backups_made(), 'and kept');
update private.backup_state set database_at = now() - interval '11 minutes';
select report('{"database_elsewhere": true}');
select is(open_backup_alarms(), 'database', 'but one that archives nothing is late');
select jobs.check_backups(null);
select is((select since from private.backup_state), null, 'switched off, nothing is known of them');
rollback to savepoint start;

-- =====================================================================================================================
-- A restored copy
-- =====================================================================================================================
select pays('freya', 500);
select pays('ask', 500);
create temporary table requests as select claims_deposit('ask', 600) as deposit;
grant select on requests to public;
insert into private.outbox (template, recipient) values ('test_mail', 'held@example.com');
update private.settings set value = '"https://hooks.example.com/a"' where key = 'alarm.webhook_url';
select private.queue_webhook('A new alarm', '{}');
select ok(jobs.is_mail_due(), 'mail is due');
select ok(jobs.is_webhook_due(), 'so is a webhook message');
select ok(not private.is_copy(), 'an original');
select private.mark_restored();
select ok(private.is_copy(), 'a copy knows that it is one');
select ok(not jobs.is_mail_due(), 'sends no mail');
select ok(not jobs.is_webhook_due(), 'and no webhook message');
select is_empty('select * from jobs.next_webhook()', 'not even by a job that waited');
select is((select count(*) from jobs.lease_mail(10)), 0::bigint, 'whoever asks for it');
select act_as('elin');
select raises(
    format('select decide_deposit(%L, ''approve'')', deposit), 409, 'ledger_alarm',
    'Nothing can be decided now: this is a copy that was restored from a backup. See Alarms: a super admin acknowledges it there when it takes over.',
    'and makes no decision'
) from requests;
select act_as('olga');
select is((list_alarms() -> 'items' -> 0 ->> 'stops'), 'everybody', 'which its alarm says');
select acknowledge_alarm((list_alarms() -> 'items' -> 0 ->> 'id')::uuid, 'The original is gone.');
select act_as_owner();
select ok(not private.is_copy(), 'until a super administrator says that it takes over');
select ok((select ended_at is not null from private.alarms where kind = 'restored'), 'for good');
select ok(jobs.is_mail_due(), 'then mail is sent');
select act_as('elin');
select is(decide_deposit(deposit, 'approve') ->> 'success', 'true', 'and decisions are made') from requests;
select act_as_owner();
select is(private.last_moment(), (select max(at) from private.audit_log), 'how far it goes is the last thing that was done');
select * from finish();
rollback;
