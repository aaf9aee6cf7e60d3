-- What the deposit and withdrawal forms offer.
begin;
\ir ../support/actors.sql
select plan(10);

select join_as('rita');
select complete('rita');
select join_as('nora', 'rita');
select join_as('vic', 'rita');
select complete('vic');

-- Nora has not begun.
select act_as('nora');
select is(
    (select string_agg(concat_ws(' ', c ->> 'kind', c ->> 'value', c ->> 'rate'), ', ')
        from jsonb_array_elements(public.get_deposit_options() -> 'choices') as c),
    'first 50.00 10, first 100.00 20, first 250.00 30, first 500.00 40, first 1000.00 50',
    'the first deposit chooses among all five packages'
);
select is(public.get_deposit_options() -> 'other_amount_allowed', 'false'::jsonb, 'and nothing else');
select is(public.get_deposit_options() #>> '{verification,canDeposit}', 'false', 'not before there is a wallet');
select is(public.get_deposit_options() -> 'deposit_address_sample', 'true'::jsonb, 'in demo mode the address is a sample');
select is(public.get_withdraw_options() -> 'wallet_checksum_ok', 'null'::jsonb, 'no wallet is neither right nor wrong');

-- Vic owns a Standard package and waits with an upgrade.
select pays('vic', 250);
select claims_deposit('vic', 1000);
select act_as('vic');
select is(
    (select string_agg(concat_ws(' ', c ->> 'kind', c ->> 'value'), ', ')
        from jsonb_array_elements(public.get_deposit_options() -> 'choices') as c),
    'upgrade 500.00, upgrade 1000.00', 'then only larger packages'
);
select is(public.get_deposit_options() -> 'other_amount_allowed', 'true'::jsonb, 'or any other amount');
select is(
    (select string_agg(p ->> 'amount', ',') from jsonb_array_elements(public.get_deposit_options() -> 'pending') as p),
    '1000.00', 'what waits is listed'
);
select is(
    public.get_withdraw_options() - array['verification', 'hold_until', 'pending'],
    '{
        "balance": {"available": "0.00", "reserved": "0.00", "requestable": "0.00", "approved_withdrawals": "0.00", "hold_until": null},
        "wallet_address": "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb", "wallet_checksum_ok": true, "minimum": "100.00"
    }'::jsonb,
    'a withdrawal form knows balance, destination and minimum'
);

select act_as('anonymous');
select throws_ok($$ select public.get_deposit_options(), public.get_withdraw_options() $$, '42501', null, 'a visitor is refused');

select * from finish();
rollback;
