-- The members that a ledger check looks at: everybody, some members, or a range of all. A rule has one text for all three
-- (250_ledger_checks.sql): it asks private.is_asked of each row. That is inlined, and of a constant part one branch is left
-- before planning: no condition, a list, or a range of the index, which is read from end to end instead of searched for
-- each member. So a rule's function has custom plans.

create type private.ledger_part as (
    users uuid array, first_user uuid, until_user uuid, nos integer array, first_no integer, until_no integer
);
comment on type private.ledger_part is
'Members by id and positions by number, a list or a range each, without its end; without an end, all the rest; null: everybody.';

create function private.is_asked(p_part private.ledger_part, p_user uuid) returns boolean
language sql immutable parallel safe as $$
    select case
        when (p_part).users is not null then p_user = any((p_part).users)
        when (p_part).until_user is not null then p_user >= (p_part).first_user and p_user < (p_part).until_user
        when (p_part).first_user is not null then p_user >= (p_part).first_user
        else true
    end
$$;
comment on function private.is_asked(private.ledger_part, uuid) is 'Whether a member is in this part.';

create function private.is_asked(p_part private.ledger_part, p_no integer) returns boolean
language sql immutable parallel safe as $$
    select case
        when (p_part).nos is not null then p_no = any((p_part).nos)
        when (p_part).until_no is not null then p_no >= (p_part).first_no and p_no < (p_part).until_no
        when (p_part).first_no is not null then p_no >= (p_part).first_no
        else true
    end
$$;
comment on function private.is_asked(private.ledger_part, integer) is 'Whether a position is in this part.';

create function private.is_everybody(p_part private.ledger_part) returns boolean
language sql immutable parallel safe as $$
    select pg_catalog.num_nonnulls((p_part).users, (p_part).first_user, (p_part).nos, (p_part).first_no) = 0
$$;
comment on function private.is_everybody(private.ledger_part) is 'Whether this part is everybody.';
