-- A TRC20 address for each test person, always the same one for a seed: members who share one are flagged, and a payout to
-- them asks why. tests/support/wallet.py makes the same.
create schema wallets;
grant usage on schema wallets to public;
create function wallets.of(p_seed text) returns text language plpgsql immutable as $$
declare
    v_bytes bytea := '\x41' || substr(sha256(convert_to(p_seed, 'UTF8')), 1, 20);
    v_number numeric := 0;
    v_address text := '';
begin
    v_bytes := v_bytes || substr(sha256(sha256(v_bytes)), 1, 4);
    for i in 0..24 loop
        v_number := v_number * 256 + get_byte(v_bytes, i);
    end loop;
    while v_number > 0 loop
        v_address := substr('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', mod(v_number, 58)::integer + 1, 1) || v_address;
        v_number := div(v_number, 58);
    end loop;
    return v_address;
end
$$;
grant execute on function wallets.of(text) to public;
