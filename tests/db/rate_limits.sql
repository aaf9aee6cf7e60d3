-- Rate limits of attempts.
-- threats: T16
begin;
\ir ../support/actors.sql
select * from no_plan();

select is(private.consume_rate_limit('t', 'k', 3, '1 minute'), expected, 'hit ' || n) from (values (1, true), (2, true), (3, true), (4, false), (5, false)) as v (n, expected);
select is(private.consume_rate_limit('t', 'other', 3, '1 minute'), true, 'another key has a share of its own');
update private.rate_limits set window_start = window_start - interval '2 minutes' where bucket = 't';
select is(private.consume_rate_limit('t', 'k', 3, '1 minute'), true, 'the next window starts anew');

-- A client is what one person can hold of addresses, here as in functions/core/request.py
create temporary table vectors (address text, network text, wide_network text);
\copy vectors from 'tests/support/client_networks.csv' with (format csv, header, force_not_null (address))
select is(
    (select array_agg(n.network || ' ' || n.allowance) from private.networks_of(v.address) as n),
    array[v.network || ' 1', v.wide_network || ' 10'], format('the networks of "%s"', v.address)
)
from vectors as v where v.wide_network is not null
union all
select is(
    (select array_agg(n.network || ' ' || n.allowance) from private.networks_of(v.address) as n),
    array[v.network || ' 1'], format('the network of "%s"', v.address)
)
from vectors as v where v.wide_network is null;
select is(private.network_of(null), 'unknown', 'no address is one client, too');
create function actors.comes_from(p_address text) returns text language sql as $$
    select set_config('request.headers', jsonb_build_object('x-real-ip', p_address)::text, true)
$$;
-- In the networks of 2001:db8:a::/48, each to its limit.
create function actors.served_from(p_networks integer, p_most integer, p_what text) returns bigint language plpgsql as $$
declare
    v_served bigint := 0;
begin
    for i in 0 .. p_networks * (p_most + 1) - 1 loop
        perform actors.comes_from(format('2001:db8:a:%s::%s', to_hex(i / (p_most + 1)), to_hex(i % (p_most + 1))));
        begin
            execute p_what;
            v_served := v_served + 1;
        exception when others then
            if sqlerrm !~ 'too_many_requests' then
                raise;
            end if;
        end;
    end loop;
    return v_served;
end
$$;
grant execute on all functions in schema actors to anon;
select act_as('anonymous');
select is(actors.served_from(2, most, what), 2::bigint * most, format('two networks have twice as many of %s', what))
from (values ('select get_sponsor(''nobody'')', 60), ('select is_username_available(''freja'')', 30)) as a (what, most);
select is(actors.served_from(11, most, what), 8::bigint * most, format('and all around them ten times: %s', what))
from (values ('select get_sponsor(''nobody'')', 60), ('select is_username_available(''freja'')', 30)) as a (what, most);
select actors.comes_from('203.0.113.7');

select act_as('anonymous');
select is((select count(*) from generate_series(1, 30) where is_username_available('freja')), 30::bigint, 'an anonymous client may look up thirty names');
select raises($$ select is_username_available('freja') $$, 429, 'too_many_requests', 'Too many requests. Wait a few minutes and try again.', 'the thirty-first is rejected');
-- PostgREST hands on what the operator set.
select set_config('app.settings.username_limit', '32', true), set_config('app.settings.referrer_limit', '2', true);
select act_as('anonymous');
select is((select count(*) from generate_series(1, 2) where is_username_available('freja')), 2::bigint, 'with a limit of thirty-two they may look up two more');
select raises($$ select is_username_available('freja') $$, 429, 'too_many_requests', 'Too many requests. Wait a few minutes and try again.', 'the thirty-third is rejected');
select is((select count(*) from generate_series(1, 2) where get_sponsor('nobody') is not null), 2::bigint, 'and two sponsors');
select raises($$ select get_sponsor('nobody') $$, 429, 'too_many_requests', 'Too many requests. Wait a few minutes and try again.', 'no third one');
select * from finish();
rollback;
