-- Two filters of the members' list hold for nearly everybody: active, and verified. Their totals were counted
-- member by member. They are kept figures now, or all members but the few whom a partial index holds.

create or replace function private.counted_members(
    p_where text, p_order text, p_reversed text, p_request private.list_request,
    out ids uuid[], out total bigint, out more boolean
)
language plpgsql stable set search_path = '' as $$
begin
    case p_where
        when ' where true' then
            total := private.counter('profiles')::bigint;
        when ' where true and r.account_verified' then
            total := private.counter('verified_profiles')::bigint;
        when ' where true and not r.account_verified' then
            total := (private.counter('profiles') - private.counter('verified_profiles'))::bigint;
        when ' where true and r.account_status = ''active''::public.account_status' then
            total := private.counter('profiles')::bigint
                - (select count(*) from private.profiles as p where p.account_status <> 'active');
        else
            execute 'select count(*) from private.profiles as r' || p_where into total;
    end case;
    ids := private.page_of('from private.profiles as r' || p_where, p_order, p_reversed, p_request, total);
    more := false;
end
$$;
