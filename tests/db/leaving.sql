-- Leaving: who may download a member's data and close an account, what the data hold, and what stays without a
-- confirmation.
-- threats: T134 T135
begin;
\ir ../support/actors.sql
select * from no_plan();
-- What functions/edge does: the member's claims, then its own role.
create function actors.act_at_edge_as(p_name text, p_signed_in interval default '0') returns void language plpgsql as $$
begin
    perform actors.act_as(p_name);
    perform set_config('request.jwt.claims', (actors.claims(p_name) || jsonb_build_object(
        'amr', jsonb_build_array(jsonb_build_object('method', 'password', 'timestamp', floor(extract(epoch from now() - p_signed_in))))
    ))::text, true);
    set local role edge_functions;
end
$$;
grant execute on function actors.act_at_edge_as(text, interval) to public;

select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- Closing
-- =====================================================================================================================
select act_at_edge_as('ask', interval '11 minutes');
select raises(format('select edge.start_closing(%L, true)', user_id('ask')), 403, 'reauthentication_needed', 'Sign in again to close your account.', 'an old sign-in closes nothing');
select act_at_edge_as('ask');
select is(edge.start_closing(user_id('ask'), null), jsonb_build_object('user_id', user_id('ask')), 'a recent one does; without money nothing needs a confirmation');
select raises('select edge.start_closing(gen_random_uuid(), true)', 404, 'profile_not_found', 'Failed to load profile data', 'who is no member has nothing to close');
select act_as('ask');
select throws_ok(format('select edge.start_closing(%L, true)', user_id('ask')), '42501', null, 'only the functions ask that');
select act_as_owner();
select is((select closed_at from private.profiles where user_id = user_id('ask')), null, 'nothing is closed by asking');

-- Freya earns 5% of Ask's package and asks for more.
select pays('freya', 1000);
select pays('ask', 1000), pays('embla', 1000);
select act_as('freya');
insert into public.withdrawals (user_id, amount, wallet_address) values (user_id('freya'), 150, wallets.of('freya'));
select act_as_owner();
create temporary table asked as select claims_deposit('freya', 75.50) as deposit;
select act_at_edge_as('freya');
select raises(
    format('select edge.start_closing(%L, false)', user_id('freya')), 409, 'money_left',
    'Closing this account gives up $950.00 that can still be withdrawn, pending withdrawals of $150.00 and pending deposits of $75.50. Confirm to close it anyway.',
    'what would be given up is said first'
);
select act_as_owner();
select is(
    private.money_left(user_id('freya')), '{"available": "1100.00", "requestable": "950.00", "pending_withdrawals": "150.00", "pending_deposits": "75.50"}',
    'with figures for the screen'
);
select act_at_edge_as('freya');
select raises(format('select edge.start_closing(%L, null)', user_id('freya')), 409, 'money_left', null, 'nothing said is no confirmation');
select is(edge.start_closing(user_id('freya'), true), jsonb_build_object('user_id', user_id('freya')), 'a confirmation is enough');

-- Each kind of money alone is a reason to ask.
select act_as_owner();
select claims_deposit('buri', 50);
select is(private.money_left(user_id('buri')) ->> 'pending_deposits', '50.00', 'a deposit that waits');
select act_at_edge_as('buri');
select raises(format('select edge.start_closing(%L, false)', user_id('buri')), 409, 'money_left', null, 'asks for a confirmation');
select act_at_edge_as('ymir');
select raises(
    format('select edge.start_closing(%L, false)', user_id('ymir')), 409, 'money_left',
    'Closing this account gives up $70.00 that can still be withdrawn, pending withdrawals of $0.00 and pending deposits of $0.00. Confirm to close it anyway.',
    'so does a balance below the smallest withdrawal'
);

