begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
select pays('freya', 500); select pays('ask', 500); select pays('embla', 500); select pays('ask', 1000);
create function actors.fingerprint() returns text language sql stable as $$
    select md5(string_agg(b::text || b.xmin::text || b.ctid::text, '' order by b.id)) from public.bonuses as b
$$;

-- A member, an administrator, nobody else
select act_as('freya');
select ok((sync_bonuses() #>> '{summary,totalBonuses}')::bigint >= 5 and (sync_bonuses() ->> 'success')::boolean, 'a member may ask for the sync');
select act_as('elin');
select ok((sync_bonuses() ->> 'success')::boolean, 'an administrator too');
select act_as('anonymous');
select throws_ok('select sync_bonuses()', '42501', null, 'a visitor not');

-- Nothing changes when all is right
select act_as_owner();
create temporary table before as select fingerprint() as print, (select count(*) from public.transactions) as journal, (select count(*) from private.audit_log) as audited;
select is(private.reconcile(), 0, 'a run finds nothing to repair');
select is(fingerprint(), (select print from before), 'and touches no row');
select is((select count(*) from public.transactions), (select journal from before), 'writes no journal row');
select is((select count(*) from private.audit_log), (select audited from before), 'and no audit row');

-- One run at a time, none when nothing was posted
update private.reconcile_state set ran_at = now() - interval '1 hour';
select private.reconcile_once();
select ok((select ran_at < now() - interval '59 minutes' from private.reconcile_state), 'nothing posted since the last run: no run');
select nextval('private.postings');
select private.reconcile_once();
select ok((select ran_at > now() - interval '1 minute' from private.reconcile_state), 'something posted: one run');
select nextval('private.postings');
update private.reconcile_state set ran_at = clock_timestamp() - interval '5 seconds';
select private.reconcile_once();
select ok((select ran_at < clock_timestamp() - interval '4 seconds' from private.reconcile_state), 'at most one in ten seconds');

-- A planted corruption is found, repaired by the difference, and audited
create temporary table ids as select id, created_at from public.bonuses;
set local session_replication_role = replica;
update public.bonuses set amount = 1, volume = 2.50, rate = 40 where bonus_type = 'pairing' and user_id = user_id('freya');
delete from public.transactions where reference_id in (select id from public.bonuses where bonus_type = 'referral' and source_user_id = user_id('embla'));
delete from public.bonuses where bonus_type = 'referral' and source_user_id = user_id('embla');
set local session_replication_role = origin;
select is((select count(*) from private.wrong_bonuses), 2::bigint, 'a wrong and a missing row are found');
select is(private.reconcile(), 2, 'and repaired');
select is_empty($$ select * from private.wrong_bonuses $$, 'then all is right');
select is((select amount::numeric from public.bonuses where bonus_type = 'pairing' and user_id = user_id('freya')), 600.00, 'the amount is what the tree says');
select is((select count(*) from ids inner join public.bonuses using (id, created_at)), (select count(*) - 1 from ids), 'no other row was replaced');
select is((select (payload ->> 'rows')::integer from private.audit_log where action = 'books.repaired' order by seq desc limit 1), 2, 'the repair is audited');
select is(private.reconcile(), 0, 'a second run finds nothing');

-- A bonus that is too high is lowered, and only by the repair
set local session_replication_role = replica;
update public.bonuses set amount = 6000, volume = 15000, rate = 40 where bonus_type = 'pairing' and user_id = user_id('freya');
set local session_replication_role = origin;
select is(private.reconcile(), 1, 'a bonus that is too high is repaired too');
select refuses($$ update public.bonuses set amount = 0, volume = 0 where bonus_type = 'pairing' $$, 403, 'append_only', 'A bonus only rises. A correction can lower it.', 'after the repair a bonus only rises again');

-- Asking for the sync makes the run
select nextval('private.postings');
update private.reconcile_state set ran_at = now() - interval '1 hour';
select act_as('freya');
select ok((sync_bonuses() ->> 'success')::boolean, 'a member asks');
select act_as_owner();
select ok((select ran_at > now() - interval '1 minute' from private.reconcile_state), 'and a run is made');
select refuses('select sync_bonuses()', 401, 'not_authenticated', 'Not authenticated', 'nobody in particular does not ask');
select * from finish();
rollback;
