-- An approval changes half a dozen kept figures. Each was a call with a statement of its own; those that change
-- together are now one statement, and a figure that does not change costs none. What is counted is the same.

create or replace function private.profiles_funded() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_package integer := (new.package_value * 100)::integer;
    v_paid integer := case when new.package_value > 0 and new.cash_in_amount >= new.package_value then (new.package_value * 100)::integer else 0 end;
begin
    update private.positions as p set
        package_cents = v_package,
        paid_cents = v_paid,
        paid_order = case when v_paid > 0 then coalesce(p.paid_order, pg_catalog.nextval('private.paid_orders')) else p.paid_order end
    where p.user_id = new.user_id and (p.package_cents, p.paid_cents) is distinct from (v_package, v_paid);
    if (new.package_value > 0) <> (old.package_value > 0) then
        perform private.count_up('active_profiles', (new.package_value > 0)::integer - (old.package_value > 0)::integer);
    end if;
    if new.package_value <> old.package_value then
        perform private.count_up('package_investment', new.package_value - old.package_value);
    end if;
    return null;
end
$$;

create or replace function private.deposit_decided() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    update public.transactions as t set status = case when new.status = 'approved' then 'completed' else 'failed' end::public.transaction_status
    where t.transaction_type = 'deposit' and t.reference_id = new.id;
    if new.status = 'approved' then
        insert into private.counter_deltas (name, delta)
        values ('pending_deposits', -1), ('deposits_approved', new.amount), ('deposits_approved_count', 1);
    else
        insert into private.counter_deltas (name, delta)
        values ('pending_deposits', -1), ('deposits_rejected_count', 1);
    end if;
    return null;
end
$$;

create or replace function private.bonuses_posted() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform pg_catalog.nextval('private.postings');
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    select n.user_id, n.amount, 'bonus', 'completed', n.id, n.created_at from added as n where n.amount <> 0;
    update private.totals as t set
        referral_amount = t.referral_amount + s.referral, referral_count = t.referral_count + s.referrals,
        pairing_amount = t.pairing_amount + s.pairing, pairing_count = t.pairing_count + s.pairings,
        override_amount = t.override_amount + s.override, override_count = t.override_count + s.overrides,
        reentry_amount = t.reentry_amount + s.reentry
    from (
        select
            n.user_id,
            coalesce(sum(n.amount) filter (where n.bonus_type = 'referral'), 0) as referral,
            count(*) filter (where n.bonus_type = 'referral') as referrals,
            coalesce(sum(n.amount) filter (where n.bonus_type = 'pairing'), 0) as pairing,
            count(*) filter (where n.bonus_type = 'pairing') as pairings,
            coalesce(sum(n.amount) filter (where n.bonus_type = 'override'), 0) as override,
            count(*) filter (where n.bonus_type = 'override') as overrides,
            sum(n.reentry_amount) as reentry
        from added as n group by n.user_id
    ) as s
    where t.user_id = s.user_id;
    insert into private.counter_deltas (name, delta)
    select 'bonuses', sum(n.amount) from added as n having sum(n.amount) <> 0
    union all
    select 'bonus_rows', count(*) from added as n having count(*) > 0;
    return null;
end
$$;