-- An administrator, for a member who asks
select act_as('elin');
select raises(format($$ select start_member_closing(%L, 'x', true) $$, profile_id('freya')), 403, 'forbidden', 'A finance admin cannot do this.', 'Elin closes no account');
select act_as('sam');
select raises(format($$ select start_member_closing(%L, 'x', true) $$, profile_id('freya')), 403, 'forbidden', 'A support admin cannot do this.', 'nor does Sam');
select act_as('freya');
select throws_ok(format($$ select start_member_closing(%L, 'x', true) $$, profile_id('ask')), '42501', null, 'nor a member somebody else''s');
select act_as('olga');
select raises($$ select start_member_closing(gen_random_uuid(), 'x', true) $$, 404, 'not_found', 'There is no such member.', 'whom nobody knows');
select raises(format($$ select start_member_closing(%L, ' ', true) $$, profile_id('freya')), 400, 'reason_required', 'Give a reason.', 'Olga gives a reason');
select raises(format($$ select start_member_closing(%L, 'Asked by mail', false) $$, profile_id('freya')), 409, 'money_left', null, 'and confirms too');
select act_as_owner();
select is_empty($$ select from private.audit_log where action = 'member.closing_started' $$, 'until then nothing is on record');
select act_as('olga');
select signed_in_before('olga', '10 minutes 1 second');
select raises(
    format($$ select start_member_closing(%L, 'Asked by mail', true) $$, profile_id('freya')), 403, 'reauthentication_needed',
    'Sign in again to close a member''s account: your last sign-in is more than ten minutes old.', 'and signs in again'
);
select signed_in_before('olga', '9 minutes');
select is(start_member_closing(profile_id('freya'), ' Asked by mail ', true), jsonb_build_object('user_id', user_id('freya')), 'then the auth service is asked');
select act_as_owner();
select is(
    (select a.payload - 'actor_role' from private.audit_log as a where a.action = 'member.closing_started' and a.actor = 'admin:' || user_id('olga') and a.object_id = profile_id('freya')),
    '{"reason": "Asked by mail", "money_left": {"available": "1100.00", "requestable": "950.00", "pending_withdrawals": "150.00", "pending_deposits": "75.50"}}',
    'the record says why, and what is given up'
);
delete from auth.users where id = user_id('freya');
select is((select status::text from public.deposits where id = (select deposit from asked)), 'rejected', 'the account is closed');
select is(
    (select a.payload -> 'money_left' ->> 'pending_withdrawals' from private.audit_log as a where a.action = 'member.closed' and a.object_id = profile_id('freya')),
    '150.00', 'and so says its own record'
);
select is(
    (select array_agg(distinct a.actor) from private.audit_log as a where a.action in ('member.closed', 'deposit.cancelled', 'withdrawal.cancelled')),
    array['admin:' || user_id('olga')], 'Olga closed it and took back what waited, and no record says that Freya did'
);
select is_empty($$ select * from private.check_ledger() where rule in ('I45', 'I46') $$, 'which the ledger checks know');
select results_eq(
    $$ select o.recipient, o.data ->> 'body' from private.outbox as o where o.template = 'account_closed' $$,
    $$ values ('freya@people.test', 'You can no longer sign in. Pending requests were cancelled. If this was not you, contact support.') $$,
    'the last mail goes to the address that is no longer stored'
);
select act_as('olga');
select is(start_member_closing(profile_id('freya'), 'Again', true), '{"already": true}', 'a repeat finds it closed');
select act_as_owner();
select is((select count(*) from private.audit_log where action = 'member.closing_started'), 1::bigint, 'and records nothing more');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- The data
-- =====================================================================================================================
select act_at_edge_as('freya', interval '11 minutes');
select raises(format('select edge.start_data_download(%L)', user_id('freya')), 403, 'reauthentication_needed', 'Sign in again to download your data.', 'an old sign-in downloads nothing');
select act_at_edge_as('freya');
select raises('select edge.start_data_download(gen_random_uuid())', 404, 'profile_not_found', 'Failed to load profile data', 'nor does who is no member');
select is(edge.start_data_download(user_id('freya')), jsonb_build_object('user_id', user_id('freya')), 'a recent one does');
select notified('freya', 'data_downloaded', 'Freya is notified');
select act_as_owner();
select is((select a.payload from private.audit_log as a where a.action = 'member.data_downloaded' and a.actor = 'member:' || user_id('freya')), '{}', 'it is on record');
select act_at_edge_as('freya');
select lives_ok(format('select edge.start_data_download(%L) from generate_series(2, 10)', user_id('freya')), 'ten times a day');
select raises(
    format('select edge.start_data_download(%L)', user_id('freya')), 429, 'too_many_requests', 'You have downloaded data many times today. Try again tomorrow.', 'and not more'
);
select act_at_edge_as('ask');
select lives_ok(format('select edge.start_data_download(%L)', user_id('ask')), 'Ask has ten of his own');
select act_as('freya');
select throws_ok(format('select edge.start_data_download(%L)', user_id('freya')), '42501', null, 'only the functions start one');
select throws_ok(format('select * from edge.member_data(%L)', user_id('freya')), '42501', null, 'and read it');
select throws_ok(format($$ select start_member_data_download(%L, 'x') $$, profile_id('freya')), '42501', null, 'no member asks as an administrator does');

