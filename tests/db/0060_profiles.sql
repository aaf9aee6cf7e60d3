-- threats: T10 T03 T04 T17 T44
begin;
\ir ../support/actors.sql
select * from no_plan();
select family();

-- A member
select act_as('freya');
select is((select email from profiles where username = 'freya'), 'freya@people.test', 'a member sees the own row in full');
select bag_eq(
    $$ select username from profiles $$, $$ values ('freya'), ('ymir'), ('ask'), ('embla'), ('buri') $$,
    'a member sees oneself, the sponsor and the downline, nobody else'
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
select refuses($$ update profiles set username = 'ASK' where user_id = auth.uid() $$, 409, 'username_taken',
    'Username already exists. Please choose a different username.', 'a name is taken whatever its spelling');
select refuses($$ update profiles set username = '' $$, 400, 'fields_required', 'Please fill in all required fields', 'a name is needed');
select refuses($$ update profiles set display_name = ' ' $$, 400, 'fields_required', 'Please fill in all required fields', 'a display name is needed');
select refuses($$ update profiles set email = null $$, 400, 'fields_required', 'Please fill in all required fields', 'an address is needed');
select refuses(format('update profiles set display_name = %L', repeat('x', 81)), 400, 'invalid_display_name',
    'A name has at most 80 characters, on one line.', 'a display name has a limit');
select refuses($$ update profiles set email = 'ask@people.test' $$, 422, 'confirm_email_change',
    'Change your e-mail address first, then confirm it from your mailbox.', 'an unconfirmed address is refused');
select lives_ok($$ update profiles set email = 'FREYA@people.test' $$, 'the present address passes');
select is((select email from profiles where username = 'Freya_2'), 'freya@people.test', 'and changes nothing');
select refuses($$ update profiles set trc20_wallet_address = ' ' $$, 400, 'wallet_required', 'Wallet address required', 'a wallet cannot be emptied');
select lives_ok($$ update profiles set trc20_wallet_address = 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8' $$, 'a fresh sign-in may change the wallet');
select is((select trc20_wallet_address from profiles where username = 'Freya_2'), 'TJRabPrwbZy45sbavfcjinPJC18kjpRTv8', 'the new wallet is stored');
select set_config('request.jwt.claims', jsonb_set(claims('freya'), '{amr,0,timestamp}', to_jsonb(extract(epoch from now() - interval '11 minutes')))::text, true);
select refuses($$ update profiles set trc20_wallet_address = 'TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf' $$, 403, 'reauthentication_needed',
    'Sign in again to change your wallet address.', 'an old sign-in may not replace a wallet');

-- Names that may not be chosen
select act_as('buri');
select refuses(format('update profiles set username = %L', n), 400, 'invalid_username', 'A username has 3 to 30 characters: letters, digits and underscores only.', 'refused: ' || n)
from unnest(array['ab', 'a b', 'аdmin', E'buri\n', 'x-y', repeat('a', 31), 'naïve']) as n;
select refuses(format('update profiles set username = %L', n), 400, 'invalid_username', 'This username is reserved. Please choose a different username.', 'reserved: ' || n)
from unnest(array['Admin', 'support', 'closed_12345678', '___']) as n;
select lives_ok($$ update profiles set username = repeat('a', 30) $$, 'thirty letters are a name');

-- A stranger, a visitor
select act_as('loke');
select bag_eq($$ select username from profiles $$, $$ values ('loke') $$, 'a stranger sees none of them');
select act_as('anonymous');
select throws_ok($$ select 1 from profiles $$, '42501', null, 'a visitor has no table');

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
select is((select hold_until from private.profiles where user_id = user_id('ask')), null, 'the first wallet holds nothing');
select refuses(format('update private.profiles set %I = %L where user_id = %L', c, v, user_id('ask')), 403, 'immutable', 'A member''s id, sponsor and place in the tree never change.', 'even the owner cannot change ' || c)
from (values ('id', gen_random_uuid()::text), ('user_id', gen_random_uuid()::text), ('created_at', '2020-01-01'), ('depth', '7'),
    ('referrer_id', profile_id('loke')::text)) as w (c, v);
select refuses($$ delete from private.profiles $$, 403, 'append_only', 'Rows of profiles are kept as they are.', 'a profile is never deleted');
select refuses($$ insert into private.profiles (user_id, username, display_name, referrer_id, depth, jump)
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
        v_id := private.add_profile(gen_random_uuid(), 'chain' || i || '@people.test', 'chain_' || i, 'c', v_parent);
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
        and private.is_below(p.referrer_id, p.jump, p.depth, a.id, a.depth) <> exists (select 1 from truth as t where t.id = p.id and t.above = a.id) $$,
    'is_below agrees with a walk up the tree'
);

-- Wallets, as strict as the operator wants them
select act_as('embla');
select refuses(format('update profiles set trc20_wallet_address = %L', w), 400, 'invalid_wallet', 'This is not a wallet address. Check it and try again.', 'no wallet: ' || left(w, 9))
from unnest(array[repeat('T', 129), E'T\x01']) as w;
select lives_ok($$ update profiles set trc20_wallet_address = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u' $$, 'an address with a typing error is only warned of');
select act_as_owner();
update private.settings set value = 'true' where key = 'wallet.strict';
select act_as('embla');
select refuses($$ update profiles set trc20_wallet_address = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj61' $$, 422, 'invalid_wallet', 'This is not a TRC20 address. Check it character by character.', 'unless the operator is strict');
select act_as_owner();
select audited('member.wallet_changed', 'a change of wallet');
select told('embla', 'wallet_changed', 'and told to the member');
select is((select hold_reason from private.profiles where user_id = user_id('embla')), 'wallet', 'and holds withdrawals');

-- Two who take one name at once: both find it free, the index lets one of them have it
select act_as_owner();
insert into private.username_reservations (username, email, until) values ('reserved_one', 'other@people.test', now() + interval '1 hour');
select act_as('buri');
select refuses($$ update profiles set username = 'Reserved_One' $$, 409, 'username_taken', 'Username already exists. Please choose a different username.', 'a name that somebody is signing up with');
select act_as_owner();
create or replace function private.username_taken(p_username text, p_email text) returns boolean language sql as $$ select false $$;
select act_as('buri');
select refuses($$ update profiles set username = 'embla' $$, 409, 'username_taken', 'Username already exists. Please choose a different username.', 'a name that was free a moment ago');

-- Behind the closed schema stand policies
select act_as_owner();
grant usage on schema private to authenticated;
select act_as('ask');
select results_eq($$ select user_id from private.totals $$, $$ select auth.uid() $$, 'even with the schema open a member sees the own sums alone');

-- Nothing of the tree is taken out
select act_as_owner();
select refuses($$ delete from private.positions $$, 403, 'append_only', 'Rows of positions are kept as they are.', 'a place is never taken out');
select refuses($$ truncate private.positions cascade $$, 403, 'append_only', 'Rows of positions are kept as they are.', 'nor all of them');

select ok((select hold_until > now() + interval '23 hours 59 minutes' from private.profiles where user_id = user_id('embla')), 'a hold lasts a day');

-- What administrators note is for administrators
update private.profiles set admin_notes = 'Asked twice' where user_id = user_id('ask');
select act_as('ask');
select is((select admin_notes from profiles where user_id = auth.uid()), null, 'not even the member reads the notes');
select act_as('sam');
select is((select admin_notes from profiles where user_id = user_id('ask')), 'Asked twice', 'an administrator does');
select * from finish();
rollback;
