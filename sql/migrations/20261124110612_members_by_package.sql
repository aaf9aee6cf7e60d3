-- Members by package are listed by their positions, so that an approval changes no index of private.profiles. Rows that
-- are there get room on their page as they are written again.
SET local check_function_bodies = off;

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."profiles_package_value_idx";

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."member_conditions"(jsonb, text);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."member_page"(text, text, text, private.list_request);

ALTER TABLE "private"."profiles"
  SET (fillfactor=85);

CREATE OR REPLACE FUNCTION private.member_conditions (
  p_package  text,
  p_verified text,
  p_status   text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
begin
    if p_status not in ('active', 'pending', 'suspended', 'disabled') or p_package !~ '\A[0-9]{1,8}(\.[0-9]{1,2})?\Z'
        or p_verified not in ('true', 'false') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such filter.');
    end if;
    return pg_catalog.concat(
        ' where true',
        ' and r.account_status = ' || pg_catalog.quote_literal(p_status) || '::public.account_status',
        private.package_condition(p_package),
        case p_verified when 'true' then ' and r.account_verified' when 'false' then ' and not r.account_verified' end
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.member_page (
  p_source   text,
  p_where    text,
  p_package  text,
  p_order    text,
  p_reversed text,
  p_request  private.list_request,
  OUT        ids uuid[],
  OUT        total bigint,
  OUT        more boolean
)
  RETURNS record
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_source text := p_source;
begin
    case p_where
        when ' where true' then
            total := private.counter_value('profiles')::bigint;
            if (p_request).sort_by = 'package_value' then
                -- The position alone has all that is asked: a page far down reads one index and no member.
                v_source := '(select o.profile_id as id, o.package_cents, o.no from private.positions as o)';
            end if;
        when ' where true and r.account_verified' then
            total := private.counter_value('verified_profiles')::bigint;
        when ' where true and not r.account_verified' then
            total := (private.counter_value('profiles') - private.counter_value('verified_profiles'))::bigint;
        when ' where true and r.account_status = ''active''::public.account_status' then
            total := private.counter_value('profiles')::bigint
                - (select count(*) from private.profiles as p where p.account_status <> 'active');
        when ' where true' || private.package_condition(p_package) then
            total := (select count(*) from private.positions as o where o.package_cents = (p_package::numeric * 100)::bigint);
        else
            execute 'select count(*) from private.profiles as r' || p_where into total;
    end case;
    ids := private.page_ids(pg_catalog.format('from %s as r', v_source) || p_where, p_order, p_reversed, p_request, total);
    more := false;
end
$function$;

CREATE OR REPLACE FUNCTION private.package_condition (
  p_package text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  STRICT
  SET search_path TO ''
  AS $function$
begin
    return pg_catalog.format(' and r.id in (select o.profile_id from private.positions as o where o.package_cents = %s)', (p_package::numeric * 100)::bigint);
end
$function$;

CREATE OR REPLACE FUNCTION public.list_members (
  p_filters jsonb DEFAULT '{}'::jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_request private.list_request := private.parse_filters(p_filters, array['created_at', 'username', 'package_value']);
    v_package text := nullif(nullif(p_filters ->> 'package', ''), 'all');
    v_where text := private.member_conditions(v_package, nullif(nullif(p_filters ->> 'verified', ''), 'all'), v_request.status);
    v_source text := case when v_request.sort_by = 'package_value'
        then '(select m.*, o.package_cents, o.no from private.positions as o inner join private.profiles as m on o.profile_id = m.id)'
        else 'private.profiles'
    end;
    v_order text;
    v_reversed text;
    v_matches text;
    v_page record;
    v_items jsonb;
begin
    perform private.require_admin();
    select o.up, o.down into v_order, v_reversed
    from (
        values
        ('created_at', 'r.created_at, r.id', 'r.created_at desc, r.id desc'),
        ('username', 'lower(r.username), r.id', 'lower(r.username) desc, r.id desc'),
        ('package_value', 'r.package_cents, r.no', 'r.package_cents desc, r.no desc')
    ) as o (name, up, down)
    where o.name = v_request.sort_by;
    if v_request.descending then
        select v_reversed, v_order into v_order, v_reversed;
    end if;
    if v_request.pattern is null then
        v_page := private.member_page(v_source, v_where, v_package, v_order, v_reversed, v_request);
    else
        v_matches := 'from ' || v_source || ' as r' || v_where || ' and private.member_search_text(r.username, r.display_name, r.email) like $1';
        v_page := private.search_page(v_source, v_matches, v_matches, v_order, v_reversed, v_request);
    end if;
    select pg_catalog.jsonb_agg(private.member_item(p) order by u.place) into v_items
    from pg_catalog.unnest(v_page.ids) with ordinality as u (id, place)
    inner join private.profiles as p on u.id = p.id;
    return pg_catalog.jsonb_build_object(
        'items', coalesce(v_items, '[]'),
        'total', v_page.total,
        'cards', pg_catalog.jsonb_build_object(
            'total_users', private.counter_value('profiles')::bigint,
            'active_users', private.counter_value('active_profiles')::bigint,
            'verified_users', private.counter_value('verified_profiles')::bigint,
            'total_investment', private.money(private.counter_value('package_investment'))
        )
    ) || case when v_page.more then '{"more": true}' else '{}' end::jsonb;
end
$function$;

CREATE INDEX positions_package_idx ON private.positions USING btree (package_cents, NO) INCLUDE (profile_id);

COMMENT ON FUNCTION "private"."member_conditions"(text, text, text) IS 'The where clause of the filters package, verified and status. Errors: invalid_filter.';

COMMENT ON FUNCTION "private"."member_page"(text, text, text, text, text, private.list_request) IS 'One page of members without a search, with the exact total. p_source and p_where are composed by list_members, p_where of private.member_conditions().';

COMMENT ON FUNCTION "private"."package_condition"(text) IS 'The condition that a member has this package (USD); null without one.';

REVOKE ALL ON FUNCTION "private"."member_conditions"(text, text, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."member_conditions"(text, text, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."member_conditions"(text, text, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."member_page"(text, text, text, text, text, private.list_request) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."member_page"(text, text, text, text, text, private.list_request) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."member_page"(text, text, text, text, text, private.list_request) TO "postgres";

REVOKE ALL ON FUNCTION "private"."package_condition"(text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."package_condition"(text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."package_condition"(text) TO "postgres";