select act_as('sam');
select raises(format($$ select start_member_data_download(%L, 'x') $$, profile_id('freya')), 403, 'forbidden', 'A support admin cannot do this.', 'Sam reads no receipts, so no data');
select act_as('elin');
select raises($$ select start_member_data_download(gen_random_uuid(), 'x') $$, 404, 'not_found', 'There is no such member.', 'of nobody there is nothing');
select raises(format($$ select start_member_data_download(%L, '') $$, profile_id('embla')), 400, 'reason_required', 'Give a reason.', 'Elin gives a reason');
select act_as_owner();
update private.profiles set account_status = 'suspended' where user_id = user_id('embla');
select act_as('elin');
select signed_in_before('elin', '10 minutes 1 second');
select raises(
    format($$ select start_member_data_download(%L, 'Asked by mail') $$, profile_id('embla')), 403, 'reauthentication_needed',
    'Sign in again to download a member''s data: your last sign-in is more than ten minutes old.', 'and signs in again'
);
select signed_in_before('elin', '9 minutes');
select is(start_member_data_download(profile_id('embla'), 'Asked by mail'), jsonb_build_object('user_id', user_id('embla')), 'a suspended member gets the data too');
select notified('embla', 'data_downloaded', 'and is notified');
select act_as_owner();
select is(
    (select a.payload ->> 'reason' from private.audit_log as a where a.action = 'member.data_downloaded' and a.actor = 'admin:' || user_id('elin') and a.object_id = profile_id('embla')),
    'Asked by mail', 'with the reason on record'
);
update private.rate_limits set hits = 50 where bucket = 'data_download' and key = 'admin:' || user_id('elin');
select act_as('elin');
select raises(format($$ select start_member_data_download(%L, 'x') $$, profile_id('embla')), 429, 'too_many_requests', null, 'fifty a day for an administrator');
select act_as('olga');
select lives_ok(format($$ select start_member_data_download(%L, 'x') $$, profile_id('embla')), 'a super admin has the same right');
rollback to savepoint fixture_members;

