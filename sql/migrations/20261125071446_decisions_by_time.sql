-- Who decided, and requests by amount: both indexes follow the time as well, so that a decision writes no page in a random
-- place for them.
SET local check_function_bodies = off;

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."deposits_amount_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."deposits_decided_by_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."withdrawals_amount_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."withdrawals_decided_by_idx";

CREATE OR REPLACE FUNCTION private.request_page (
  p_table       text,
  p_text_column text,
  p_request     private.list_request,
  p_counts      jsonb,
  OUT           ids uuid[],
  OUT           total bigint,
  OUT           more boolean
)
  RETURNS record
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_all bigint := (p_counts ->> 'pending')::bigint + (p_counts ->> 'approved')::bigint + (p_counts ->> 'rejected')::bigint;
    v_status text := coalesce(' and r.status = ' || pg_catalog.quote_literal((p_request).status) || '::public.request_status', '');
    -- Join the member only where needed: without it a page number is counted along an index.
    v_from text := pg_catalog.format(
        'from public.%I as r %s where true', p_table,
        case when (p_request).sort_by = 'username' or (p_request).pattern is not null
            then 'inner join private.profiles as p on r.user_id = p.user_id'
        end
    ) || v_status;
    v_matches text := pg_catalog.format(
        '(private.member_search_text(p.username, p.display_name, p.email) like $1 or lower(r.%I) like $1)', p_text_column
    );
    v_up text;
    v_down text;
    v_found uuid[];
begin
    if (p_request).everything then
        ids := private.newest_requests(p_table, 'public.' || p_table, (p_counts ->> 'pending')::bigint);
        total := v_all;
        return;
    end if;
    if (p_request).status not in ('pending', 'approved', 'rejected') then
        perform private.raise_error(400, 'invalid_filter', 'There is no such status.');
    end if;
    select o.up, o.down into v_up, v_down
    from (
        values
        ('created_at', 'r.created_at, r.id', 'r.created_at desc, r.id desc'),
        ('amount', 'r.amount, r.created_at, r.id', 'r.amount desc, r.created_at desc, r.id desc'),
        ('status', 'r.status, r.created_at desc, r.id desc', 'r.status desc, r.created_at, r.id'),
        ('username', 'lower(p.username), r.created_at desc, r.id desc', 'lower(p.username) desc, r.created_at, r.id')
    ) as o (name, up, down)
    where o.name = (p_request).sort_by;
    if (p_request).descending then
        select v_down, v_up into v_up, v_down;
    end if;
    if (p_request).pattern is null then
        total := coalesce((p_counts ->> (p_request).status)::bigint, v_all);
        ids := private.page_ids(v_from, v_up, v_down, p_request, total);
        return;
    end if;
    execute pg_catalog.format(
        $query$
        select array(
            select f.id
            from (
                (
                    select r.id from private.profiles as p inner join public.%1$I as r on p.user_id = r.user_id
                    where private.member_search_text(p.username, p.display_name, p.email) like $1 %2$s
                    limit 10001
                )
                union
                (
                    select r.id from private.request_texts as x inner join public.%1$I as r on x.request_id = r.id
                    where x.text like $1 %2$s
                    limit 10001
                )
            ) as f
            limit 10001
        )
        $query$, p_table, v_status
    ) into v_found using (p_request).pattern;
    total := pg_catalog.cardinality(v_found)::bigint;
    if total > 10000 then
        more := true;
        total := 10000;
        ids := private.page_ids(v_from || ' and ' || v_matches, v_up, v_down, p_request, total, more);
        return;
    end if;
    execute pg_catalog.format(
        'select array(select r.id from public.%I as r inner join private.profiles as p on r.user_id = p.user_id where r.id = any($1) order by %s offset $2 limit $3)',
        p_table, v_up
    ) into ids using v_found, ((p_request).page - 1)::bigint * (p_request).page_size, (p_request).page_size;
end
$function$;

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX deposits_amount_idx ON public.deposits USING btree (amount, created_at, id);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX deposits_decided_by_idx ON public.deposits USING btree (decided_by, decided_at)
  WHERE (decided_by IS NOT NULL);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX withdrawals_amount_idx ON public.withdrawals USING btree (amount, created_at, id);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX withdrawals_decided_by_idx ON public.withdrawals USING btree (decided_by, decided_at)
  WHERE (decided_by IS NOT NULL);
