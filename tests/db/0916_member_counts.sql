-- The totals of the members' list, kept or counted, against the rows themselves.
begin;
\ir ../support/actors.sql
select plan(8);
select family();
update private.profiles set account_status = 'suspended' where user_id = user_id('ask');
update private.profiles set account_status = 'disabled' where user_id = user_id('buri');
update private.profiles set trc20_wallet_address = null where user_id in (user_id('buri'), user_id('loke'));
create temporary table members as select p.account_status::text as status, p.account_verified as verified from private.profiles as p;
grant select on members to public;

select act_as('olga');
select is(
    (list_members(jsonb_build_object('status', f.status, 'verified', f.verified)) ->> 'total')::bigint,
    (select count(*) from members as m where m.status = coalesce(f.status, m.status) and m.verified = coalesce(f.verified, m.verified)),
    format('%s members, verified: %s', coalesce(f.status, 'all'), coalesce(f.verified::text, 'whoever'))
)
from (
    values
    (null, null), ('active', null), ('suspended', null), ('pending', null), (null, true), (null, false), ('active', true), ('active', false)
) as f (status, verified);
select * from finish();
rollback;
