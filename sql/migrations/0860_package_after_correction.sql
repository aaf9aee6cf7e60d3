-- Voiding any deposit of a member used to bring back a package that a correction had lowered: the package was worked
-- out as the larger of all counting deposits and the last set value. A set package now replaces what was there
-- before it, as the correction says: only deposits approved later raise it. Without a set package nothing changes.
-- No row is touched: a package that came back that way is set again by another correction.

create or replace function private.package_due(p_user_id uuid) returns numeric
language sql stable set search_path = '' as $$
    with correction as (
        select c.value, c.confirmed_at from private.corrections as c
        where c.user_id = p_user_id and c.kind = 'set_package' and c.confirmed_by is not null
        order by c.confirmed_at desc limit 1
    )
    select greatest(
        coalesce((select c.value from correction as c), 0),
        coalesce((
            select max(d.amount) from public.deposits as d inner join private.packages as k on k.value = d.amount
            where d.user_id = p_user_id and d.status = 'approved' and d.voided_at is null
                and d.decided_at > coalesce((select c.confirmed_at from correction as c), '-infinity')
        ), 0)
    )
$$;
comment on function private.package_due(uuid) is
'Package of a member worked out anew: what a correction set last, or the largest counting package deposit approved since, whichever is more.';
