-- The owner of each pair is read in the order of the pairs, and a member's referrer and package are all that is
-- wanted: an index that carries them makes a computation of all bonuses a merge of three indexes, without the
-- table, in half the time. The percentages are plpgsql, because those of bonuses.reentry_amount are evaluated in
-- every statement that writes a bonus, and a sql function with a fixed search_path is parsed and planned there.

create index positions_owner_idx on private.positions (no) include (referrer_no, package_cents, paid_cents);

create or replace function private.referral_percent() returns integer
language plpgsql immutable set search_path = '' as $$
begin
    return 5;
end
$$;

create or replace function private.override_percent() returns integer
language plpgsql immutable set search_path = '' as $$
begin
    return 1;
end
$$;

create or replace function private.reentry_percent() returns integer
language plpgsql immutable set search_path = '' as $$
begin
    return 10;
end
$$;
