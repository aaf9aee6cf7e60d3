begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
select pays('freya', 500);
select pays('ask', 500);
select pays('embla', 500);
select act_as('freya');
insert into withdrawals (user_id, amount, wallet_address) values (auth.uid(), 100, 'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb');
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
select is_empty($$ select * from private.check_books() where rule <> 'I20' $$, 'the books agree');

select audited('member.closed', 'the closing of an account');
select * from finish();
rollback;
