-- The owner of each pair is read in the order of the pairs, and a member's referrer and package are all that is
-- wanted: an index that carries them makes a computation of all bonuses a merge of three indexes, without the
-- table, in half the time. That a pair has one left and one right child is said of their indexes too: a merge that
-- knows it keeps no rows to read them again. The percentages are plpgsql, because those of bonuses.reentry_amount are
-- evaluated in every statement that writes a bonus, and a sql function with a fixed search_path is parsed and planned
-- there; parallel safe, because a query with any other function has one process. Takes the locks of a sign-up while
-- the indexes are made, a second for a million members.

create index positions_owner_idx on private.positions (no) include (referrer_no, package_cents, paid_cents);
-- squawk-ignore require-concurrent-index-deletion
drop index private.positions_left_idx;
-- squawk-ignore require-concurrent-index-deletion
drop index private.positions_right_idx;
-- squawk-ignore require-concurrent-index-creation
create unique index positions_left_key on private.positions (referrer_no, pair_no) include (no, paid_cents) where is_left;
-- squawk-ignore require-concurrent-index-creation
create unique index positions_right_key on private.positions (referrer_no, pair_no) include (no, paid_cents) where not is_left;

create or replace function private.referral_percent() returns integer
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    return 5;
end
$$;

create or replace function private.override_percent() returns integer
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    return 1;
end
$$;

create or replace function private.reentry_percent() returns integer
language plpgsql immutable parallel safe set search_path = '' as $$
begin
    return 10;
end
$$;
