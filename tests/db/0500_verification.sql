-- How far an account is, said with the specification's own sentences.
begin;
\ir ../support/actors.sql
select plan(12);

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

select is(private.roi(434.50, 500), -13.1, 'a return below the package is negative');
select is(private.roi(10, 0), 0::numeric, 'without a package there is no return');

select * from finish();
rollback;
