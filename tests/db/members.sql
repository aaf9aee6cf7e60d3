-- A member's profile: who sees and changes what of it, the place in the tree, how far an account is, the stored sums,
-- and what stays when an account is closed.
-- threats: T10 T03 T04 T17 T44
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- Reading and changing a profile
-- =====================================================================================================================
-- A member
select act_as('freya');
select is((select email from profiles where username = 'freya'), 'freya@people.test', 'a member sees the own row in full');
select bag_eq(
    $$ select username from profiles $$, $$ values ('freya'), ('ymir'), ('ask'), ('embla'), ('buri') $$,
    'a member sees oneself, the referrer and the downline, no other member'
);
select is_empty(
    $$ select 1 from profiles where username <> 'freya' and coalesce(email, cash_in_amount::text, available_balance::text, trc20_wallet_address,
        account_verified::text, account_status::text, admin_notes, package_approved::text) is not null $$,
    'what is private of others is null'
);
select is_empty($$ select 1 from profiles where email like 'ask%' $$, 'a filter on a masked column finds nothing');
select is((select count(*) from profiles where package_value = 0), 5::bigint, 'the package of the line is visible');
select throws_ok($$ select * from private.profiles $$, '42501', null, 'the table itself cannot be named');
select throws_ok($$ insert into profiles (username) values ('x') $$, '42501', null, 'a member cannot add a profile');
select throws_ok($$ delete from profiles $$, '42501', null, 'a member cannot delete a profile');
select throws_ok(format('update profiles set %I = %L', c, v), '42501', null, 'a member cannot write ' || c)
from (values ('package_value', '1000'), ('cash_in_amount', '1000'), ('available_balance', '1'), ('package_approved', 'true'),
    ('account_verified', 'true'), ('account_status', 'active'), ('admin_notes', 'x'), ('referrer_id', null), ('created_at', '2020-01-01'),
    ('id', null), ('user_id', null)) as w (c, v);
select lives_ok($$ update profiles set username = 'Freya_2', display_name = ' Freya T ' $$, 'a member without a filter changes only the own row');
select is((select display_name from profiles where username = 'Freya_2'), 'Freya T', 'names are trimmed');
select lives_ok($$ update profiles set username = 'hacked' where username = 'ask' $$, 'another member''s row is not an error ...');
select raises($$ update profiles set username = 'ASK' where user_id = auth.uid() $$, 409, 'username_taken',
    'Username already exists. Please choose a different username.', 'a name is taken whatever its spelling');
select raises($$ update profiles set username = '' $$, 400, 'fields_required', 'Please fill in all required fields', 'a name is needed');
select raises($$ update profiles set display_name = ' ' $$, 400, 'fields_required', 'Please fill in all required fields', 'a display name is needed');
select raises($$ update profiles set email = null $$, 400, 'fields_required', 'Please fill in all required fields', 'an address is needed');
select raises(format('update profiles set display_name = %L', repeat('x', 81)), 400, 'invalid_display_name',
    'A name has at most 80 characters, on one line.', 'a display name has a limit');
select raises($$ update profiles set email = 'ask@people.test' $$, 422, 'confirm_email_change',
    'Change your email address first, then confirm it from your mailbox.', 'an unconfirmed address is rejected');