-- Something in every list
select pays('freya', 1000), pays('ask', 1000), pays('embla', 1000);
select act_as('freya');
insert into public.withdrawals (user_id, amount, wallet_address) values (user_id('freya'), 150, wallets.of('freya'));
insert into public.lesson_progress (user_id, lesson_id) values (user_id('freya'), 'pairs');
select set_mail_choice('bots', false), set_mail_choice('earnings', true);
select act_at_edge_as('freya');
select edge.subscribe_bot(user_id('freya'), gen_random_uuid(), 'Scout', 'Demo-1', '4711', 8, 'k1', 'secret');
select act_as_owner();
update private.profiles set admin_notes = 'Called twice' where user_id in (user_id('freya'), user_id('ask'));
insert into auth.mfa_factors (id, user_id, friendly_name, factor_type, status, secret, created_at, updated_at)
values (gen_random_uuid(), user_id('freya'), 'phone', 'totp', 'verified', 'TOTPSECRET', now(), now());
insert into private.deposit_rests (deposit_id, no, received_amount, asked_by, asked_at, ended_at)
select d.id, 1, 40, user_id('elin'), now(), now() from public.deposits as d where d.user_id = user_id('freya');
update auth.sessions set user_agent = 'Browser', ip = '203.0.113.9' where user_id = user_id('freya');
set local timezone = 'America/New_York';
create temporary table data as select d.list, d.item from edge.member_data(user_id('freya')) as d;
select results_eq(
    'select distinct list collate "C" from data order by 1',
    $$ select unnest(array['activity', 'authenticators', 'bonuses', 'deposit_rests', 'deposits', 'direct_referrals', 'lessons', 'mail_opt_ins', 'mail_opt_outs', 'notifications', 'profile',
    'receipts', 'sessions', 'subscriptions', 'transactions', 'withdrawals']) collate "C" $$, 'every list is there'
);
select is(
    (select item - array['id', 'user_id', 'created_at', 'email_confirmed_at', 'hold_until', 'hold_reason'] from data where list = 'profile'),
    jsonb_build_object(
        'username', 'freya', 'display_name', 'Freya', 'email', 'freya@people.test', 'trc20_wallet_address', wallets.of('freya'),
        'account_status', 'active', 'account_verified', true, 'package_value', '1000.00', 'cash_in_amount', '1000.00', 'bonus_amount', '1100.00',
        'reentry_amount', '110.00', 'withdrawn_amount', '0.00', 'reserved_amount', '150.00', 'available_balance', '1100.00', 'sponsor_username', 'ymir',
        'sponsor_display_name', 'Ymir', 'last_sign_in_at', null, 'closed_at', null,
        'sign_up_data', jsonb_build_object('username', 'freya', 'display_name', 'Freya', 'referrer_id', profile_id('ymir'))
    ), 'the profile with its sums'
);
select is(
    (select jsonb_agg(item - array['id', 'created_at']) from data where list = 'direct_referrals'),
    '[{"username": "ask", "display_name": "Ask", "package_value": "1000.00"}, {"username": "embla", "display_name": "Embla", "package_value": "1000.00"}, {"username": "buri", "display_name": "Buri", "package_value": "0.00"}]',
    'direct referrals as the team page shows them'
);
select is(
    (select jsonb_agg(item - array['id', 'created_at'] order by item ->> 'bonus_type', item ->> 'source_username') from data where list = 'bonuses'),
    '[{"bonus_type": "pairing", "amount": "1000.00", "rate": "50.00", "volume": "2000.00", "reentry_amount": "100.00", "pair_number": 1, "source_username": "embla"},
    {"bonus_type": "referral", "amount": "50.00", "rate": "5.00", "volume": "1000.00", "reentry_amount": "5.00", "pair_number": null, "source_username": "ask"},
    {"bonus_type": "referral", "amount": "50.00", "rate": "5.00", "volume": "1000.00", "reentry_amount": "5.00", "pair_number": null, "source_username": "embla"}]',
    'bonuses with their reasons'
);
select is(
    (select item - array['id', 'created_at'] from data where list = 'withdrawals'),
    jsonb_build_object('wallet_address', wallets.of('freya')) || '{"amount": "150.00", "status": "pending", "admin_notes": null, "payout_reference": null, "decided_at": null, "payout_at": null, "voided_at": null}',
    'the withdrawal'
);
select is((select item ->> 'name' from data where list = 'receipts'), (select item ->> 'receipt_name' from data where list = 'deposits'), 'the receipt by its name');
select is((select item - array['created_at'] from data where list = 'sessions'), '{"refreshed_at": null, "aal": "aal1", "user_agent": "Browser", "ip": "203.0.113.9"}', 'where Freya is signed in');
select is((select item ->> 'name' from data where list = 'authenticators'), 'phone', 'the authenticator');
select results_eq(
    $$ select list, item ->> 'topic' from data where list like 'mail_opt%' order by 1 $$, $$ values ('mail_opt_ins', 'earnings'), ('mail_opt_outs', 'bots') $$,
    'which mail Freya chose, and which not'
);
select is((select item -> 'details' ->> 'bot' from data where list = 'activity' and item ->> 'action' = 'bot.subscribed'), 'Scout', 'what Freya did');
select is_empty(
    $$ select from data where item::text ~ 'Called twice|TOTPSECRET|secret|admins\.test|(ask|embla|buri|ymir)@people\.test|encrypted|decided_by' $$,
    'no secret, no administrator, no other member''s address'
);
select is_empty(
    format($$ select from data where list not in ('direct_referrals', 'bonuses', 'profile') and item::text ~ %L $$, concat_ws('|', user_id('ask'), user_id('embla'), profile_id('ask'), profile_id('ymir'))),
    'no other member''s id but of those whom Freya sees'
);
select is_empty(
    $$ select from data, jsonb_each_text(item) as f where f.key ~ '(_at|since)\Z' and f.value !~ '\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00\Z' $$,
    'times are ISO 8601 in UTC, whatever the session''s zone'
);
select is_empty(
    $$ select from data, jsonb_each(item) as f where f.key ~ '(amount|value|balance|volume)\Z' and jsonb_typeof(f.value) not in ('string', 'null') $$, 'money is text'
);
-- Each table with rows about a member is in a list or named below, and so is each column of those in a list: withheld
-- are secrets, administrators, other members, computed figures, and what a list says in another way.
create temporary table exported (relation regclass, list text, withheld text[]);
insert into exported values
('private.profiles', 'profile', '{referrer_id,package_size,package_approved,admin_notes,depth,jump,revision}'),
('private.totals', 'profile', '{referral_amount,referral_count,pairing_amount,pairing_count,override_amount,override_count,requestable_amount}'),
('public.deposits', 'deposits', '{user_id,receipt_url,decided_by,reference_key,decision_no}'),
('private.deposit_rests', 'deposit_rests', '{asked_by,ended_at}'),
('public.withdrawals', 'withdrawals', '{user_id,decided_by,decision_no}'),
('public.bonuses', 'bonuses', '{user_id,source_user_id,amount_cents,subject_no}'),
('public.transactions', 'transactions', '{user_id,decision_no}'),
('public.notifications', 'notifications', '{user_id}'),
('public.bot_subscriptions', 'subscriptions', '{user_id,mt5_password_length}'),
('public.lesson_progress', 'lessons', '{user_id}'),
('private.mail_choices', 'mail_opt_ins', '{user_id,at,wanted}'),
('private.audit_log', 'activity', '{id,actor,payload,hash}'),
('auth.sessions', 'sessions', '{id,user_id,updated_at,factor_id,not_after,tag,oauth_client_id,refresh_token_hmac_key,refresh_token_counter,scopes}'),
(
    'auth.mfa_factors', 'authenticators',
    '{id,user_id,friendly_name,factor_type,updated_at,secret,phone,last_challenged_at,web_authn_credential,web_authn_aaguid,last_webauthn_challenge_data}'
);
select is_empty(
    $$
    select c.oid::regclass
    from pg_class as c
    inner join pg_attribute as a on a.attrelid = c.oid and a.attname = 'user_id' and not a.attisdropped
    where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace in ('public'::regnamespace, 'private'::regnamespace)
        and c.oid not in (select relation from exported)
        and c.relname not in (
            -- A place in the tree, and what journal rows and notifications tell.
            'positions', 'corrections',
            -- What is wrong with the ledger, for administrators, and who is looked at within the minute.
            'alarms', 'ledger_changes'
        )
    $$, 'no table of members'' rows is left out'
);
select results_eq(
    $$ select e.relation::text collate "C", a.attname::text collate "C" from exported as e inner join pg_attribute as a on e.relation = a.attrelid
    where a.attnum > 0 and not a.attisdropped and not exists (select from data as d where d.list = e.list and d.item ? a.attname) order by 1, 2 $$,
    $$ select e.relation::text collate "C", w collate "C" from exported as e cross join unnest(e.withheld) as w order by 1, 2 $$,
    'every other column of theirs is exported'
);
select * from finish();
rollback;
