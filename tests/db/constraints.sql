-- Every constraint and unique index, each broken alone and rejected by its own name, with the triggers of the tables
-- out of the way: what stands when a function is wrong. The list is closed: a new constraint needs its line here.
-- threats: T44
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
select pays('freya', 500); select pays('ask', 500); select pays('embla', 500);
select claims_deposit('buri', 50);
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address)
values (auth.uid(), 200, wallets.of('freya')), (auth.uid(), 100, wallets.of('freya'));
insert into lesson_progress (user_id, lesson_id) values (auth.uid(), 'packages');
select act_as('elin');
select decide_withdrawal(id, 'approve') from withdrawals where amount = 200;
select act_as('olga');
select propose_correction('set_package', profile_id('buri'), 1000, 'Promised.');
select propose_correction('set_package', profile_id('ask'), 1000, 'Promised.');
create temporary table confirmed as select (propose_correction('set_package', profile_id('embla'), 1000, 'Promised.') #>> '{correction,id}')::uuid as id;
grant select on confirmed to public;
select mark_admin_notices_read();
select act_as('elin');
select confirm_correction(id) from confirmed;
select act_as_owner();
select edge.subscribe_bot(user_id('freya'), gen_random_uuid(), b, 'server', 'login', 8, 'key', 'secret') from unnest(array['Scout', 'Ranger']) as b;
insert into private.known_admin_addresses (admin_id, address_hash, seen_at) values (user_id('olga'), 'x', now());
select edge.record_admin_sign_in('nobody@admins.test', '192.0.2.1', false);
select private.consume_rate_limit('bucket', 'key', 1, '1 hour');
select private.link_entries();
insert into private.alarms (kind, object) values ('disk', 'state'), ('disk', 'database');
insert into private.alarm_webhooks (body) values ('{}');
insert into private.mail_choices (user_id, topic, wanted) values (user_id('freya'), 'bots', false);
insert into private.username_reservations (username, email, until) values ('one', 'one@x.test', now()), ('two', 'two@x.test', now());
insert into private.coverage_days (day, figures, taken_at, decision_no, pending_ids) values ('2020-01-01', '{}', now(), 0, '{}');
insert into private.income_disclosures (computed_at, body, decision_no) values (now(), '{}', 0);
insert into private.deposit_rests (deposit_id, no, received_amount, asked_by, asked_at)
select id, 1, 60, user_id('elin'), now() from deposits where user_id in (user_id('buri'), user_id('freya'));
insert into private.networks (no) select no from private.positions where user_id = user_id('freya') on conflict do nothing;
insert into private.network_deltas (no, day) select no, '2020-01-01' from private.positions limit 1;
insert into private.team_days (no, day) select no, '2020-01-01' from private.positions limit 1;
insert into private.earning_days (no, day) select no, '2020-01-01' from private.positions limit 1;

create table actors.broken (name text, on_table regclass, change text, row_where text default 'true');
insert into actors.broken (on_table, name, change) values
('private.admin_notice_reads', 'admin_notice_reads_admin_id_fkey', 'admin_id = gen_random_uuid()'),
('private.admin_notices', 'admin_notices_body_check', 'body = '''''),
('private.admin_notices', 'admin_notices_body_check', 'body = repeat(''x'', 4001)'),
('private.admin_notices', 'admin_notices_kind_check', 'kind = ''No kind'''),
('private.admin_notices', 'admin_notices_title_check', 'title = '''''),
('private.admin_notices', 'admin_notices_title_check', 'title = repeat(''x'', 201)'),
('private.known_admin_addresses', 'known_admin_addresses_admin_id_fkey', 'admin_id = gen_random_uuid()'),
('private.admin_session_activity', 'admin_session_activity_session_token_fkey', 'session_token = gen_random_uuid()'),
('private.admin_session_activity', 'jti_hash_is_sha256', 'jti_hash = ''short'''),
('private.alarm_mail_state', 'alarm_mail_state_only_row_check', 'only_row = false'),
('private.alarm_webhooks', 'alarm_webhooks_body_check', 'body = ''[]'''),
('private.alarms', 'alarms_acknowledged_by_fkey', 'acknowledged_by = gen_random_uuid(), acknowledged_at = now(), reason = ''Seen.'''),
('private.alarms', 'alarms_acknowledged_check', 'reason = ''Seen.'''),
('private.alarms', 'alarms_details_check', 'details = ''[]'''),
('private.alarms', 'alarms_kind_check', 'kind = ''other'''),
('private.alarms', 'alarms_object_check', 'object = '''''),
('private.alarms', 'alarms_object_check', 'object = repeat(''x'', 201)'),
('private.alarms', 'alarms_open_key', 'object = (select object from private.alarms order by ctid desc limit 1)'),
('private.alarms', 'alarms_reason_check', 'acknowledged_by = actors.user_id(''elin''), acknowledged_at = now(), reason = '''''),
('private.alarms', 'alarms_reason_check', 'acknowledged_by = actors.user_id(''elin''), acknowledged_at = now(), reason = repeat(''x'', 1001)'),
('private.admin_users', 'admin_users_email_check', 'email = ''Upper@x.test'''),
('private.admin_users', 'admin_users_email_check', 'email = ''no address'''),
('private.admin_users', 'admin_users_full_name_check', 'full_name = '''''),
('private.admin_users', 'admin_users_password_hash_check', 'password_hash = ''plain'''),
('private.admin_users', 'totp_confirmed_has_secret', 'totp_confirmed_at = now()'),
('private.admin_users', 'totp_secret_has_key_id', 'totp_secret = ''secret'''),
('private.admin_users', 'admin_users_email_key', 'email = (select email from private.admin_users order by ctid desc limit 1)'),
('private.audit_log', 'audit_log_action_check', 'action = ''No action'''),
('private.audit_log', 'audit_log_actor_check', 'actor = ''nobody'''),
('private.audit_chain', 'audit_chain_entry_key', 'entry_id = (select entry_id from private.audit_chain order by seq desc limit 1)'),
('private.audit_chain', 'audit_chain_entry_id_fkey', 'entry_id = 0'),
('private.audit_state', 'audit_state_only_row_check', 'only_row = false'),
('private.backup_state', 'backup_state_only_row_check', 'only_row = false'),
('private.earnings_state', 'earnings_state_only_row_check', 'only_row = false'),
('private.ledger_check_state', 'ledger_check_state_only_row_check', 'only_row = false'),
('private.ledger_changes', 'ledger_changes_one_check', 'user_id = null, no = null'),
('private.ledger_changes', 'ledger_changes_one_check', 'user_id = gen_random_uuid(), no = 1'),
('private.bot_secrets', 'bot_secrets_subscription_id_fkey', 'subscription_id = gen_random_uuid()'),
('private.corrections', 'confirmed_or_discarded', 'confirmed_by = actors.user_id(''elin''), confirmed_at = now(), confirmed_in = pg_current_xact_id(), decision_no = 1, discarded_by = actors.user_id(''elin''), discarded_at = now()'),
('private.corrections', 'corrections_discarded_by_fkey', 'discarded_by = gen_random_uuid(), discarded_at = now()'),
('private.corrections', 'discard_is_complete', 'discarded_at = now()'),
('private.corrections', 'confirmation_is_complete', 'confirmed_at = now()'),
('private.corrections', 'confirmation_is_complete', 'confirmed_by = actors.user_id(''elin''), confirmed_at = now()'),
('private.corrections', 'confirmation_is_complete', 'confirmed_by = actors.user_id(''elin''), confirmed_at = now(), confirmed_in = pg_current_xact_id()'),
('private.corrections', 'corrections_decision_no_key', 'confirmed_by = actors.user_id(''elin''), confirmed_at = now(), confirmed_in = pg_current_xact_id(), decision_no = (select decision_no from private.corrections where decision_no is not null)'),
('private.corrections', 'corrections_kind_check', 'kind = ''undo'', value = null'),
('private.corrections', 'corrections_reason_check', 'reason = '''''),
('private.corrections', 'corrections_reason_check', 'reason = repeat(''x'', 1001)'),
('private.corrections', 'only_packages_have_a_value', 'value = null'),
('private.corrections', 'only_packages_have_a_value', 'kind = ''void_deposit'''),
('private.corrections', 'only_repairs_restore_rows', 'restores = ''[]'''),
('private.corrections', 'confirmer_is_not_proposer', 'confirmed_by = proposed_by, confirmed_at = now(), confirmed_in = pg_current_xact_id(), decision_no = 1'),
('private.corrections', 'corrections_confirmed_by_fkey', 'confirmed_by = gen_random_uuid(), confirmed_at = now(), confirmed_in = pg_current_xact_id(), decision_no = 1'),
('private.corrections', 'corrections_proposed_by_fkey', 'proposed_by = gen_random_uuid()'),
('private.corrections', 'corrections_user_id_fkey', 'user_id = gen_random_uuid()'),
('private.corrections', 'corrections_waiting_key', 'target_id = (select target_id from private.corrections where confirmed_by is null order by ctid desc limit 1)'),
('private.coverage_days', 'coverage_days_figures_check', 'figures = ''[]'''),
('private.coverage_days', 'a_day_says_what_it_saw', 'decision_no = null'),
('private.coverage_days', 'a_day_says_what_it_saw', 'pending_ids = null'),
('private.income_disclosures', 'a_disclosure_says_what_it_saw', 'decision_no = null'),
('private.transfer_keys', 'transfer_keys_key_check', 'key = '''''),
('private.transfer_keys', 'transfer_keys_key_check', 'key = repeat(''x'', 201)'),
('private.transfer_keys', 'transfer_keys_kind_check', 'kind = ''other'''),
('private.last_decision', 'last_decision_no_check', 'no = -1'),
('private.last_decision', 'last_decision_only_row_check', 'only_row = false'),
('private.deposit_receipts', 'deposit_receipts_deposit_id_fkey', 'deposit_id = gen_random_uuid()'),
('private.deposit_receipts', 'deposit_receipts_name_key', 'name = (select name from private.deposit_receipts order by ctid desc limit 1)'),
('private.deposit_rests', 'a_reference_has_its_time', 'reference_number = ''x'''),
('private.deposit_rests', 'a_reference_has_its_time', 'referenced_at = now()'),
('private.deposit_rests', 'deposit_rests_asked_by_fkey', 'asked_by = gen_random_uuid()'),
('private.deposit_rests', 'deposit_rests_deposit_id_fkey', 'deposit_id = gen_random_uuid()'),
('private.deposit_rests', 'deposit_rests_no_check', 'no = 0'),
('private.deposit_rests', 'deposit_rests_open_key', 'no = 2, deposit_id = (select deposit_id from private.deposit_rests order by ctid desc limit 1)'),
('private.deposit_rests', 'deposit_rests_received_amount_check', 'received_amount = 0'),
('private.deposit_rests', 'deposit_rests_reference_number_check', 'reference_number = '''', referenced_at = now()'),
('private.mail_choices', 'mail_choices_topic_fkey', 'topic = ''none'''),
('private.mail_choices', 'mail_choices_user_id_fkey', 'user_id = gen_random_uuid()'),
('private.mail_topics', 'mail_topics_label_check', 'label = '''''),
('private.mail_topics', 'mail_topics_topic_check', 'topic = ''No topic'''),
('private.networks', 'networks_no_fkey', 'no = 0'),
('private.team_days', 'team_days_no_fkey', 'no = 0'),
('private.earning_days', 'earning_days_no_fkey', 'no = 0'),
('private.outbox', 'outbox_recipient_check', 'recipient = ''no address'''),
('private.outbox', 'outbox_template_check', 'template = ''No template'''),
('private.packages', 'packages_pairing_percent_check', 'pairing_percent = 51'),
('private.packages', 'packages_pairing_percent_check', 'pairing_percent = 0'),
('private.packages', 'packages_value_check', 'value = 0'),
('private.packages', 'packages_value_check', 'value = 50.5'),
('private.packages', 'packages_label_key', 'label = ''VIP Package'''),
('private.positions', 'positions_check', 'paid_cents = 1'),
('private.positions', 'positions_child_no_check', 'referrer_no = no, child_no = 0'),
('private.positions', 'positions_children_check', 'children = -1'),
('private.positions', 'positions_package_cents_check', 'package_cents = -1, paid_cents = 0'),
('private.positions', 'roots_have_no_child_no', 'referrer_no = null, child_no = 1'),
('private.positions', 'roots_have_no_child_no', 'referrer_no = no, child_no = null'),
('private.positions', 'positions_referrer_no_fkey', 'referrer_no = 0, child_no = 1000'),
('private.positions', 'positions_user_id_fkey', 'user_id = gen_random_uuid()'),
('private.positions', 'positions_user_id_key', 'user_id = (select user_id from private.positions order by ctid desc limit 1)'),
('private.profiles', 'a_hold_has_a_reason', 'hold_until = now(), hold_reason = null'),
('private.profiles', 'no_self_referral', 'referrer_id = id, depth = 1'),
('private.profiles', 'profiles_admin_notes_check', 'admin_notes = repeat(''x'', 4001)'),
('private.profiles', 'profiles_cash_in_amount_check', 'cash_in_amount = -1'),
('private.profiles', 'profiles_depth_check', 'depth = -1, referrer_id = gen_random_uuid()'),
('private.profiles', 'profiles_display_name_check', 'display_name = '''''),
('private.profiles', 'profiles_display_name_check', 'display_name = repeat(''x'', 81)'),
('private.profiles', 'profiles_email_check', 'email = ''x'''),
('private.profiles', 'profiles_email_check', 'email = repeat(''x'', 256)'),
('private.profiles', 'profiles_hold_reason_check', 'hold_until = now(), hold_reason = ''mood'''),
('private.profiles', 'profiles_package_value_check', 'package_value = -1'),
('private.profiles', 'profiles_package_value_check', 'package_value = 10000001'),
('private.profiles', 'profiles_trc20_wallet_address_check', 'trc20_wallet_address = '' T'''),
('private.profiles', 'profiles_trc20_wallet_address_check', 'trc20_wallet_address = repeat(''x'', 129)'),
('private.profiles', 'profiles_username_check', 'username = ''a b'''),
('private.profiles', 'only_roots_have_depth_zero', 'referrer_id = null, depth = 1'),
('private.profiles', 'profiles_jump_fkey', 'jump = gen_random_uuid()'),
('private.profiles', 'profiles_package_size_fkey', 'package_value = 60'),
('private.profiles', 'profiles_referrer_id_fkey', 'referrer_id = gen_random_uuid(), depth = 1'),
('private.profiles', 'profiles_user_id_key', 'user_id = (select user_id from private.profiles order by ctid desc limit 1)'),
('private.profiles', 'profiles_username_key', 'username = (select upper(username) from private.profiles order by ctid desc limit 1)'),
('private.rate_limits', 'rate_limits_bucket_check', 'bucket = repeat(''x'', 64)'),
('private.rate_limits', 'rate_limits_key_check', 'key = repeat(''x'', 256)'),
('private.reconcile_state', 'reconcile_state_only_row_check', 'only_row = false'),
('private.settings', 'settings_key_check', 'key = ''No key'''),
('private.settings', 'settings_kind_check', 'kind = ''float'''),
('private.sign_in_failures', 'sign_in_failures_key_check', 'key = repeat(''x'', 256)'),
('private.sign_in_failures', 'sign_in_failures_kind_check', 'kind = ''anybody'''),
('private.totals', 'totals_user_id_fkey', 'user_id = gen_random_uuid()'),
('private.username_reservations', 'username_reservations_key', 'username = (select upper(username) from private.username_reservations order by ctid desc limit 1)'),
('public.admin_sessions', 'admin_sessions_admin_id_fkey', 'admin_id = gen_random_uuid()'),
('public.bonuses', 'amount_is_rate_of_volume', 'amount = amount + 1'),
('public.bonuses', 'bonuses_amount_check', 'volume = 1000000000, rate = 50, amount = 500000000'),
('public.bonuses', 'bonuses_rate_check', 'volume = 1, rate = 500, amount = 5'),
('public.bonuses', 'bonuses_volume_check', 'volume = -100, rate = 0, amount = 0'),
('public.bonuses', 'no_bonus_from_oneself', 'source_user_id = user_id'),
('public.bonuses', 'pairs_have_a_number', 'pair_number = 1, bonus_type = ''referral'''),
('public.bonuses', 'bonuses_source_user_id_fkey', 'source_user_id = gen_random_uuid()'),
('public.bonuses', 'bonuses_subject_no_fkey', 'subject_no = 0'),
('public.bonuses', 'bonuses_user_id_fkey', 'user_id = gen_random_uuid()'),
('public.bot_subscriptions', 'bot_subscriptions_bot_name_check', 'bot_name = ''Other'''),
('public.bot_subscriptions', 'bot_subscriptions_mt5_login_check', 'mt5_login = '''''),
('public.bot_subscriptions', 'bot_subscriptions_mt5_password_length_check', 'mt5_password_length = 257'),
('public.bot_subscriptions', 'bot_subscriptions_mt5_server_check', 'mt5_server = '''''),
('public.bot_subscriptions', 'bot_subscriptions_user_id_fkey', 'user_id = gen_random_uuid()'),
('public.bot_subscriptions', 'bot_subscriptions_running_key', 'bot_name = (select bot_name from public.bot_subscriptions order by ctid desc limit 1)'),
('public.deposits', 'a_rejection_has_a_reason', 'status = ''rejected'', admin_notes = '''''),
('public.deposits', 'deposits_admin_notes_check', 'admin_notes = repeat(''x'', 1001)'),
('public.deposits', 'deposits_amount_check', 'amount = 0.99'),
('public.deposits', 'deposits_amount_check', 'amount = 10000000.01'),
('public.deposits', 'deposits_decided_by_matches_status', 'decided_by = null, decision_no = null'),
('public.deposits', 'an_administrators_decision_has_a_number', 'decision_no = null'),
('public.deposits', 'deposits_kind_check', 'kind = ''gift'''),
('public.deposits', 'deposits_receipt_url_check', 'receipt_url = '''''),
('public.deposits', 'deposits_reference_key_check', 'reference_key = '''''),
('public.deposits', 'deposits_reference_number_check', 'reference_number = '''''),
('public.deposits', 'only_approved_has_arrived', 'status = ''rejected'', admin_notes = ''x'', received_amount = amount'),
('public.deposits', 'what_arrived_is_near_the_claim', 'received_amount = amount + 10.01'),
('public.deposits', 'what_arrived_is_near_the_claim', 'amount = 50, received_amount = 44.99'),
('public.deposits', 'what_arrived_is_near_the_claim', 'amount = 1, received_amount = 0'),
('public.deposits', 'only_approved_is_voided', 'status = ''rejected'', admin_notes = ''x'', voided_at = now()'),
('public.deposits', 'pending_is_undecided', 'decided_at = null'),
('public.deposits', 'deposits_decided_by_fkey', 'decided_by = gen_random_uuid()'),
('public.deposits', 'deposits_user_id_fkey', 'user_id = gen_random_uuid()'),
('public.lesson_progress', 'lesson_progress_lesson_id_check', 'lesson_id = ''No lesson'''),
('public.lesson_progress', 'lesson_progress_user_id_fkey', 'user_id = gen_random_uuid()'),
('public.notifications', 'notifications_body_check', 'body = '''''),
('public.notifications', 'notifications_kind_check', 'kind = ''No kind'''),
('public.notifications', 'notifications_link_check', 'link = ''https://elsewhere.example'''),
('public.notifications', 'notifications_title_check', 'title = '''''),
('public.notifications', 'notifications_user_id_fkey', 'user_id = gen_random_uuid()'),
('public.transactions', 'transactions_amount_check', 'amount = 0'),
('public.transactions', 'transactions_amount_check', 'amount = -10000001'),
('public.transactions', 'transactions_user_id_fkey', 'user_id = gen_random_uuid()'),
('public.withdrawals', 'withdrawals_admin_notes_check', 'admin_notes = repeat(''x'', 1001)'),
('public.withdrawals', 'withdrawals_amount_check', 'amount = 99.99'),
('public.withdrawals', 'withdrawals_amount_check', 'amount = 10000000.01'),
('public.withdrawals', 'withdrawals_wallet_address_check', 'wallet_address = '''''),
('public.withdrawals', 'withdrawals_wallet_address_check', 'wallet_address = repeat(''x'', 129)'),
('public.withdrawals', 'withdrawals_user_id_fkey', 'user_id = gen_random_uuid()'),
('public.withdrawals', 'a_rejection_has_a_reason', 'status = ''rejected'', decided_at = now(), admin_notes = '''''),
('public.withdrawals', 'an_administrators_decision_has_a_number', 'decision_no = 1'),
('public.withdrawals', 'withdrawals_decided_by_matches_status', 'decided_by = actors.user_id(''elin''), decision_no = 1, status = ''pending'', decided_at = null');
insert into actors.broken (on_table, name, change, row_where) values
('private.positions', 'positions_referrer_child_key', 'referrer_no = (select referrer_no from private.positions where child_no = 2), child_no = 2', 'child_no = 1'),
('public.bonuses', 'bonuses_pair_number_check', 'pair_number = 0', 'bonus_type = ''pairing'''),
('public.bonuses', 'bonuses_referral_key', 'subject_no = (select max(subject_no) from public.bonuses where bonus_type = ''referral'')', 'bonus_type = ''referral'' and subject_no <> (select max(subject_no) from public.bonuses where bonus_type = ''referral'')'),
('public.bonuses', 'bonuses_pairing_key', 'bonus_type = ''pairing'', pair_number = 1, subject_no = (select subject_no from public.bonuses where bonus_type = ''pairing'')', 'bonus_type = ''override'''),
('public.bonuses', 'bonuses_override_key', 'bonus_type = ''override'', pair_number = 1, subject_no = (select subject_no from public.bonuses where bonus_type = ''override'')', 'bonus_type = ''pairing'''),
('public.transactions', 'transactions_source_key', 'reference_id = (select reference_id from public.transactions where transaction_type = ''deposit'' order by ctid desc limit 1)', 'transaction_type = ''deposit'''),
('public.withdrawals', 'a_payout_has_its_time', 'payout_reference = ''x''', 'status = ''approved'''),
('public.withdrawals', 'a_payout_has_its_time', 'payout_at = now()', 'status = ''approved'''),
('public.withdrawals', 'only_approved_is_paid', 'payout_reference = ''x'', payout_at = now()', 'status = ''pending'''),
('public.withdrawals', 'only_unpaid_is_voided', 'payout_reference = ''x'', payout_at = now(), voided_at = now()', 'status = ''approved'''),
('public.withdrawals', 'only_unpaid_is_voided', 'voided_at = now()', 'status = ''pending'''),
('public.withdrawals', 'pending_is_undecided', 'decided_at = null', 'status = ''approved'''),
('public.withdrawals', 'withdrawals_payout_reference_check', 'payout_reference = '''', payout_at = now()', 'status = ''approved'''),
('public.withdrawals', 'withdrawals_decided_by_fkey', 'decided_by = gen_random_uuid()', 'status = ''approved''');

create function actors.breaks(p_broken actors.broken) returns text language plpgsql as $$
declare
    v_found text := 'nothing';
    v_rows integer;
begin
    begin
        execute format('update %1$s set %2$s where ctid = (select min(ctid) from %1$s where %3$s)', (p_broken).on_table, (p_broken).change, (p_broken).row_where);
        get diagnostics v_rows = row_count;
        v_found := format('nothing, %s rows changed', v_rows);
    exception when integrity_constraint_violation then
        get stacked diagnostics v_found = constraint_name;
    end;
    return is(v_found, (p_broken).name, format('%s: %s', (p_broken).on_table, (p_broken).change));
end
$$;
do $$
begin
    execute (select string_agg(format('alter table %s disable trigger user', t), '; ') from (select distinct on_table as t from actors.broken) as b);
end
$$;
select breaks(b) from actors.broken as b;

-- The list is closed. The domain is tried where money is (common.sql); cents are made of the value, whose key comes
-- first, and a pair and its side of a child's number, whose key does. What a partition has from its table is that table's.
select is_empty(
    $$ select k.conrelid::regclass::text, k.conname::text from pg_constraint as k
    where k.connamespace in ('public'::regnamespace, 'private'::regnamespace) and k.contype in ('c', 'u', 'f', 'x')
        and k.conislocal and k.conparentid = 0 and k.conrelid <> 0 and k.conname <> 'packages_value_cents_key'
    union
    select i.indrelid::regclass::text, c.relname::text from pg_index as i inner join pg_class as c on c.oid = i.indexrelid
    where i.indisunique and not i.indisprimary and c.relname not in ('packages_value_cents_key', 'positions_left_key', 'positions_right_key')
        and c.relnamespace in ('public'::regnamespace, 'private'::regnamespace)
    except select b.on_table::text, b.name from actors.broken as b $$, 'every constraint is tried here'
);
select * from finish();
rollback;
