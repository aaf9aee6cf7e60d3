-- An approval writes an entry into each index of what it changes, in a random place: the file of a deposit stands beside
-- the deposit, and a member's position names the member once. Two views stand here as in the schema files: a diff writes
-- their conditions in a way that reads back differently.
SET local check_function_bodies = off;

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."positions_package_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."deposits_receipt_etag_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."deposits_receipt_key";

-- squawk-ignore ban-drop-view
DROP VIEW "private"."ledger_violations";

-- squawk-ignore ban-drop-view
DROP VIEW "private"."position_discrepancies";

-- squawk-ignore ban-drop-view
DROP VIEW "private"."sibling_discrepancies";

-- squawk-ignore ban-drop-constraint
ALTER TABLE "private"."positions" DROP CONSTRAINT "positions_profile_id_fkey";

-- squawk-ignore ban-drop-constraint
ALTER TABLE "private"."positions" DROP CONSTRAINT "positions_profile_id_key";

-- squawk-ignore ban-drop-column
ALTER TABLE "private"."positions" DROP COLUMN "profile_id";

CREATE TABLE "private"."deposit_receipts" (
  "deposit_id" uuid NOT NULL,
  "name"       text NOT NULL,
  "etag"       text,
  CONSTRAINT "deposit_receipts_name_key" UNIQUE (name),
  CONSTRAINT "deposit_receipts_pkey" PRIMARY KEY (deposit_id),
  CONSTRAINT "deposit_receipts_deposit_id_fkey" FOREIGN KEY (deposit_id) REFERENCES public.deposits(id) ON DELETE RESTRICT
);

ALTER TABLE "private"."deposit_receipts"
  ENABLE ROW LEVEL SECURITY;

INSERT INTO private.deposit_receipts (deposit_id, name, etag)
SELECT d.id, d.receipt_name, d.receipt_etag FROM public.deposits AS d;

-- squawk-ignore ban-drop-column
ALTER TABLE "public"."deposits" DROP COLUMN "receipt_etag";

-- squawk-ignore ban-drop-column
ALTER TABLE "public"."deposits" DROP COLUMN "receipt_name";

CREATE OR REPLACE FUNCTION jobs.purge()
  RETURNS integer
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
    v_rows integer;
    v_all integer;
begin
    delete from private.rate_limits as r where r.window_start < v_now - interval '1 day';
    get diagnostics v_all = row_count;
    delete from private.sign_in_failures as f where f.at < v_now - interval '1 day';
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.known_admin_addresses as k where k.seen_at < v_now - interval '90 days';
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.receipt_uploads as u
    where not exists (
        select 1 from storage.objects as o
        where o.bucket_id = 'receipts' and o.name = u.name and (
            o.created_at > v_now - interval '1 day'
            or not exists (select 1 from private.deposit_receipts as d where d.name = o.name)
        )
    );
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
    delete from private.outbox as o where o.sent_at < v_now - interval '30 days';
    get diagnostics v_rows = row_count;
    return v_all + v_rows;
end
$function$;

CREATE OR REPLACE FUNCTION jobs.roll_up_networks()
  RETURNS integer
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_rows integer;
    v_large_teams integer[];
begin
    -- One roll-up at a time; readers see either the deltas or the totals that include them.
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('networks'));
    with taken as (
        delete from private.network_deltas
        returning no, day, members, funded, package_cents, referral, pairing, override
    ),
    placed as (
        select t.*, o.referrer_no, p.depth
        from taken as t
        inner join private.positions as o on t.no = o.no
        inner join private.profiles as p on o.user_id = p.user_id
    ),
    propagated as (
        insert into private.network_rollup_staging (no, depth, members, package_cents, referral, pairing, override)
        select t.no, t.depth, sum(t.members), sum(t.package_cents), sum(t.referral), sum(t.pairing), sum(t.override)
        from placed as t group by t.no, t.depth
    ),
    days as (
        insert into private.team_day_rollup_staging (no, day, depth, own_members, own_funded)
        select t.no, t.day, t.depth, sum(t.members), sum(t.funded)
        from placed as t where t.members <> 0 or t.funded <> 0 group by t.no, t.day, t.depth
    ),
    direct as (
        insert into private.networks as n (no, direct_cents, direct_funded)
        select t.referrer_no, sum(t.package_cents), sum(t.funded)
        from placed as t
        where t.referrer_no is not null and (t.package_cents <> 0 or t.funded <> 0)
        group by t.referrer_no order by t.referrer_no
        on conflict (no) do update set
            direct_cents = n.direct_cents + excluded.direct_cents, direct_funded = n.direct_funded + excluded.direct_funded
    ),
    earned as (
        insert into private.earning_days as d (no, day, referral, pairing, override)
        select t.no, t.day, sum(t.referral), sum(t.pairing), sum(t.override)
        from taken as t where t.referral <> 0 or t.pairing <> 0 or t.override <> 0 group by t.no, t.day
        on conflict (no, day) do update set
            referral = d.referral + excluded.referral,
            pairing = d.pairing + excluded.pairing,
            override = d.override + excluded.override
    )
    select count(*)::integer into v_rows from taken;
    perform private.propagate_staged_totals();
    v_large_teams := private.finalise_network_roll_up();
    if pg_catalog.cardinality(v_large_teams) > 0 then
        perform private.backfill_team_days(v_large_teams, 20);
    end if;
    return v_rows;
end
$function$;

CREATE OR REPLACE FUNCTION jobs.unused_receipts (
  p_max integer
)
  RETURNS TABLE (
    name text
  )
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    select o.name from storage.objects as o
    where o.bucket_id = 'receipts' and o.created_at < pg_catalog.clock_timestamp() - interval '24 hours'
        and not exists (select 1 from private.deposit_receipts as d where d.name = o.name)
    order by o.created_at
    limit p_max
$function$;

