-- Coverage as the worker would have kept it on each day of the story, worked out from what had been decided by
-- then. Run after demo.sql; days that are there stay as they are.

insert into private.coverage_days (day, figures, taken_at)
select
    d.day::date,
    jsonb_build_object(
        'approved_cash_in', private.money(f.cash_in),
        'approved_withdrawals', private.money(f.withdrawn),
        'withdrawable', private.money(greatest(f.bonuses - f.withdrawn - f.pending, 0)),
        'pending', private.money(f.pending),
        'ratio', case
            when greatest(f.bonuses - f.withdrawn, f.pending) > 0
                then private.percent((f.cash_in - f.withdrawn) / greatest(f.bonuses - f.withdrawn, f.pending) * 100)
        end
    ),
    d.day + interval '1 day'
from
    generate_series(
        (select min(p.created_at at time zone 'UTC')::date from private.profiles as p),
        (now() at time zone 'UTC')::date - 1, interval '1 day'
    ) as d (day)
cross join
    lateral (
        select
            (
                select coalesce(sum(x.amount), 0) from public.deposits as x
                where x.status = 'approved' and (x.decided_at at time zone 'UTC')::date <= d.day
            ) as cash_in,
            (
                select coalesce(sum(x.amount), 0) from public.withdrawals as x
                where x.status = 'approved' and (x.decided_at at time zone 'UTC')::date <= d.day
            ) as withdrawn,
            (
                select coalesce(sum(x.amount), 0) from public.withdrawals as x
                where
                    (x.created_at at time zone 'UTC')::date <= d.day
                    and (x.decided_at is null or (x.decided_at at time zone 'UTC')::date > d.day)
            ) as pending,
            (
                select coalesce(sum(x.amount), 0) from public.transactions as x
                where x.transaction_type = 'bonus' and (x.created_at at time zone 'UTC')::date <= d.day
            ) as bonuses
    ) as f
on conflict (day) do nothing;