select lives_ok($$ update profiles set email = 'FREYA@people.test' $$, 'the present address passes');
select is((select email from profiles where username = 'Freya_2'), 'freya@people.test', 'and changes nothing');
select raises($$ update profiles set trc20_wallet_address = ' ' $$, 400, 'wallet_required', 'Wallet address required', 'a wallet cannot be emptied');
select lives_ok($$ update profiles set trc20_wallet_address = 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8' $$, 'a fresh sign-in may change the wallet');
select is((select trc20_wallet_address from profiles where username = 'Freya_2'), 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8', 'the new wallet is stored');
select set_config('request.jwt.claims', jsonb_set(claims('freya'), '{amr,0,timestamp}', to_jsonb(extract(epoch from now() - interval '11 minutes')))::text, true);
select raises($$ update profiles set trc20_wallet_address = 'TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf' $$, 403, 'reauthentication_needed',
    'Sign in again to change your wallet address.', 'an old sign-in may not replace a wallet');

-- Names that may not be chosen
select act_as('buri');
select raises(format('update profiles set username = %L', n), 400, 'invalid_username', 'A username has 3 to 30 characters: letters, digits and underscores only.', 'rejected: ' || n)
from unnest(array['ab', 'a b', 'аdmin', E'buri\n', 'x-y', repeat('a', 31), 'naïve']) as n;
select raises(format('update profiles set username = %L', n), 400, 'invalid_username', 'This username is reserved. Please choose a different username.', 'reserved: ' || n)
from unnest(array['Admin', 'support', 'closed_12345678', '___', 'ADMIN1', '0fficial_support', 'official_x', 'x_admin_y', 'x_4dmin_Team2', 'Harborline_2026']) as n;
select lives_ok(format('update profiles set username = %L', n), n || ' is a name')
from unnest(array[repeat('a', 30), 'administrative', 'supporter_1', 'x_admina', '123', '1_2']) as n;
select act_as_owner();
update private.profiles set username = 'x_ADMIN_1' where user_id = user_id('buri');
select act_as('buri');
select lives_ok($$ update profiles set username = 'x_ADMIN_1', display_name = 'Buri' $$, 'who has such a name keeps it');

-- A stranger, an anonymous client
select act_as('loke');
select bag_eq($$ select username from profiles $$, $$ values ('loke') $$, 'a stranger sees none of them');
select act_as('anonymous');
select throws_ok($$ select 1 from profiles $$, '42501', null, 'an anonymous client has no table');

-- An administrator
select act_as('sam');
select is((select email from profiles where username = 'ask'), 'ask@people.test', 'an administrator sees everyone in full');
select throws_ok($$ update profiles set username = 'x' $$, '42501', null, 'and writes no profile over REST');

-- The owner of the database: what was really left behind
select act_as_owner();
select is((select count(*) from private.profiles where username in ('ask', 'hacked') and user_id = user_id('ask')), 1::bigint, '... and nothing changed');
select is((select username from private.profiles where user_id = user_id('ask')), 'ask', 'the other member keeps the name');
select isnt((select hold_until from private.profiles where user_id = user_id('freya')), null, 'a replaced wallet holds withdrawals');
select is((select count(*) from private.outbox where recipient = 'freya@people.test' and template = 'wallet_changed'), 1::bigint, 'and mails the member');
select ok(
    (select body from public.notifications where user_id = user_id('freya') and kind = 'wallet_changed') like '%You can request one now; it cannot be approved for 24 hours.%',
    'with what that means'
);
select is((select hold_until from private.profiles where user_id = user_id('ask')), null, 'the first wallet holds nothing');
select raises(format('update private.profiles set referrer_id = %L where user_id = %L', profile_id('loke'), user_id('ask')), 403, 'immutable', 'A member''s id, sponsor and place in the tree never change.', 'even the owner cannot move a member');
select raises($$ delete from private.profiles $$, 403, 'append_only', 'Rows of profiles are kept as they are.', 'a profile is never deleted');
select raises($$ insert into private.profiles (user_id, username, display_name, referrer_id, depth, jump)
    values (gen_random_uuid(), 'orphan', 'o', gen_random_uuid(), 0, gen_random_uuid()) $$, 400, 'invalid_referral_code', 'Invalid referral code', 'a sponsor exists first');
select results_eq(
    $$ select child_no, pair_no, is_left from private.positions where referrer_no = position_no('freya') order by child_no $$,
    $$ values (1, 1, true), (2, 1, false), (3, 2, true) $$, 'children are numbered without gaps and paired in order'
);

-- The jump pointers agree with a walk up, in a chain with branches
do $$
declare v_parent uuid := actors.profile_id('loke'); v_id uuid;
begin
    for i in 1..200 loop
        v_id := private.create_profile(gen_random_uuid(), 'chain' || i || '@people.test', 'chain_' || i, 'c', v_parent);
        if i % 7 > 0 then v_parent := v_id; end if;
    end loop;
end
$$;
select is_empty(
    $$ with recursive up as (
        select p.id, p.referrer_id as above from private.profiles as p where p.username like 'chain\_%'
        union all select u.id, p.referrer_id from up as u inner join private.profiles as p on p.id = u.above where p.referrer_id is not null
    ), truth as (select id, above from up where above is not null)
    select 1 from private.profiles as p cross join private.profiles as a
    where p.username like 'chain\_%' and a.username like 'chain\_%' and mod(hashtext(p.username || a.username), 5) = 0
        and private.is_in_downline(p.referrer_id, p.jump, p.depth, a.id, a.depth) <> exists (select 1 from truth as t where t.id = p.id and t.above = a.id) $$,
    'is_in_downline agrees with a walk up the tree'
);

-- Wallets, as strict as the operator wants them
select act_as('embla');
select raises(format('update profiles set trc20_wallet_address = %L', w), 400, 'invalid_wallet', 'This is not a wallet address. Check it and try again.', 'no wallet: ' || left(w, 9))
from unnest(array[repeat('T', 129), E'T\x01']) as w;
select lives_ok($$ update profiles set trc20_wallet_address = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u' $$, 'an address with a typing error is only warned of');
select act_as_owner();
update private.settings set value = 'true' where key = 'wallet.strict';
select act_as('embla');
select raises($$ update profiles set trc20_wallet_address = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj61' $$, 422, 'invalid_wallet', 'This is not a TRC20 address. Check it character by character.', 'unless the operator is strict');
select act_as_owner();
select audited('member.wallet_changed', 'a change of wallet');
select notified('embla', 'wallet_changed', 'and told to the member');
select is((select hold_reason from private.profiles where user_id = user_id('embla')), 'wallet', 'and holds withdrawals');

-- Two who take one name at once: both find it free, the index lets one of them have it
select act_as_owner();
insert into private.username_reservations (username, email, until) values ('reserved_one', 'other@people.test', now() + interval '1 hour');
select act_as('buri');
select raises($$ update profiles set username = 'Reserved_One' $$, 409, 'username_taken', 'Username already exists. Please choose a different username.', 'a name reserved by a sign-up');
select act_as_owner();
create or replace function private.username_taken(p_username text, p_email text) returns boolean language sql as $$ select false $$;
select act_as('buri');
select raises($$ update profiles set username = 'embla' $$, 409, 'username_taken', 'Username already exists. Please choose a different username.', 'a name that was free a moment ago');

-- Behind the closed schema stand policies
select act_as_owner();
grant usage on schema private to authenticated;
select act_as('ask');
select results_eq($$ select user_id from private.totals $$, $$ select auth.uid() $$, 'even with the schema open a member sees the own sums alone');

-- Nothing of the tree is taken out
select act_as_owner();
select raises($$ delete from private.positions $$, 403, 'append_only', 'Rows of positions are kept as they are.', 'a place is never taken out');
select raises($$ truncate private.positions cascade $$, 403, 'append_only', 'Rows of positions are kept as they are.', 'nor all of them');

select ok((select hold_until > now() + interval '23 hours 59 minutes' from private.profiles where user_id = user_id('embla')), 'a hold lasts a day');

-- What administrators note is for administrators
update private.profiles set admin_notes = 'Asked twice' where user_id = user_id('ask');
select act_as('ask');
select is((select admin_notes from profiles where user_id = auth.uid()), null, 'not even the member reads the notes');
select act_as('sam');
select is((select admin_notes from profiles where user_id = user_id('ask')), 'Asked twice', 'an administrator does');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Names and wallets that show what they are
-- =====================================================================================================================
\ir ../support/unreadable_texts.sql
create function actors.names(p_name text) returns text language sql as $$
    select format('update profiles set display_name = %L where user_id = auth.uid()', p_name)
$$;
create function actors.stores(p_wallet text) returns text language sql as $$
    select format('update profiles set trc20_wallet_address = %L where user_id = auth.uid()', p_wallet)
$$;
grant execute on all functions in schema actors to public;

select act_as('freya');
select raises(names(text), 400, 'invalid_display_name', 'A name has at most 80 characters, on one line.', 'no name with ' || name) from hidden;
select raises(stores(text), 400, 'invalid_wallet', 'This is not a wallet address. Check it and try again.', 'no wallet with ' || name) from hidden;

-- Joiners belong to names, and to nothing that is compared.
select raises(stores(text), 400, 'invalid_wallet', 'This is not a wallet address. Check it and try again.', 'a wallet has no joiner') from joiners;

-- Names that show nothing.
select raises(names(text), 400, 'invalid_display_name', 'A name has at most 80 characters, on one line.', 'a name shows something') from blanks;

select act_as_owner();
select results_eq(
    $$ select display_name, trc20_wallet_address from private.profiles where user_id = user_id('freya') $$,
    $$ values ('Freya', wallets.of('freya')) $$, 'name and wallet are what they were'
);

-- Names of the world stay possible, with the accents and joiners that they are written with.
select act_as('freya');
select lives_ok(names(n), 'a name: ' || n)
from unnest(array['O’Connor-Müller', 'علی' || chr(8204) || 'رضا', 'क्' || chr(8205) || 'ष', 'שרה', '李 小龍', 'Zoë 🙂', '👩' || chr(8205) || '🚀', repeat('ß', 80)]) as n;
select raises(names(repeat('ß', 81)), 400, 'invalid_display_name', 'A name has at most 80 characters, on one line.', 'eighty characters are the most');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Closing an account
-- =====================================================================================================================
select pays('freya', 500);
select pays('ask', 500);
select pays('embla', 500);
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 100, wallets.of('freya'));
select claims_deposit('freya', 1000);
select act_as_owner();
insert into public.bot_subscriptions (id, user_id, bot_name, mt5_server, mt5_login, mt5_password_length) values ('00000000-0000-4000-8000-00000000b07a', user_id('freya'), 'Scout', 's', 'l', 8);
insert into private.bot_secrets (subscription_id, key_id, secret) values ('00000000-0000-4000-8000-00000000b07a', 'k', '\x00');
create temporary table earned as select amount from public.bonuses where user_id = user_id('freya');

-- The account is deleted in the auth service
delete from auth.users where id = user_id('freya');
select results_eq(
    $$ select username like 'closed\_________', display_name, email, trc20_wallet_address, account_status::text, package_value::numeric from private.profiles where user_id = user_id('freya') $$,
    $$ values (true, 'Closed account', null::text, null::text, 'disabled', 500.0) $$, 'the member is closed, the package stays'
);
select results_eq($$ select status::text, admin_notes, decided_by from public.withdrawals where user_id = user_id('freya') $$, $$ values ('rejected', 'Account closed', null::uuid) $$, 'a pending withdrawal is rejected');
select results_eq($$ select status::text, admin_notes from public.deposits where user_id = user_id('freya') and amount = 1000 $$, $$ values ('rejected', 'Account closed') $$, 'a pending deposit too');
select is((select count(*) from private.bot_secrets where subscription_id = '00000000-0000-4000-8000-00000000b07a'), 0::bigint, 'the MT5 password is erased');
select is((select status::text from public.bot_subscriptions where id = '00000000-0000-4000-8000-00000000b07a'), 'cancelled', 'the subscription ends');
select bag_eq($$ select amount from public.bonuses where user_id = user_id('freya') $$, $$ select amount from earned $$, 'the bonuses stay');
select is((select count(*) from auth.sessions where user_id = user_id('freya')), 0::bigint, 'the sign-ins are ended');

-- And the tree goes on
select pays('buri', 100);
select is((select sum(amount) from public.bonuses where source_user_id = user_id('buri'))::numeric, 5.00, 'a closed member still holds the place and earns');
update auth.users set deleted_at = now() where id = user_id('loke');
select is((select account_status::text from private.profiles where user_id = user_id('loke')), 'disabled', 'a soft deletion closes too');
select is((select count(*) from auth.sessions where user_id = user_id('loke')), 0::bigint, 'and ends the sign-ins');
select is_empty($$ select * from private.check_ledger() where rule <> 'I20' $$, 'the ledger checks pass');

select audited('member.closed', 'the closing of an account');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- How far an account is, in the sentences of specification S12.1
-- =====================================================================================================================
select join_as('rita');
select join_as('vera', 'rita');

create function pg_temp.step(p_name text) returns text language sql as $$
    select (v ->> 'verificationStep') || ': ' || (v ->> 'stepMessage')
    from private.verification_result((select p from private.profiles as p where p.user_id = actors.user_id(p_name))) as v
$$;
create function pg_temp.can(p_name text) returns text language sql as $$
    select concat_ws(' ', v ->> 'canDeposit', v ->> 'canWithdraw', v ->> 'sufficientCashIn', v ->> 'hasVerifiedAccount')
    from private.verification_result((select p from private.profiles as p where p.user_id = actors.user_id(p_name))) as v
$$;

-- Vera, from sign-up to a funded package.
select is(pg_temp.step('vera'), 'wallet: Add your TRC-20 wallet address for withdrawals', 'a new member needs a wallet');
select is(pg_temp.can('vera'), 'false false false false', 'without a wallet nothing can be sent or asked');
select complete('vera');
select is(pg_temp.step('vera'), 'package: Select a package and make your first deposit', 'then a package');
select is(pg_temp.can('vera'), 'true false false false', 'a profile with a wallet may deposit');
select pays('vera', 250);
select is(pg_temp.step('vera'), 'complete: Account fully verified and ready', 'a paid package completes the account');
select is(pg_temp.can('vera'), 'true true true true', 'and then withdrawing is open');

-- A package that a correction raised above the cash-in.
update private.profiles set package_value = 1000 where user_id = user_id('vera');
select is(
    pg_temp.step('vera'), 'package: Complete your package deposit ($250.00/$1,000.00)', 'an unpaid part is said with both amounts'
);
select is(pg_temp.can('vera'), 'true false false false', 'and holds withdrawals back');

-- A pending account, an account without e-mail.
update private.profiles set account_status = 'pending' where user_id = user_id('vera');
select is(pg_temp.can('vera'), 'false false false false', 'a pending account may neither deposit nor withdraw');
update private.profiles set email = null where user_id = user_id('rita');
select is(pg_temp.step('rita'), 'profile: Complete your profile with username and email', 'the profile comes first');

select is(private.return_on_investment(434.50, 500), -13.1, 'a return below the package is negative');
select is(private.return_on_investment(10, 0), 0::numeric, 'without a package there is no return');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- The stored sums, and what was withdrawn beyond them
-- =====================================================================================================================
create temporary table updated as select
    pg_stat_get_xact_tuples_hot_updated('private.totals'::regclass) as in_place, pg_stat_get_xact_tuples_updated('private.totals'::regclass) as rows;
select is((select value from private.counter_values() where name = 'shortfall'), 0::numeric, 'no member has withdrawn more than was earned');
select actors.join_as('ada');
create temp table someone as select actors.user_id('ada') as user_id;
update private.totals set withdrawn_amount = bonus_amount + 5 where user_id = (select user_id from someone);
select is((select value from private.counter_values() where name = 'shortfall'), 5::numeric, 'what was withdrawn beyond the bonuses is counted');
update private.totals set referral_amount = referral_amount + 3 where user_id = (select user_id from someone);
select is((select value from private.counter_values() where name = 'shortfall'), 2::numeric, 'a bonus makes it less');
update private.totals set referral_amount = referral_amount + 30 where user_id = (select user_id from someone);
select is((select value from private.counter_values() where name = 'shortfall'), 0::numeric, 'and never less than nothing');
update private.totals set reserved_amount = 32 where user_id = (select user_id from someone);
select is((select value from private.counter_values() where name = 'shortfall'), 4::numeric, 'what was asked for beyond them counts too');
update private.totals set reserved_amount = 0, withdrawn_amount = withdrawn_amount + 32 where user_id = (select user_id from someone);
select is((select value from private.counter_values() where name = 'shortfall'), 4::numeric, 'and its approval changes nothing');
update private.totals set withdrawn_amount = withdrawn_amount - 32 where user_id = (select user_id from someone);

select is((select count(*) from private.ledger_violations where rule = 'I27'), 0::bigint, 'the ledger checks pass with what is counted');
update private.counters set value = value + 1 where name = 'shortfall';
select is((select string_agg(object, ' ') from private.ledger_violations where rule = 'I27'), 'shortfall', 'and tell when they do not');

select is(
    pg_stat_get_xact_tuples_hot_updated('private.totals'::regclass) - u.in_place,
    pg_stat_get_xact_tuples_updated('private.totals'::regclass) - u.rows,
    'sums change in place: no index holds what changes in them'
) from updated as u;

-- Direct referrals are numbered in the order of joining, also when the clock is set back between two
select act_as_owner();
set local app.demo_clock = '2099-01-01 12:00+00';
select join_as('elder', 'freya');
set local app.demo_clock = '2099-01-01 11:00+00';
select join_as('younger', 'freya');
set local app.demo_clock = '';
select is(
    (select created_at from private.profiles where user_id = user_id('younger')), '2099-01-01 12:00:00.000001+00'::timestamptz,
    'who joins later is younger'
);
select * from finish();
rollback;