CREATE OR REPLACE FUNCTION private.backfill_team_days (
  p_nos integer[],
  p_max integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_no integer;
    v_rows integer := 0;
begin
    -- Small teams first: a larger one then reuses the days of those within it.
    for v_no in
        select n.no from private.networks as n
        where n.no = any(p_nos) and not n.has_days
        order by n.members, n.no limit p_max
    loop
        insert into private.team_days (no, day, members, funded)
        with recursive downline as (
            select v_no as no, false as has_days
            union all
            select c.no, coalesce(n.has_days, false)
            from downline as b
            inner join private.positions as c on b.no = c.referrer_no
            left join private.networks as n on c.no = n.no
            where not b.has_days
        ), found as (
            select (p.created_at at time zone 'UTC')::date as day, 1 as members, 0 as funded
            from downline as b
            inner join private.positions as o on b.no = o.no
            inner join private.profiles as p on o.user_id = p.user_id
            where b.no <> v_no
            union all
            select (r.created_at at time zone 'UTC')::date, 0, 1
            from downline as b inner join public.bonuses as r on r.bonus_type = 'referral' and b.no = r.subject_no and r.amount > 0
            where b.no <> v_no
            union all
            select d.day, d.members, d.funded
            from downline as b inner join private.team_days as d on b.no = d.no
            where b.has_days
            union all
            -- Subtract pending deltas: the next roll-up adds them.
            select c.day, -c.members, -c.funded
            from downline as b inner join private.network_deltas as c on b.no = c.no
            where b.no <> v_no
        )
        select v_no, f.day, sum(f.members), sum(f.funded)
        from found as f group by f.day having sum(f.members) <> 0 or sum(f.funded) <> 0;
        update private.networks as n set has_days = true where n.no = v_no;
        v_rows := v_rows + 1;
    end loop;
    return v_rows;
end
$function$;

CREATE OR REPLACE FUNCTION private.check_receipt (
  p_user_id uuid,
  p_name    text,
  p_first   boolean
)
  RETURNS text
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_object record;
begin
    if p_name is null or pg_catalog.split_part(p_name, '/', 1) <> p_user_id::text then
        perform private.raise_error(400, 'invalid_receipt', 'Upload your receipt again: the file was not found.');
    end if;
    perform private.lock_receipt(p_name);
    select o.owner_id, o.metadata into v_object from storage.objects as o where o.bucket_id = 'receipts' and o.name = p_name;
    if not found or v_object.owner_id is distinct from p_user_id::text then
        perform private.raise_error(400, 'invalid_receipt', 'Upload your receipt again: the file was not found.');
    end if;
    if exists (select 1 from private.deposit_receipts as d where d.name = p_name) then
        perform private.raise_error(409, 'receipt_used', 'This receipt belongs to another deposit. Upload a new one.');
    end if;
    if p_first and (p_name like '%.pdf' or v_object.metadata ->> 'mimetype' = 'application/pdf') then
        perform private.raise_error(400, 'receipt_must_be_image', 'The receipt of a first package must be an image: PNG, JPEG or WebP.');
    end if;
    return v_object.metadata ->> 'eTag';
end
$function$;

CREATE OR REPLACE FUNCTION private.company_tree (
  p_after integer,
  p_limit integer
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_items jsonb;
    v_total bigint;
begin
    select count(*) into v_total from private.positions as o where o.referrer_no is null;
    select pg_catalog.jsonb_agg(
        private.tree_node(o, p) || pg_catalog.jsonb_build_object('pair_state', null, 'blocked_by', null) order by o.no
    )
    into v_items
    from (
        select t.* from private.positions as t where t.referrer_no is null order by t.no offset p_after limit p_limit
    ) as o
    inner join private.profiles as p on o.user_id = p.user_id;
    return pg_catalog.jsonb_build_object(
        'root', pg_catalog.jsonb_build_object(
            'id', null, 'username', 'Company', 'display_name', 'Company', 'position', null, 'pair_number', null,
            'package_value', private.money(0), 'funded', false, 'direct_referrals', v_total, 'created_at', null
        ),
        'path', '[]'::jsonb,
        'items', coalesce(v_items, '[]'),
        'total', v_total,
        'next', case when p_after + p_limit < v_total then p_after + p_limit end
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.deposit_flags (
  p_deposit public.deposits,
  p_member  private.profiles
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_same_transfer uuid[] := array(
        select distinct o.deposit_id
        from private.deposit_keys as m
        inner join private.deposit_keys as o on m.key = o.key and m.deposit_id <> o.deposit_id
        where m.deposit_id = (p_deposit).id
    );
    v_same_file uuid[] := array(
        select o.deposit_id
        from private.deposit_receipts as m
        inner join private.deposit_receipts as o on m.etag = o.etag and m.deposit_id <> o.deposit_id
        where m.deposit_id = (p_deposit).id
    );
    v_blocked boolean := (p_member).account_status in ('suspended', 'disabled');
begin
    -- Most have none.
    if v_same_transfer = '{}' and v_same_file = '{}' and not v_blocked then
        return '[]'::jsonb;
    end if;
    return (
        select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text))
        from (
            select 'same_reference' as kind, r.text from private.repetition_texts('reference', v_same_transfer) as r (text)
            union all
            select 'same_receipt', r.text from private.repetition_texts('receipt file', v_same_file) as r (text)
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status) where v_blocked
        ) as f
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.deposits_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    if (new.id, new.user_id, new.amount, new.reference_number, new.receipt_url, new.created_at, new.kind, new.reference_key)
        is distinct from (old.id, old.user_id, old.amount, old.reference_number, old.receipt_url, old.created_at, old.kind, old.reference_key)
        or (old.status <> 'pending' and (new.status, new.admin_notes, new.decided_at, new.decided_by, new.decision_no)
            is distinct from (old.status, old.admin_notes, old.decided_at, old.decided_by, old.decision_no))
        or (old.voided_at is not null and new.voided_at is distinct from old.voided_at)
        or (new.voided_at is distinct from old.voided_at and not private.is_being_corrected(new.user_id)) then
        perform private.raise_error(403, 'append_only', 'A deposit is decided once and never changed.');
    end if;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.deposits_record_request()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_receipt text := private.receipt_name(new.receipt_url);
begin
    insert into private.deposit_receipts (deposit_id, name, etag)
    values (new.id, v_receipt, private.check_receipt(new.user_id, v_receipt, new.kind = 'first'));
    insert into private.deposit_keys (deposit_id, key)
    select distinct new.id, k.key from pg_catalog.unnest(private.reference_keys(new.reference_number)) as k (key);
    insert into private.request_texts (request_id, text) values (new.id, pg_catalog.lower(new.reference_number));
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    values (new.user_id, new.amount, 'deposit', 'pending', new.id, new.created_at);
    perform private.increment_counter('pending_deposits', 1);
    perform private.audit(private.requester(), 'deposit.requested', 'deposit', new.id, private.deposit_request_facts(new), new.created_at);
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.deposits_validate()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles;
    v_existing public.deposits;
    v_pending integer;
    v_limit integer := private.setting_text('deposit.pending_limit')::integer;
begin
    perform private.require_owner(new.user_id);
    v_member := private.lock_member(new.user_id);
    perform private.lock_request(new.id);
    -- Copied text brings a line break; a retry brings it again and is compared with the stored value.
    new.reference_number := pg_catalog.btrim(new.reference_number, E' \t\r\n');
    -- Look for a retry first: triggers run before ON CONFLICT.
    select * into v_existing from public.deposits as d where d.id = new.id;
    if found then
        if (v_existing.user_id, v_existing.amount, v_existing.reference_number, v_existing.receipt_url)
            is not distinct from (new.user_id, new.amount, new.reference_number, new.receipt_url) then
            return null;
        end if;
        perform private.raise_error(409, 'duplicate_request', 'This request was already made with other values.');
    end if;
    perform private.require_active_status(v_member.account_status);
    if v_member.id is null or v_member.email is null or v_member.trc20_wallet_address is null then
        perform private.raise_error(403, 'profile_incomplete', 'Please complete your profile and settings first');
    end if;
    if new.status <> 'pending' then
        perform private.raise_error(403, 'forbidden', 'A new request is pending until an administrator decides it.');
    end if;
    new.kind := private.deposit_kind(new.amount, v_member.package_value);
    new.reference_key := case when pg_catalog.length(new.reference_number) <= 200 then (private.reference_keys(new.reference_number))[1] end;
    if new.reference_key is null or not private.is_readable(new.reference_number) then
        perform private.raise_error(400, 'invalid_reference', 'Enter the transaction hash or reference number of your transfer.');
    end if;
    select count(*) into v_pending from public.deposits as d where d.user_id = new.user_id and d.status = 'pending';
    if v_pending >= v_limit then
        perform private.raise_error(
            409, 'too_many_pending', pg_catalog.format('You have %s deposits waiting for review. Wait for a decision or cancel one.', v_pending)
        );
    end if;
    new.created_at := private.clock();
    new.admin_notes := null;
    new.decided_at := null;
    new.decided_by := null;
    new.voided_at := null;
    new.decision_no := null;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.member_money_data (
  p_user_id uuid
)
  RETURNS TABLE (
    list text,
    item jsonb
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return query
    select 'deposits', pg_catalog.jsonb_build_object(
        'id', d.id, 'amount', private.money(d.amount), 'kind', d.kind, 'reference_number', d.reference_number, 'receipt_name', r.name,
        'status', d.status, 'admin_notes', d.admin_notes, 'created_at', d.created_at, 'decided_at', d.decided_at, 'voided_at', d.voided_at
    )
    from public.deposits as d
    left join private.deposit_receipts as r on d.id = r.deposit_id
    where d.user_id = p_user_id
    order by d.created_at, d.id;
    return query
    select 'withdrawals', pg_catalog.jsonb_build_object(
        'id', w.id, 'amount', private.money(w.amount), 'wallet_address', w.wallet_address, 'status', w.status, 'admin_notes', w.admin_notes,
        'payout_reference', w.payout_reference, 'created_at', w.created_at, 'decided_at', w.decided_at, 'payout_at', w.payout_at, 'voided_at', w.voided_at
    )
    from public.withdrawals as w where w.user_id = p_user_id
    order by w.created_at, w.id;
    return query
    select 'bonuses', pg_catalog.jsonb_build_object(
        'id', b.id, 'bonus_type', b.bonus_type, 'amount', private.money(b.amount), 'rate', private.percent(b.rate), 'volume', private.money(b.volume),
        'reentry_amount', private.money(b.reentry_amount), 'pair_number', b.pair_number, 'source_username', s.username, 'created_at', b.created_at
    )
    from public.bonuses as b
    inner join private.profiles as s on b.source_user_id = s.user_id
    where b.user_id = p_user_id
    order by b.created_at, b.id;
    return query
    select 'transactions', pg_catalog.jsonb_build_object(
        'id', t.id, 'transaction_type', t.transaction_type, 'amount', private.money(t.amount), 'status', t.status, 'reference_id', t.reference_id,
        'created_at', t.created_at
    )
    from public.transactions as t where t.user_id = p_user_id
    order by t.created_at, t.id;
    return query
    select 'receipts', pg_catalog.jsonb_build_object(
        'name', o.name, 'bytes', (o.metadata ->> 'size')::bigint, 'type', o.metadata ->> 'mimetype', 'created_at', o.created_at
    )
    from storage.objects as o
    where o.bucket_id = 'receipts' and o.name >= p_user_id || '/' and o.name < p_user_id || '0'
    order by o.created_at, o.name;
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
                v_source := '(select o.user_id as id, o.package_cents, o.no from private.positions as o)';
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
    if v_source <> p_source then
        ids := array(
            select p.id
            from pg_catalog.unnest(ids) with ordinality as u (user_id, place)
            inner join private.profiles as p on u.user_id = p.user_id
            order by u.place
        );
    end if;
    more := false;
end
$function$;

CREATE OR REPLACE FUNCTION private.network_sums (
  p_member private.profiles
)
  RETURNS private.networks
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_sums private.networks;
begin
    -- One statement: a roll-up between two would count deltas twice or not at all.
    select
        a.no, sum(a.members)::integer, sum(a.package_cents)::bigint, sum(a.referral), sum(a.pairing), sum(a.override)
    into v_sums.no, v_sums.members, v_sums.package_cents, v_sums.referral, v_sums.pairing, v_sums.override
    from (
        select o.no, n.members, n.package_cents, n.referral, n.pairing, n.override
        from private.positions as o
        inner join private.networks as n on o.no = n.no
        where o.user_id = (p_member).user_id
        union all
        select o.no, c.members, c.package_cents, c.referral, c.pairing, c.override
        from private.network_deltas as c
        inner join private.positions as q on c.no = q.no
        inner join private.profiles as p on q.user_id = p.user_id
        inner join private.positions as o on o.user_id = (p_member).user_id
        where p.id = (p_member).id or private.is_in_downline(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth)
    ) as a
    group by a.no;
    return v_sums;
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
    return pg_catalog.format(' and r.user_id in (select o.user_id from private.positions as o where o.package_cents = %s)', (p_package::numeric * 100)::bigint);
end
$function$;

CREATE OR REPLACE FUNCTION private.pair_items (
  p_no    integer,
  p_rate  numeric,
  p_after integer,
  p_limit integer
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'pair_number', q.pair_no,
                'left_child', q.left_child,
                'right_child', q.right_child,
                'pair_volume', private.money((q.left_package + q.right_package) / 100.0),
                'rate', private.percent(p_rate),
                'user_bonus', private.money(coalesce((
                    select b.amount from public.bonuses as b
                    where b.bonus_type = 'pairing' and b.subject_no = p_no and b.pair_number = q.pair_no
                ), 0)),
                'state', private.pair_state(q.left_cents, q.right_cents, q.right_child is not null, p_rate),
                'state_text', case private.pair_state(q.left_cents, q.right_cents, q.right_child is not null, p_rate)
                    when 'paying' then 'Paying'
                    when 'open' then 'Waiting for a second referral'
                    when 'no_rate' then 'Your rate is 0% without a package'
                    else pg_catalog.format(
                        'Waiting for %s to fund a package', case when q.left_cents = 0 then q.left_child else q.right_child end ->> 'username'
                    )
                end
            ) order by q.pair_no
        )
        from (
            select
                o.pair_no,
                min(o.paid_cents) filter (where o.is_left) as left_cents,
                min(o.paid_cents) filter (where not o.is_left) as right_cents,
                min(o.package_cents) filter (where o.is_left) as left_package,
                min(o.package_cents) filter (where not o.is_left) as right_package,
                (pg_catalog.jsonb_agg(private.pair_child_item(o, p)) filter (where o.is_left)) -> 0 as left_child,
                (pg_catalog.jsonb_agg(private.pair_child_item(o, p)) filter (where not o.is_left)) -> 0 as right_child
            -- A range of child numbers, two per pair.
            from private.positions as o
            inner join private.profiles as p on o.user_id = p.user_id
            where o.referrer_no = p_no and o.child_no between p_after * 2 + 1 and (p_after + p_limit) * 2
            group by o.pair_no
        ) as q
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.positions_record_network_delta()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    if tg_op = 'INSERT' then
        insert into private.network_deltas (no, day, members, package_cents)
        select new.no, (p.created_at at time zone 'UTC')::date, 1, new.package_cents
        from private.profiles as p where p.user_id = new.user_id;
    elsif not private.is_repairing() then
        insert into private.network_deltas (no, day, package_cents)
        values (new.no, (pg_catalog.now() at time zone 'UTC')::date, new.package_cents - old.package_cents);
    end if;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.profiles_create_position()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_referrer_no integer;
    v_child_no integer;
begin
    if new.referrer_id is not null then
        update private.positions as r set children = r.children + 1
        where r.user_id = (select s.user_id from private.profiles as s where s.id = new.referrer_id)
        returning r.no, r.children into v_referrer_no, v_child_no;
    end if;
    insert into private.positions (user_id, referrer_no, child_no)
    values (new.user_id, v_referrer_no, v_child_no);
    insert into private.totals (user_id) values (new.user_id);
    perform private.increment_counter('profiles', 1);
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_networks()
  RETURNS private.sum_change[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_changes private.sum_change[];
    v_direct private.sum_change[];
begin
    with wrong as materialized (
        select d.* from private.network_differences(0, 2147483647) as d
    ), staged as (
        insert into private.network_rollup_staging (no, depth, members, package_cents, referral, pairing, override)
        select w.no, p.depth, w.members, w.package_cents, w.referral, w.pairing, w.override
        from wrong as w
        inner join private.positions as o on w.no = o.no
        inner join private.profiles as p on o.user_id = p.user_id
        where (w.members, w.package_cents, w.referral, w.pairing, w.override) is distinct from (0, 0, 0, 0, 0)
    ), rebuilt as (
        insert into private.networks as n (no, direct_cents, direct_funded)
        select w.no, w.direct_cents, w.direct_funded from wrong as w where w.direct_cents <> 0 or w.direct_funded <> 0
        on conflict (no) do update set
            direct_cents = n.direct_cents + excluded.direct_cents, direct_funded = n.direct_funded + excluded.direct_funded
        returning n.no, n.direct_cents, n.direct_funded
    )
    select pg_catalog.array_agg(
        row(
            'direct_referrals', r.no, o.user_id,
            pg_catalog.jsonb_build_object('direct_cents', r.direct_cents - w.direct_cents, 'direct_funded', r.direct_funded - w.direct_funded),
            pg_catalog.jsonb_build_object('direct_cents', r.direct_cents, 'direct_funded', r.direct_funded)
        )::private.sum_change order by r.no
    )
    into v_direct
    from rebuilt as r
    inner join wrong as w on r.no = w.no
    inner join private.positions as o on r.no = o.no;
    perform private.propagate_staged_totals();
    select pg_catalog.array_agg(
        row(
            'network', s.no, o.user_id,
            pg_catalog.jsonb_build_object(
                'members', coalesce(n.members, 0), 'package_cents', coalesce(n.package_cents, 0), 'referral', private.money(coalesce(n.referral, 0)),
                'pairing', private.money(coalesce(n.pairing, 0)), 'override', private.money(coalesce(n.override, 0))
            ),
            pg_catalog.jsonb_build_object(
                'members', coalesce(n.members, 0) + s.members, 'package_cents', coalesce(n.package_cents, 0) + s.package_cents,
                'referral', private.money(coalesce(n.referral, 0) + s.referral), 'pairing', private.money(coalesce(n.pairing, 0) + s.pairing),
                'override', private.money(coalesce(n.override, 0) + s.override)
            )
        )::private.sum_change order by s.no
    )
    into v_changes
    from private.network_rollup_staging as s
    inner join private.positions as o on s.no = o.no
    left join private.networks as n on s.no = n.no
    where (s.members, s.package_cents, s.referral, s.pairing, s.override) is distinct from (0, 0, 0, 0, 0);
    -- A team that turns out to be large gets days of its own with the next roll-up of one of its members.
    perform private.finalise_network_roll_up();
    return v_direct || v_changes;
end
$function$;

CREATE OR REPLACE FUNCTION private.receipts_reject_delete()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    perform private.lock_receipt(old.name);
    if exists (select 1 from private.deposit_receipts as d where d.name = old.name) then
        perform private.raise_storage_error('A receipt of a deposit is kept.');
    end if;
    return old;
end
$function$;

CREATE OR REPLACE FUNCTION private.receipts_validate()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
    v_files integer;
    v_bytes bigint;
    v_hour integer;
    v_day integer;
begin
    if tg_op = 'UPDATE' and old.bucket_id = 'receipts' and (new.bucket_id, new.name, new.owner_id) is distinct from (old.bucket_id, old.name, old.owner_id) then
        perform private.raise_storage_error('Receipts are kept as they are.');
    end if;
    if tg_op = 'UPDATE' or new.bucket_id is distinct from 'receipts' then
        return new;
    end if;
    -- Existing name: a plain upload then fails as a duplicate, an upsert in the branch above.
    if exists (select 1 from storage.objects as o where o.bucket_id = 'receipts' and o.name = new.name) then
        return new;
    end if;
    if new.owner_id is null or new.name !~ ('\A' || new.owner_id || '/[0-9]{10,16}\.(png|jpg|jpeg|webp|pdf)\Z') then
        perform private.raise_storage_error('A receipt is named by your own id and the time.');
    end if;
    -- Serialise a member's uploads, so that the limits hold; the lock ends with this short transaction.
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('receipts_of_owner'), pg_catalog.hashtext(new.owner_id));
    select
        count(*) filter (where f.unused), coalesce(sum(f.size) filter (where f.unused), 0),
        count(*) filter (where f.created_at > v_now - interval '1 hour'),
        count(*) filter (where f.created_at > v_now - interval '1 day')
    into v_files, v_bytes, v_hour, v_day
    from (
        select
            o.created_at, (o.metadata ->> 'size')::bigint as size,
            not exists (select 1 from private.deposit_receipts as d where d.name = o.name) as unused
        from private.receipt_uploads as u
        inner join storage.objects as o on o.bucket_id = 'receipts' and u.name = o.name
        where u.name >= new.owner_id || '/' and u.name < new.owner_id || '0'
    ) as f;
    if v_files >= 20 or v_bytes >= 52428800 then
        perform private.raise_storage_error('You have 20 receipts or 50 MB that no deposit uses. They are deleted after a day.');
    end if;
    if v_hour >= 10 then
        perform private.raise_storage_error('You have uploaded 10 receipts within an hour. Try again later.');
    end if;
    if v_day >= 20 then
        perform private.raise_storage_error('You have uploaded 20 receipts within a day. Try again tomorrow.');
    end if;
    insert into private.receipt_uploads (name) values (new.name) on conflict do nothing;
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.sound_discrepancies (
  p_due private.due_bonus[]
)
  RETURNS private.due_bonus[]
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
    v_disordered integer[];
begin
    if exists (select 1 from private.plan_discrepancies) then
        return '{}'::private.due_bonus[];
    end if;
    v_disordered := array(
        select o.no
        from (
            select
                w.subject_no,
                2 * max(w.pair_number) as referrals
            from pg_catalog.unnest(p_due) as w
            where w.bonus_type <> 'referral'
            group by w.subject_no
        ) as d
        inner join private.positions as o on d.subject_no = o.no
        where array(
            select c.user_id from private.positions as c
            where c.referrer_no = o.no and c.child_no <= d.referrals
            order by c.child_no
        ) is distinct from array(
            select p.user_id from private.profiles as p
            where p.referrer_id = (select s.id from private.profiles as s where s.user_id = o.user_id)
            order by p.created_at, p.id limit d.referrals
        )
    );
    return array(
        select d from pg_catalog.unnest(p_due) as d
        where (d).bonus_type = 'referral' or (d).subject_no <> all(v_disordered)
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.team_day_discrepancies (
  p_teams integer
)
  RETURNS TABLE (
    no  integer,
    day date
  )
  LANGUAGE plpgsql
  SET search_path TO ''
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET enable_indexscan TO 'on'
  AS $function$
begin
    return query
    with recursive teams as materialized (
        (select n.no from private.networks as n where n.has_days order by pg_catalog.random() limit p_teams)
        union
        select n.no from private.networks as n inner join private.positions_with_alarm('I30') as a (no) on n.no = a.no where n.has_days
    ),

    downline as (
        select t.no as top_no, t.no, false as has_days from teams as t
        union all
        select b.top_no, c.no, coalesce(n.has_days, false)
        from downline as b
        inner join private.positions as c on b.no = c.referrer_no
        left join private.networks as n on c.no = n.no
        -- A large team within it has its own days, checked separately.
        where not b.has_days
    ),

    found as (
        select b.top_no, (p.created_at at time zone 'UTC')::date as day, 1 as members, 0 as funded
        from downline as b
        inner join private.positions as o on b.no = o.no
        inner join private.profiles as p on o.user_id = p.user_id
        where b.no <> b.top_no
        union all
        select b.top_no, (r.created_at at time zone 'UTC')::date, 0, 1
        from downline as b inner join public.bonuses as r on r.bonus_type = 'referral' and b.no = r.subject_no and r.amount > 0
        where b.no <> b.top_no
        union all
        select b.top_no, d.day, d.members, d.funded from downline as b inner join private.team_days as d on b.no = d.no where b.has_days
        union all
        select b.top_no, c.day, -c.members, -c.funded
        from downline as b inner join private.network_deltas as c on b.no = c.no where b.no <> b.top_no
        union all
        select t.no, d.day, -d.members, -d.funded from teams as t inner join private.team_days as d on t.no = d.no
    )
    select f.top_no, f.day
    from found as f group by f.top_no, f.day having sum(f.members) <> 0 or sum(f.funded) <> 0;
end
$function$;

CREATE OR REPLACE FUNCTION private.team_growth (
  p_member private.profiles,
  p_no     integer
)
  RETURNS TABLE (
    day     date,
    members integer,
    funded  integer
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  AS $function$
begin
    if (select n.has_days from private.networks as n where n.no = p_no) then
        return query
        select d.day, d.members, d.funded from private.team_days as d where d.no = p_no
        union all
        select c.day, c.members, c.funded
        from private.network_deltas as c
        inner join private.positions as o on c.no = o.no
        inner join private.profiles as p on o.user_id = p.user_id
        where (c.members <> 0 or c.funded <> 0)
            and private.is_in_downline(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth);
        return;
    end if;
    return query
    with team as (
        -- A member counts as funded from the moment of the referral bonus.
        select p.created_at as joined_at, b.created_at as funded_at
        from private.network_positions(p_no) as n
        inner join private.positions as o on n.no = o.no
        inner join private.profiles as p on o.user_id = p.user_id
        left join public.bonuses as b on b.bonus_type = 'referral' and o.no = b.subject_no and b.amount > 0
        where n.level > 0
    )
    select (t.joined_at at time zone 'UTC')::date, 1, 0 from team as t
    union all
    select (t.funded_at at time zone 'UTC')::date, 0, 1 from team as t where t.funded_at is not null;
end
$function$;

CREATE OR REPLACE FUNCTION private.team_search_ids (
  p_member  private.profiles,
  p_no      integer,
  p_pattern text,
  p_limit   integer
)
  RETURNS uuid[]
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  SET plan_cache_mode TO 'force_custom_plan'
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET enable_seqscan TO 'off'
  AS $function$
declare
    -- A trigram needs three characters; with fewer, everything would match.
    v_indexed boolean := pg_catalog.length(p_pattern) >= 5;
    v_members integer := coalesce((select n.members from private.networks as n where n.no = p_no), 1);
    v_found uuid[];
begin
    if v_indexed then
        v_found := array(
            select p.id from private.profiles as p
            where private.member_search_text(p.username, p.display_name, p.email) like p_pattern
            limit 2001
        );
        if pg_catalog.cardinality(v_found) <= 2000 then
            return array(
                select p.id from private.profiles as p
                where p.id = any(v_found)
                    and (pg_catalog.lower(p.username) like p_pattern or pg_catalog.lower(p.display_name) like p_pattern)
                    and (p.id = (p_member).id or private.is_in_downline(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth))
                order by p.created_at, p.id limit p_limit
            );
        end if;
    end if;
    if v_members <= 50000 then
        return array(
            select p.id
            from private.network_positions(p_no) as n
            inner join private.positions as o on n.no = o.no
            inner join private.profiles as p on o.user_id = p.user_id
            where pg_catalog.lower(p.username) like p_pattern or pg_catalog.lower(p.display_name) like p_pattern
            order by p.created_at, p.id limit p_limit
        );
    end if;
    -- A frequent text in a large team: the first matches come early in the order of joining.
    return array(
        select p.id from private.profiles as p
        where (pg_catalog.lower(p.username) like p_pattern or pg_catalog.lower(p.display_name) like p_pattern)
            and (p.id = (p_member).id or private.is_in_downline(p.referrer_id, p.jump, p.depth, (p_member).id, (p_member).depth))
        order by p.created_at, p.id limit p_limit
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.transaction_history (
  p_user_id   uuid,
  p_type      text,
  p_status    text,
  p_from      timestamp with time zone,
  p_to        timestamp with time zone,
  p_before_at timestamp with time zone,
  p_before_id uuid,
  p_limit     integer
)
  RETURNS TABLE (
    created_at timestamp with time zone,
    id         uuid,
    item       jsonb
  )
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_bitmapscan TO 'off'
  SET enable_seqscan TO 'off'
  AS $function$
begin
    return query
    -- Select all columns here: looking the rows up again would cost as much as finding them.
    with page (
        created_at, id, source, amount, kind, status, source_user_id, subject_no, pair_number, rate, volume, reentry_amount,
        reference, wallet_address, admin_notes, decided_at, payout_reference
    ) as materialized (
        (
            select
                b.created_at, b.id, 'bonus', b.amount::numeric, b.bonus_type || ' bonus', 'completed', b.source_user_id, b.subject_no,
                b.pair_number, b.rate, b.volume, b.reentry_amount, null::text, null::text, null::text, null::timestamptz, null::text
            from public.bonuses as b
            where
                b.user_id = p_user_id
                -- A correction set the others to zero.
                and b.amount > 0
                and (b.created_at, b.id) < (p_before_at, p_before_id)
                and b.created_at >= p_from and b.created_at < p_to
                and (p_type is null or p_type = 'bonus' or p_type = b.bonus_type || ' bonus')
                and (p_status is null or p_status = 'completed')
            order by b.created_at desc, b.id desc
            limit p_limit
        )
        union all
        (
            select
                d.created_at, d.id, 'deposit', d.amount, 'deposit', d.status::text, null, null,
                null, null, null, null, d.reference_number, null, d.admin_notes, d.decided_at, null
            from public.deposits as d
            where
                d.user_id = p_user_id
                and (d.created_at, d.id) < (p_before_at, p_before_id)
                and d.created_at >= p_from and d.created_at < p_to
                and (p_type is null or p_type = 'deposit')
                and (p_status is null or p_status = d.status::text)
            order by d.created_at desc, d.id desc
            limit p_limit
        )
        union all
        (
            select
                w.created_at, w.id, 'withdrawal', -w.amount, 'withdrawal', w.status::text, null, null,
                null, null, null, null, null, w.wallet_address, w.admin_notes, w.decided_at, w.payout_reference
            from public.withdrawals as w
            where
                w.user_id = p_user_id
                and (w.created_at, w.id) < (p_before_at, p_before_id)
                and w.created_at >= p_from and w.created_at < p_to
                and (p_type is null or p_type = 'withdrawal')
                and (p_status is null or p_status = w.status::text)
            order by w.created_at desc, w.id desc
            limit p_limit
        )
        union all
        (
            select
                t.created_at, t.id, 'transaction', t.amount, 'correction', t.status::text, null, null,
                null, null, null, null, null, null, null, null, null
            from (
                select * from public.transactions as j
                where j.reference_id = any(array(select c.id from private.corrections as c where c.user_id = p_user_id))
                offset 0
            ) as t
            where
                (t.created_at, t.id) < (p_before_at, p_before_id)
                and t.created_at >= p_from and t.created_at < p_to
                and (p_type is null or p_type = 'correction')
                and (p_status is null or p_status = t.status::text)
            order by t.created_at desc, t.id desc
            limit p_limit
        )
        order by 1 desc, 2 desc
        limit p_limit
    )
    select
        g.created_at,
        g.id,
        pg_catalog.jsonb_build_object(
            'id', g.id,
            'user_id', p_user_id,
            'amount', private.money(g.amount),
            'transaction_type', g.kind,
            'status', g.status,
            'created_at', g.created_at,
            'source', g.source,
            'counterparty', coalesce(s.username, private.short_address(g.wallet_address)),
            'pair_number', g.pair_number,
            'pair_names', case when g.pair_number is not null then (
                select pg_catalog.jsonb_agg(c.username order by o.child_no)
                from private.positions as o
                inner join private.profiles as c on o.user_id = c.user_id
                where o.referrer_no = g.subject_no and o.child_no in (g.pair_number * 2 - 1, g.pair_number * 2)
            ) end,
            'rate', private.percent(g.rate),
            'volume', private.money(g.volume),
            'reentry', private.money(g.reentry_amount),
            'reference', g.reference,
            'wallet_address', g.wallet_address,
            'admin_notes', g.admin_notes,
            'decided_at', g.decided_at,
            'payout_reference', g.payout_reference,
            'can_cancel', g.status = 'pending' and g.source in ('deposit', 'withdrawal')
        )
    from page as g
    left join private.profiles as s on g.source_user_id = s.user_id
    order by g.created_at desc, g.id desc;
end
$function$;

CREATE OR REPLACE FUNCTION private.tree_children (
  p_referrer_no integer,
  p_rate        numeric,
  p_after       integer,
  p_limit       integer
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'id', c.id, 'username', c.username, 'display_name', c.display_name, 'position', c.child_no,
                'pair_number', c.pair_no, 'package_value', private.money(c.package_value), 'funded', c.paid_cents > 0,
                'direct_referrals', c.children, 'created_at', c.created_at, 'pair_state', c.state,
                'blocked_by', case when c.state = 'blocked' then case when c.left_cents = 0 then c.left_name else c.right_name end end
            ) order by c.child_no
        )
        from (
            select
                m.*,
                case
                    when m.right_cents is null then 'open'
                    when m.left_cents = 0 or m.right_cents = 0 then 'blocked'
                    when p_rate = 0 then 'no_rate'
                    else 'paying'
                end as state
            from (
                select
                    o.child_no, o.pair_no, o.paid_cents, o.children,
                    p.id, p.username, p.display_name, p.package_value, p.created_at,
                    min(o.paid_cents) filter (where o.is_left) over pair as left_cents,
                    min(o.paid_cents) filter (where not o.is_left) over pair as right_cents,
                    min(p.username) filter (where o.is_left) over pair as left_name,
                    min(p.username) filter (where not o.is_left) over pair as right_name
                -- A range of child numbers in whole pairs, so that both members of each are selected.
                from private.positions as o
                inner join private.profiles as p on o.user_id = p.user_id
                where o.referrer_no = p_referrer_no and o.child_no between p_after + 1 and p_after + p_limit
                window pair as (partition by o.pair_no)
            ) as m
        ) as c
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.find_receipt (
  p_receipt_url text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_receipt private.deposit_receipts;
begin
    select * into v_receipt from private.deposit_receipts as d where d.name = private.receipt_name(p_receipt_url);
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no deposit with this receipt.');
    end if;
    perform private.audit('admin:' || v_admin.id, 'deposit.receipt_opened', 'deposit', v_receipt.deposit_id);
    return pg_catalog.jsonb_build_object('bucket', 'receipts', 'name', v_receipt.name);
end
$function$;

CREATE OR REPLACE FUNCTION public.get_member (
  p_profile_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles;
    v_totals private.totals;
    v_children integer;
    v_referrer jsonb;
begin
    perform private.require_admin();
    select p.* into v_member from private.profiles as p where p.id = p_profile_id;
    if v_member.id is null then
        perform private.raise_error(404, 'not_found', 'There is no such member.');
    end if;
    select t.* into v_totals from private.totals as t where t.user_id = v_member.user_id;
    select o.children into v_children from private.positions as o where o.user_id = v_member.user_id;
    select pg_catalog.jsonb_build_object('id', s.id, 'username', s.username, 'display_name', s.display_name)
    into v_referrer
    from private.profiles as s where s.id = v_member.referrer_id;
    return private.member_item(v_member) || pg_catalog.jsonb_build_object(
        'sponsor', v_referrer,
        'wallet_checksum_ok', case
            when v_member.trc20_wallet_address is not null then private.is_trc20_address(v_member.trc20_wallet_address)
        end,
        'statistics', pg_catalog.jsonb_build_object(
            'total_bonuses', private.money(v_totals.bonus_amount),
            'total_deposits', private.money(v_member.cash_in_amount),
            'total_withdrawals', private.money(v_totals.withdrawn_amount),
            'direct_referrals', v_children,
            'net_balance', private.money(v_member.cash_in_amount - v_totals.withdrawn_amount + v_totals.bonus_amount)
        )
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.get_team_tree (
  p_root  uuid    DEFAULT NULL::uuid,
  p_after integer DEFAULT NULL::integer,
  p_limit integer DEFAULT NULL::integer
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_root private.profiles := private.visible_root(p_root);
    v_position private.positions;
    v_rate numeric;
    v_tree jsonb;
    -- Whole pairs only: an even number of rows after an even position.
    v_limit integer := (private.page_limit(p_limit, 50, 200) + 1) / 2 * 2;
    v_after integer := greatest(coalesce(p_after, 0), 0) / 2 * 2;
begin
    if v_root.id is null then
        v_tree := private.company_tree(v_after, v_limit);
        return v_tree || pg_catalog.jsonb_build_object('root', (v_tree -> 'root') || private.company_totals());
    end if;
    select o.* into v_position from private.positions as o where o.user_id = v_root.user_id;
    select coalesce(max(k.pairing_percent), 0) into v_rate
    from private.packages as k where k.value = v_root.package_value;
    return pg_catalog.jsonb_build_object(
        'root', private.tree_node(v_position, v_root) || private.team_totals(v_root, v_position),
        'path', private.tree_path(v_root),
        'items', coalesce(private.tree_children(v_position.no, v_rate, v_after, v_limit), '[]'),
        'total', v_position.children,
        'next', case when v_after + v_limit < v_position.children then v_after + v_limit end
    );
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
        then '(select m.*, o.package_cents, o.no from private.positions as o inner join private.profiles as m on o.user_id = m.user_id)'
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

create view private.position_discrepancies as
select
    q.no,
    q.user_id,
    pg_catalog.jsonb_build_object(
        'package_cents', q.package_cents, 'paid_cents', q.paid_cents, 'children', q.children, 'paid_order', q.paid_order
    ) as old,
    pg_catalog.jsonb_build_object(
        'package_cents', q.due_package, 'paid_cents', q.due_paid, 'children', q.due_children, 'paid_order', q.due_order
    ) as new
from (
    select
        o.no,
        o.user_id,
        o.package_cents,
        o.paid_cents,
        o.children,
        o.paid_order,
        n.package_cents as due_package,
        n.paid_cents as due_paid,
        coalesce(c.children, 0)::integer as due_children,
        case when n.paid_cents > 0 then coalesce(f.decision_no, d.decision_no) end as due_order
    from private.positions as o
    inner join private.profiles as p on o.user_id = p.user_id
    cross join
        lateral (
            select
                (p.package_value * 100)::integer as package_cents,
                case when p.cash_in_amount >= p.package_value then (p.package_value * 100)::integer else 0 end as paid_cents
        ) as n
    left join (
        select
            r.referrer_no,
            count(*) as children
        from private.positions as r
        group by r.referrer_no
    ) as c on o.no = c.referrer_no
    left join (
        select
            a.user_id,
            min(a.decision_no) as decision_no
        from public.deposits as a
        where a.status = 'approved'
        group by a.user_id
    ) as d on o.user_id = d.user_id
    left join private.corrected_fundings as f on o.user_id = f.user_id
) as q
where (q.package_cents, q.paid_cents, q.children, q.paid_order) is distinct from (q.due_package, q.due_paid, q.due_children, q.due_order);

CREATE VIEW "private"."sibling_discrepancies" AS  SELECT s.no,
    s.referrer_no
   FROM ( SELECT c.no,
            c.referrer_no,
            c.child_no,
            row_number() OVER (PARTITION BY c.referrer_no ORDER BY p.created_at, p.id) AS due_no
           FROM (private.positions c
             JOIN private.profiles p ON ((c.user_id = p.user_id)))
          WHERE (c.referrer_no IS NOT NULL)) s
  WHERE (s.child_no <> s.due_no);

create view private.ledger_violations as
with earned as materialized (
    select
        b.user_id,
        sum(b.amount_cents) * 0.01 as total,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'referral'), 0) * 0.01 as referral,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'pairing'), 0) * 0.01 as pairing,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'override'), 0) * 0.01 as override,
        sum(b.reentry_amount) as reentry,
        count(*) filter (where b.bonus_type = 'referral' and b.amount_cents > 0) as referrals,
        count(*) filter (where b.bonus_type = 'pairing' and b.amount_cents > 0) as pairings,
        count(*) filter (where b.bonus_type = 'override' and b.amount_cents > 0) as overrides
    from public.bonuses as b
    group by b.user_id
),

claimed as materialized (
    select
        d.user_id,
        coalesce(sum(d.amount) filter (where d.status = 'approved' and d.voided_at is null), 0) as recounted,
        coalesce(sum(d.amount) filter (where d.status = 'approved'), 0) as approved,
        coalesce(max(k.value) filter (where d.status = 'approved' and d.voided_at is null), 0) as package,
        min(d.decision_no) filter (where d.status = 'approved') as first_decision_no,
        count(*) filter (where d.status = 'pending') as pending_rows,
        count(*) filter (where d.status = 'approved') as approved_rows,
        count(*) filter (where d.status = 'rejected') as rejected_rows
    from public.deposits as d left join private.packages as k on d.amount = k.value
    group by d.user_id
),

drawn as materialized (
    select
        w.user_id,
        coalesce(sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null), 0) as recounted,
        coalesce(sum(w.amount) filter (where w.status = 'pending'), 0) as reserved,
        count(*) filter (where w.status = 'pending') as pending_rows,
        count(*) filter (where w.status = 'approved') as approved_rows,
        count(*) filter (where w.status = 'rejected') as rejected_rows
    from public.withdrawals as w
    group by w.user_id
),

journal as materialized (
    select
        t.user_id,
        coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount,
        count(*) filter (where t.status = 'completed' and t.decision_no is null) as undecided_rows,
        count(*) filter (where t.transaction_type = 'bonus') as bonus_rows,
        min(t.created_at) as first_at,
        max(t.created_at) as last_at,
        coalesce(sum(abs(t.amount)) filter (where t.transaction_type = 'bonus'), 0) as bonus_volume
    from public.transactions as t
    group by t.user_id
),

-- Members with any discrepancy.
members as materialized (
    select m.*
    from (
        select
            p.user_id,
            coalesce(j.amount, 0) <> p.cash_in_amount + coalesce(b.total, 0) - coalesce(w.recounted, 0) as wrong_journal,
            (
                (s.referral_amount, s.pairing_amount, s.override_amount, s.reentry_amount, s.withdrawn_amount, s.reserved_amount)
                is distinct from (
                    coalesce(b.referral, 0), coalesce(b.pairing, 0), coalesce(b.override, 0), coalesce(b.reentry, 0),
                    coalesce(w.recounted, 0), coalesce(w.reserved, 0)
                )
            ) as wrong_totals,
            (
                (s.referral_count, s.pairing_count, s.override_count)
                is distinct from (coalesce(b.referrals, 0), coalesce(b.pairings, 0), coalesce(b.overrides, 0))
            ) as wrong_counts,
            -- A clock may step back, and is days ahead at most.
            coalesce(j.first_at < '2020-01-01 00:00+00' or j.last_at > clock_timestamp() + interval '7 days', false) as wrong_times,
            p.cash_in_amount <> coalesce(d.recounted, 0) as wrong_cash_in,
            p.package_value <> coalesce(d.package, 0) as wrong_package
        from private.profiles as p
        left join private.totals as s on p.user_id = s.user_id
        left join journal as j on p.user_id = j.user_id
        left join earned as b on p.user_id = b.user_id
        left join claimed as d on p.user_id = d.user_id
        left join drawn as w on p.user_id = w.user_id
    ) as m
    where m.wrong_journal or m.wrong_totals or m.wrong_counts or m.wrong_times or m.wrong_cash_in or m.wrong_package
),

-- Sources and journal rows that do not match.
bonus_entries as materialized (
    select
        b.id as source_id,
        b.user_id,
        j.reference_id,
        (coalesce(j.amount, 0) <> b.amount) as wrong_amount,
        -- The first is the one of the first decision: a clock can step back.
        (j.first_at <> extract(epoch from b.created_at) * 1000000) as wrong_time
    from public.bonuses as b
    full join (
        select
            t.reference_id,
            coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount,
            (min(array[t.decision_no, (extract(epoch from t.created_at) * 1000000)::bigint]))[2] as first_at
        from public.transactions as t
        where t.transaction_type = 'bonus'
        group by t.reference_id
    ) as j on b.id = j.reference_id
    where b.id is null or coalesce(j.amount, 0) <> b.amount or j.first_at <> extract(epoch from b.created_at) * 1000000
),

deposit_entries as materialized (
    select
        d.id as source_id,
        t.id as entry_id,
        t.reference_id,
        coalesce(d.user_id, t.user_id) as user_id,
        (t.created_at <> d.created_at) as wrong_time,
        (
            (t.user_id, t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                d.user_id,
                d.amount::numeric,
                d.decision_no,
                case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
            )
        ) as wrong_entry
    from public.deposits as d
    full join (
        select * from public.transactions as j
        where j.transaction_type = 'deposit'
    ) as t
        on d.id = t.reference_id
    where (t.user_id, t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
        d.user_id,
        d.amount::numeric,
        d.decision_no,
        case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end,
        d.created_at
    )
),

withdrawal_entries as materialized (
    select
        w.id as source_id,
        t.id as entry_id,
        t.reference_id,
        coalesce(w.user_id, t.user_id) as user_id,
        (t.created_at <> w.created_at) as wrong_time,
        (
            (t.user_id, t.amount::numeric, t.decision_no, t.status::text) is distinct from (
                w.user_id,
                -w.amount::numeric,
                w.decision_no,
                case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
            )
        ) as wrong_entry
    from public.withdrawals as w
    full join (
        select * from public.transactions as j
        where j.transaction_type = 'withdrawal'
    ) as t
        on w.id = t.reference_id
    where (t.user_id, t.amount::numeric, t.decision_no, t.status::text, t.created_at) is distinct from (
        w.user_id,
        -w.amount::numeric,
        w.decision_no,
        case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end,
        w.created_at
    )
),

bonus_rows as materialized (
    select r.*
    from (
        select
            b.id,
            b.user_id,
            (b.user_id is distinct from case when b.bonus_type = 'pairing' then s.user_id else u.user_id end)
            or (b.bonus_type <> 'pairing' and b.source_user_id is distinct from s.user_id)
            or (b.amount > 0 and (b.rate is distinct from case b.bonus_type
                when 'referral' then private.referral_percent()
                when 'override' then private.override_percent()
                else k.pairing_percent
            end)) as wrong_owner,
            b.user_id = b.source_user_id as from_oneself,
            b.amount not between 0.01 and 10000000 as wrong_amount,
            b.amount
        from public.bonuses as b
        left join private.positions as s on b.subject_no = s.no
        left join private.positions as u on s.referrer_no = u.no
        left join private.packages as k on s.package_cents = k.value_cents
    ) as r
    where r.wrong_owner or r.from_oneself or r.wrong_amount
),

places as materialized (
    select l.*
    from (
        select
            p.id,
            p.user_id,
            o.no,
            p.depth <> coalesce(s.depth + 1, 0) as wrong_depth,
            s.created_at >= p.created_at as older_than_referrer,
            (r.user_id is distinct from s.user_id)
            or o.package_cents <> p.package_value * 100
            or o.paid_cents <> case when p.cash_in_amount >= p.package_value then p.package_value * 100 else 0 end
            or ((o.children, o.children) is distinct from (coalesce(c.children, 0)::integer, coalesce(c.last, 0))) as wrong_place
        from private.profiles as p
        left join private.profiles as s on p.referrer_id = s.id
        left join private.positions as o on p.user_id = o.user_id
        left join private.positions as r on o.referrer_no = r.no
        left join (
            select
                c.referrer_no,
                count(*) as children,
                max(c.child_no) as last
            from private.positions as c
            where c.referrer_no is not null
            group by c.referrer_no
        ) as c on o.no = c.referrer_no
    ) as l
    where l.wrong_depth or l.older_than_referrer or l.wrong_place or l.no is null
)

-- I01 The journal rows of a bonus sum to its amount.
select
    'I01' as rule,
    e.source_id::text as object,
    e.user_id,
    null::jsonb as details
from bonus_entries as e
where e.source_id is not null and e.wrong_amount
union all
-- I02 The completed journal of a member is cash-in + bonuses - approved withdrawals.
select
    'I02',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_journal
union all
-- I03 An approved deposit has its completed journal row, a pending one a pending row, a rejected one a failed row, with
-- the number of the same decision.
select
    'I03',
    e.source_id::text,
    e.user_id,
    null
from deposit_entries as e
where e.source_id is not null and e.wrong_entry
union all
-- I04 The same for withdrawals, negative.
select
    'I04',
    e.source_id::text,
    e.user_id,
    null
from withdrawal_entries as e
where e.source_id is not null and e.wrong_entry
union all
-- I05 Every journal row has a source.
select
    'I05',
    o.entry_id::text,
    o.user_id,
    null
from (
    select
        d.entry_id,
        d.reference_id,
        d.user_id
    from deposit_entries as d
    where d.source_id is null
    union all
    select
        w.entry_id,
        w.reference_id,
        w.user_id
    from withdrawal_entries as w
    where w.source_id is null
    union all
    select
        t.id,
        t.reference_id,
        t.user_id
    from bonus_entries as b inner join public.transactions as t on t.transaction_type = 'bonus' and b.reference_id = t.reference_id
    where b.source_id is null
) as o
where
    not exists (
        select 1 from private.corrections as c
        where c.id = o.reference_id and c.confirmed_by is not null
    )
union all
-- I06 One journal row per deposit and withdrawal.
select
    'I06',
    t.reference_id::text,
    min(t.user_id::text)::uuid,
    null
from public.transactions as t
where t.transaction_type <> 'bonus'
group by t.transaction_type, t.reference_id
having count(*) > 1
union all
-- I07 Totals equal the sums of their rows (I37: the counts), so the balance is max(0, bonuses - approved withdrawals).
select
    'I07',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_totals
union all
-- I08 The balance before max(0, ...) is not negative, unless corrections made it so: the maximum would hide a loss.
select
    'I08',
    s.user_id::text,
    s.user_id,
    jsonb_build_object('shortfall', s.shortfall, 'caused_by_corrections', s.excused)
from private.shortfall_discrepancies as s
union all
-- I09 Cash-in equals the approved deposits that count.
select
    'I09',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_cash_in
union all
-- I10 One row per natural key; I11 checks owner and source.
select
    'I10',
    b.bonus_type || ' ' || b.subject_no || ' ' || coalesce(b.pair_number::text, ''),
    min(b.user_id::text)::uuid,
    null
from public.bonuses as b
group by b.bonus_type, b.subject_no, b.pair_number
having count(*) > 1
union all
-- I11 Bonuses match tree and packages, and are paid to the right members.
select
    'I11',
    w.bonus_type || ' ' || w.subject_no || ' ' || coalesce(w.pair_number::text, ''),
    o.user_id,
    null
from unnest(private.all_bonus_discrepancies()) as w
left join private.positions as s on w.subject_no = s.no
-- A bonus that is no longer due has no owner in the comparison.
left join private.positions as o on coalesce(w.user_no, case w.bonus_type when 'pairing' then s.no else s.referrer_no end) = o.no
union all
select
    'I11',
    b.id::text,
    b.user_id,
    null
from bonus_rows as b
where b.wrong_owner
union all
-- I12 Nobody earns a bonus from oneself.
select
    'I12',
    b.id::text,
    b.user_id,
    null
from bonus_rows as b
where b.from_oneself
union all
-- I13 A package follows from the approved deposits, and after a correction from that.
select
    'I13',
    m.user_id::text,
    m.user_id,
    null
from (
    select w.user_id from members as w
    where w.wrong_package
    union
    select c.user_id from private.corrections as c
    where c.confirmed_by is not null
) as m
inner join private.profiles as p on m.user_id = p.user_id
where p.package_value <> private.due_package(m.user_id)
union all
-- I14 A member's depth is the referrer's plus one, a root's 0: so there is no cycle.
select
    'I14',
    l.id::text,
    l.user_id,
    null
from places as l
where l.wrong_depth
union all
-- I15 A referrer is older than the referred member.
select
    'I15',
    l.id::text,
    l.user_id,
    null
from places as l
where l.older_than_referrer
union all
-- I16 Amounts are finite and in range. A bonus is zero only when a correction or a repair was the last to change it.
select
    'I16',
    d.id::text,
    d.user_id,
    null
from public.deposits as d
where d.amount not between 1 and 10000000
union all
select
    'I16',
    w.id::text,
    w.user_id,
    null
from public.withdrawals as w
where w.amount not between 100 and 10000000
union all
select
    'I16',
    b.id::text,
    b.user_id,
    null
from bonus_rows as b
where
    b.wrong_amount
    and not (b.amount = 0 and exists (
        select 1
        from (
            select
                t.amount,
                t.decision_no
            from public.transactions as t
            where t.transaction_type = 'bonus' and t.reference_id = b.id
            order by t.decision_no desc nulls last
            limit 1
        ) as l
        inner join private.corrections as c on l.decision_no = c.decision_no and c.confirmed_by is not null
        where l.amount < 0
    ))
    -- Or a repair set it to zero, because it was never due.
    and not exists (
        select 1 from private.audit_log as a
        where
            a.actor = 'system'
            and a.action = 'books.repaired'
            and a.payload -> 'repairs' @> jsonb_build_array(jsonb_build_object('bonus_id', b.id, 'new_amount', '0.00'))
    )
union all
-- I17 Decided rows have a time and a decider; a member's own cancellation and a closed account have no decider.
select
    'I17',
    r.id::text,
    r.user_id,
    null
from (
    select
        d.id,
        d.user_id,
        d.status,
        d.decided_at,
        d.decided_by,
        d.admin_notes
    from public.deposits as d
    union all
    select
        w.id,
        w.user_id,
        w.status,
        w.decided_at,
        w.decided_by,
        w.admin_notes
    from public.withdrawals as w
) as r
where
    (r.status = 'pending') <> (r.decided_at is null)
    or (r.status = 'pending' and r.decided_by is not null)
    or (r.status <> 'pending' and r.decided_by is null and coalesce(r.admin_notes, '') not in ('Cancelled by the member', 'Account closed'))
union all
-- I18 Usernames are unique ignoring case.
select
    'I18',
    p.user_id::text,
    p.user_id,
    null
from (
    select lower(q.username) as username from private.profiles as q
    group by lower(q.username)
    having count(*) > 1
) as u inner join private.profiles as p on u.username = lower(p.username)
union all
-- I19 A transfer is approved once.
select
    'I19',
    t.deposit_id::text,
    t.user_id,
    null
from private.transfers_credited_twice as t
union all
-- I20 The receipt exists, in the member's folder, owned by the member, and is the file that was sent.
select
    'I20',
    d.id::text,
    d.user_id,
    null
from public.deposits as d
left join private.deposit_receipts as r on d.id = r.deposit_id
left join storage.objects as o on o.bucket_id = 'receipts' and r.name = o.name
where
    o.owner_id is distinct from d.user_id::text or split_part(r.name, '/', 1) <> d.user_id::text
    or o.metadata ->> 'eTag' is distinct from r.etag
union all
-- I21 Bonuses never exceed 56% of funded packages.
select
    'I21',
    'all',
    null,
    null
where
    (select coalesce(sum(e.total), 0) from earned as e)
    > 0.56 * (select coalesce(sum(p.paid_cents), 0) * 0.01 from private.positions as p)
union all
-- I22 No more is paid out than was received, including deposits voided later, which counted at the time.
select
    'I22',
    'all',
    null,
    null
where (select coalesce(sum(w.recounted), 0) from drawn as w) > (select coalesce(sum(d.approved), 0) from claimed as d)
union all
-- I23 Child numbers are unique and have no gap, and a position has the member's package.
select
    'I23',
    l.no::text,
    l.user_id,
    null
from places as l
where l.no is not null and l.wrong_place
union all
select
    'I23',
    l.id::text,
    l.user_id,
    null
from places as l
where l.no is null
union all
-- I24 One active or suspended subscription per member and bot.
select
    'I24',
    min(s.id::text),
    s.user_id,
    null
from public.bot_subscriptions as s
where s.status <> 'cancelled'
group by s.user_id, s.bot_name
having count(*) > 1
union all
-- I25 No administrator session lasts longer than eight hours.
select
    'I25',
    s.session_token::text,
    null,
    null
from public.admin_sessions as s
left join private.admin_session_activity as a on s.session_token = a.session_token
where a.session_token is null or s.expires_at > a.started_at + interval '8 hours 1 second'
union all
-- I26 The audit chain is intact.
select
    'I26',
    a.object,
    null,
    null
from private.verify_audit_chain() as a (object)
union all
-- I27 Counters equal the values they count.
select
    'I27',
    f.name,
    null,
    null
from (
    select
        f.name,
        f.value
    from (
        select
            count(*) as members,
            count(*) filter (where p.package_value > 0) as active,
            coalesce(sum(p.package_value), 0) as packages,
            count(*) filter (where p.account_verified) as verified
        from private.profiles as p
    ) as p
    cross join
        lateral (
            values
            ('profiles', p.members::numeric),
            ('active_profiles', p.active),
            ('package_investment', p.packages),
            ('verified_profiles', p.verified)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (
        select
            sum(d.pending_rows) as pending,
            sum(d.recounted) as recounted,
            sum(d.approved_rows) as approved,
            sum(d.rejected_rows) as rejected
        from claimed as d
    ) as d
    cross join
        lateral (
            values
            ('pending_deposits', d.pending), ('deposits_approved', d.recounted), ('deposits_approved_count', d.approved),
            ('deposits_rejected_count', d.rejected)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (
        select
            sum(w.pending_rows) as pending,
            sum(w.recounted) as recounted,
            sum(w.approved_rows) as approved,
            sum(w.rejected_rows) as rejected,
            sum(w.reserved) as reserved
        from drawn as w
    ) as w
    cross join
        lateral (
            values
            ('pending_withdrawals', w.pending), ('withdrawals_approved', w.recounted), ('withdrawals_approved_count', w.approved),
            ('withdrawals_rejected_count', w.rejected), ('reserved', w.reserved)
        ) as f (name, value)
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (select
        sum(e.total) as total,
        sum(e.referrals + e.pairings + e.overrides) as bonus_rows
    from earned as e) as e
    cross join lateral (values ('bonuses', e.total), ('bonus_rows', e.bonus_rows)) as f (name, value)
    union all
    select
        'shortfall',
        coalesce(sum(s.withdrawn_amount + s.reserved_amount - s.bonus_amount), 0)
    from private.totals as s
    where s.bonus_amount < s.withdrawn_amount + s.reserved_amount
    union all
    select
        f.name,
        coalesce(f.value, 0)
    from (select
        sum(j.bonus_rows) as bonus_rows,
        sum(j.bonus_volume) as bonus_volume
    from journal as j) as j
    cross join lateral (values ('bonus_transactions', j.bonus_rows), ('bonus_volume', j.bonus_volume)) as f (name, value)
    union all
    select
        'subscriptions_' || e.status,
        coalesce(b.subscriptions, 0)
    from unnest(enum_range(null::public.subscription_status)) as e (status)
    left join (
        select
            s.status,
            count(*) as subscriptions
        from public.bot_subscriptions as s
        group by s.status
    ) as b on e.status = b.status
) as f left join private.counter_values() as c on f.name = c.name
where c.value is distinct from f.value
union all
-- I27 So do the daily totals of deposits and withdrawals.
select
    'I27',
    'flow of ' || f.day,
    null,
    null
from (
    select
        k.day,
        k.deposits,
        k.withdrawals,
        k.decided_deposits
    from private.flows_since('-infinity') as k
    union all
    select
        v.day,
        -v.deposits,
        0,
        -v.decided_deposits
    from public.deposits as d
    cross join
        lateral (
            values ((d.created_at at time zone 'UTC')::date, d.amount, 0), ((d.decided_at at time zone 'UTC')::date, 0, d.amount)
        ) as v (day, deposits, decided_deposits)
    where d.status = 'approved' and d.voided_at is null
    union all
    select
        (w.created_at at time zone 'UTC')::date,
        0,
        -w.amount,
        0
    from public.withdrawals as w
    where w.status = 'approved' and w.voided_at is null
) as f
group by f.day
having sum(f.deposits) <> 0 or sum(f.withdrawals) <> 0 or sum(f.decided_deposits) <> 0
union all
-- I28 A member's daily earnings match the journal (sample of 10,000 members).
select
    'I28',
    d.no || ' ' || d.day,
    o.user_id,
    null
from private.earning_day_discrepancies as d left join private.positions as o on d.no = o.no
union all
-- I29 Network totals equal the member's own values plus the networks of the direct referrals (sample of 10,000
-- members).
select
    'I29',
    n.no::text,
    o.user_id,
    null
from private.network_discrepancies as n left join private.positions as o on n.no = o.no
union all
-- I30 The daily growth of a large team matches its members' joining and funding (sample of 20 teams).
select
    'I30',
    d.no || ' ' || d.day,
    o.user_id,
    null
from private.team_day_discrepancies(20) as d left join private.positions as o on d.no = o.no
union all
-- I31 A deposit has its keys: without them I19 is blind.
select
    'I31',
    d.id::text,
    d.user_id,
    null
from public.deposits as d
left join private.deposit_keys as k on d.id = k.deposit_id and d.reference_key = k.key
where k.key is null
union all
-- I33 The source of a pairing is the child that completed the pair.
select
    'I33',
    b.id::text,
    b.user_id,
    null
from private.pairs as q
inner join public.bonuses as b on b.bonus_type = 'pairing' and q.owner_no = b.subject_no and q.pair_no = b.pair_number
inner join private.positions as l on q.left_no = l.no
inner join private.positions as r on q.right_no = r.no
where b.amount_cents > 0 and b.source_user_id <> case when l.paid_order > r.paid_order then l.user_id else r.user_id end
union all
-- I34 A member's place in the order of fundings is the decision that made the member funded.
select
    'I34',
    o.user_id::text,
    o.user_id,
    null
from private.positions as o
left join claimed as d on o.user_id = d.user_id
left join private.corrected_fundings as f on o.user_id = f.user_id
where o.paid_order is distinct from case when o.paid_cents > 0 then coalesce(f.decision_no, d.first_decision_no) end
union all
-- I35 Whatever completed a journal row has its number.
select
    'I35',
    j.user_id::text,
    j.user_id,
    jsonb_build_object('rows', j.undecided_rows)
from journal as j
where j.undecided_rows > 0
union all
-- I36 A bonus has the time of its first journal row, and the journal row of a request the time of the request.
select
    'I36',
    e.source_id::text,
    e.user_id,
    null
from (
    select
        b.source_id,
        b.user_id
    from bonus_entries as b
    where b.wrong_time
    union all
    select
        d.source_id,
        d.user_id
    from deposit_entries as d
    where d.wrong_time
    union all
    select
        w.source_id,
        w.user_id
    from withdrawal_entries as w
    where w.wrong_time
) as e
union all
-- I37 The counts in totals are those of the bonuses, each type's its own.
select
    'I37',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_counts
union all
-- I38 The coverage of a past day is what the decisions that it saw say, with the requests that were pending then.
select
    'I38',
    c.day::text,
    null,
    c.details
from private.coverage_discrepancies() as c
union all
-- I39 A published disclosure has the credits and withdrawals of its period, by the decisions that it saw, and its
-- numbers of members agree with each other.
select
    'I39',
    (d.computed_at at time zone 'UTC')::text,
    null,
    d.details
from private.disclosure_discrepancies() as d
union all
-- I40 Package sizes, pairing rates and percentages are those of the compensation plan.
select
    'I40',
    c.object,
    null,
    null
from private.plan_discrepancies as c
union all
-- I41 Direct referrals are numbered in the order of joining, which decides who is paired with whom.
select
    'I41',
    s.no::text,
    o.user_id,
    null
from private.sibling_discrepancies as s left join private.positions as o on s.referrer_no = o.no
union all
-- I42 Nobody asked for or earned anything before there was anything to ask for, or in the future. I28 has the days.
select
    'I42',
    m.user_id::text,
    m.user_id,
    null
from members as m
where m.wrong_times
union all
-- I43 to I48 A request, its decision, a payout and a correction have one entry of the audit log each, which says the
-- same. I49 An administrator has the role of the last entry.
select
    a.rule,
    a.object,
    a.user_id,
    a.details
from private.audit_discrepancies as a;

CREATE INDEX deposit_receipts_etag_idx ON private.deposit_receipts USING btree (etag);

CREATE INDEX positions_package_idx ON private.positions USING btree (package_cents, NO) INCLUDE (user_id);

CREATE TRIGGER _100_reject_change
  BEFORE DELETE OR UPDATE OR TRUNCATE ON private.deposit_receipts
  FOR EACH STATEMENT
  EXECUTE FUNCTION private.reject_change();

COMMENT ON COLUMN "private"."deposit_receipts"."etag" IS 'Hash of the file when the deposit was requested.';

COMMENT ON FUNCTION "private"."deposits_record_request"() IS 'Trigger: receipt, keys, search text, journal row, counter and audit entry of a new deposit. Errors: invalid_receipt, receipt_used, receipt_must_be_image.';

COMMENT ON FUNCTION "private"."deposits_validate"() IS 'Trigger: validates a new deposit under the member''s lock, in the order of the form. Errors: not_yours, duplicate_request, account_*, profile_incomplete, forbidden, invalid_amount, package_required, downgrade, invalid_reference, too_many_pending.';

COMMENT ON TABLE "private"."deposit_receipts" IS 'The receipt of each deposit: a file in the bucket receipts, and of no other deposit.';

COMMENT ON VIEW "private"."ledger_violations" IS 'Violations of the ledger''s invariants: the rule, the violating object, the member whose money it concerns (null: everybody''s), and figures that change when the violation does. Empty when there are none.';

COMMENT ON VIEW "private"."position_discrepancies" IS 'Positions whose package, payment, number of direct referrals or place in the order of fundings is not what members, deposits and corrections say.';

COMMENT ON VIEW "private"."sibling_discrepancies" IS 'Direct referrals whose number is not their place in the order of joining. Empty when all are in order.';
