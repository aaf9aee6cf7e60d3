-- A bonus that changes writes no index: none has an amount any more. Positions have two indexes less, the comparison of
-- all bonuses has two processes, a repair looks everything up once. Everything happens in one transaction while nobody
-- else writes; pages that exist get their room as rows change.
SET local check_function_bodies = off;

DROP TRIGGER "_100_immutable" ON "public"."bonuses";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."positions_left_key";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."positions_owner_idx";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "private"."positions_right_key";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."bonuses_override_key";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."bonuses_pairing_key";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."bonuses_referral_key";

-- squawk-ignore require-concurrent-index-deletion
DROP INDEX "public"."transactions_user_idx";

-- squawk-ignore ban-drop-view
DROP VIEW "private"."bonus_discrepancies";

-- squawk-ignore ban-drop-constraint
ALTER TABLE "private"."earning_days" DROP CONSTRAINT "earning_days_no_fkey";

-- squawk-ignore ban-drop-constraint
ALTER TABLE "private"."networks" DROP CONSTRAINT "networks_no_fkey";

-- squawk-ignore ban-drop-constraint
ALTER TABLE "private"."positions" DROP CONSTRAINT "positions_paid_order_key";

-- squawk-ignore ban-drop-constraint
ALTER TABLE "private"."positions" DROP CONSTRAINT "positions_referrer_no_fkey";

-- squawk-ignore ban-drop-constraint
ALTER TABLE "private"."team_days" DROP CONSTRAINT "team_days_no_fkey";

-- squawk-ignore ban-drop-constraint
ALTER TABLE "public"."bonuses" DROP CONSTRAINT "bonuses_subject_no_fkey";

-- squawk-ignore ban-drop-constraint
ALTER TABLE "private"."positions" DROP CONSTRAINT "positions_pkey";

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."sums_follow_rows"(private.due_bonus[]);

ALTER TABLE "public"."bonuses" SET (fillfactor=90);

CREATE OR REPLACE FUNCTION private.all_bonus_discrepancies()
  RETURNS private.due_bonus[]
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_generic_plan'
  SET search_path TO ''
  SET enable_nestloop TO 'off'
  SET enable_hashjoin TO 'off'
  SET enable_material TO 'off'
  SET join_collapse_limit TO '1'
  SET min_parallel_table_scan_size TO '4TB'
  SET min_parallel_index_scan_size TO '4TB'
  SET parallel_setup_cost TO '2000'
  SET parallel_tuple_cost TO '0'
  SET max_parallel_workers_per_gather TO '1'
  SET work_mem TO '64MB'
  AS $function$
declare
    v_percents integer[] := array(
        select s.pairing_percent
        from pg_catalog.generate_series(1, (select max(k.value_cents) / 5000 from private.packages as k)) as u (units)
        left join private.packages as s on u.units * 5000 = s.value_cents
        order by u.units
    );
begin
    return array(
        with stored_pairs as (
            select
                coalesce(p.subject_no, o.subject_no) as owner_no,
                coalesce(p.pair_number, o.pair_number) as pair_no,
                p.amount_cents as pairing_cents,
                o.amount_cents as override_cents
            from (
                select b.* from public.bonuses as b
                where b.bonus_type = 'pairing'
            ) as p
            full join (
                select b.* from public.bonuses as b
                where b.bonus_type = 'override'
            ) as o
                on p.subject_no = o.subject_no and p.pair_number = o.pair_number
        ),

        owned_pairs as (
            select
                q.*,
                o.referrer_no,
                case when o.package_cents % 5000 = 0 then v_percents[o.package_cents / 5000] end as pairing_percent
            from private.pairs as q
            inner join private.positions as o on q.owner_no = o.no
        ),

        due_pairs as (
            select
                q.*,
                q.volume_cents::bigint * q.pairing_percent / 100 as pairing_cents,
                case when q.referrer_no is not null then q.volume_cents::bigint * private.override_percent() / 100 end as override_cents
            from owned_pairs as q
        ),

        -- Where nothing is due, a stored bonus is zero, or there is none.
        different_pairs as (
            select
                coalesce(d.owner_no, s.owner_no) as owner_no,
                coalesce(d.pair_no, s.pair_no) as pair_no,
                d.left_no,
                d.right_no,
                d.volume_cents,
                d.referrer_no,
                d.pairing_percent,
                d.pairing_cents,
                d.override_cents,
                s.pairing_cents as stored_cents,
                (coalesce(d.pairing_cents, s.pairing_cents * 0) is distinct from s.pairing_cents) as pairing_differs,
                (coalesce(d.override_cents, s.override_cents * 0) is distinct from s.override_cents) as override_differs
            from due_pairs as d
            full join stored_pairs as s on d.owner_no = s.owner_no and d.pair_no = s.pair_no
            where
                coalesce(d.pairing_cents, s.pairing_cents * 0) is distinct from s.pairing_cents
                or coalesce(d.override_cents, s.override_cents * 0) is distinct from s.override_cents
        )

        select row(
            null, 'referral'::public.bonus_type, coalesce(d.subject_no, b.subject_no), null::integer, d.user_no, d.subject_no,
            coalesce(d.volume_cents, 0)::bigint, coalesce(d.rate, 0), coalesce(d.cents, 0)
        )::private.due_bonus
        from private.due_referrals as d
        full join (
            select
                r.subject_no,
                r.amount_cents as cents
            from public.bonuses as r
            where r.bonus_type = 'referral'
        ) as b
            on d.subject_no = b.subject_no
        where coalesce(d.cents, 0) is distinct from b.cents
        union all
        select pg_catalog.unnest(pg_catalog.array_remove(array[
            case when d.pairing_differs then row(
                null, 'pairing'::public.bonus_type, d.owner_no, d.pair_no,
                case when d.pairing_cents is not null then d.owner_no end,
                case when d.pairing_cents is not null and coalesce(d.stored_cents, 0) = 0 then private.pair_source(d.left_no, d.right_no) end,
                case when d.pairing_cents is not null then d.volume_cents else 0 end::bigint,
                coalesce(d.pairing_percent, 0), coalesce(d.pairing_cents, 0)
            )::private.due_bonus end,
            case when d.override_differs then row(
                null, 'override'::public.bonus_type, d.owner_no, d.pair_no, d.referrer_no,
                case when d.override_cents is not null then d.owner_no end,
                case when d.override_cents is not null then d.volume_cents else 0 end::bigint,
                case when d.override_cents is not null then private.override_percent() else 0 end, coalesce(d.override_cents, 0)
            )::private.due_bonus end
        ], null))
        from different_pairs as d
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.bonuses_immutable()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  SET enable_nestloop TO 'off'
  AS $function$
declare
    v_broken record;
begin
    select
        -- A pair that pays again may have been completed by its other child.
        bool_or(
            (n.user_id, n.bonus_type, n.subject_no, n.pair_number, n.created_at)
                is distinct from (o.user_id, o.bonus_type, o.subject_no, o.pair_number, o.created_at)
            or (n.source_user_id <> o.source_user_id and (o.amount > 0 or o.bonus_type <> 'pairing'))
        ) as key,
        bool_or(n.amount < o.amount) as amount
    into v_broken
    from before as o left join after as n on o.id = n.id;
    if v_broken.key then
        perform private.raise_error(403, 'append_only', 'A bonus keeps its reason and its date.');
    end if;
    if v_broken.amount and nullif(pg_catalog.current_setting('app.allow_bonus_decrease', true), '') is distinct from 'on' then
        perform private.raise_error(403, 'append_only', 'A bonus only rises. A correction can lower it.');
    end if;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.bonuses_record_update()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_now timestamptz := private.clock();
    v_decision_no bigint := private.current_decision_no();
begin
    perform pg_catalog.nextval('private.bonus_revision_seq');
    if private.is_repairing() then
        return null;
    end if;
    -- Sorted or hashed by the bonus, never joined: a plan is made for the first update of a connection, which is
    -- often of one row, and a nested loop over the next ten thousand would be quadratic.
    with changed as materialized (
        select
            c.id,
            c.user_id,
            c.bonus_type,
            c.subject_no,
            c.created_at,
            sum(c.amount) as amount,
            sum(c.reentry) as reentry,
            sum(c.paid) as paid
        from (
            select n.id, n.user_id, n.bonus_type, n.subject_no, n.created_at, n.amount, n.reentry_amount as reentry, (n.amount > 0)::integer as paid
            from after as n
            union all
            select o.id, o.user_id, o.bonus_type, o.subject_no, o.created_at, -o.amount, -o.reentry_amount, -(o.amount > 0)::integer
            from before as o
        ) as c
        group by c.id, c.user_id, c.bonus_type, c.subject_no, c.created_at
    ), journal as (
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at, decision_no)
        select c.user_id, c.amount, 'bonus', 'completed', c.id, v_now, v_decision_no from changed as c where c.amount <> 0
    ), earned as materialized (
        select
            c.user_id,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'referral'), 0) as referral,
            coalesce(sum(c.paid) filter (where c.bonus_type = 'referral'), 0) as referrals,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'pairing'), 0) as pairing,
            coalesce(sum(c.paid) filter (where c.bonus_type = 'pairing'), 0) as pairings,
            coalesce(sum(c.amount) filter (where c.bonus_type = 'override'), 0) as override,
            coalesce(sum(c.paid) filter (where c.bonus_type = 'override'), 0) as overrides,
            sum(c.reentry) as reentry
        from changed as c
        group by c.user_id
    ), sums as (
        update private.totals as t set
            referral_amount = t.referral_amount + e.referral, referral_count = t.referral_count + e.referrals,
            pairing_amount = t.pairing_amount + e.pairing, pairing_count = t.pairing_count + e.pairings,
            override_amount = t.override_amount + e.override, override_count = t.override_count + e.overrides,
            reentry_amount = t.reentry_amount + e.reentry
        from earned as e
        where t.user_id = e.user_id
    ), days as (
        insert into private.network_deltas (no, day, referral, pairing, override, funded)
        select p.no, (v_now at time zone 'UTC')::date, e.referral, e.pairing, e.override, 0
        from earned as e inner join private.positions as p on e.user_id = p.user_id
        where e.referral + e.pairing + e.override <> 0
        union all
        -- A member counts as funded from the day of the referral bonus, as long as that is not zero.
        select c.subject_no, (c.created_at at time zone 'UTC')::date, 0, 0, 0, c.paid
        from changed as c where c.bonus_type = 'referral' and c.paid <> 0
    )
    insert into private.counter_deltas (name, delta)
    select d.name, d.delta
    from (
        select
            sum(c.amount) as amount,
            sum(c.paid) as rows,
            count(*) filter (where c.amount <> 0) as entries,
            sum(pg_catalog.abs(c.amount)) as volume
        from changed as c
    ) as s
    cross join lateral (
        values ('bonuses', s.amount), ('bonus_rows', s.rows), ('bonus_transactions', s.entries), ('bonus_volume', s.volume)
    ) as d (name, delta)
    where d.delta <> 0;
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.find_stored_bonuses (
  p_due private.due_bonus[],
  OUT   due private.due_bonus[],
  OUT   earners uuid[],
  OUT   in_journal boolean
)
  RETURNS record
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
    select
        pg_catalog.array_agg(row(
            f.id, f.bonus_type, f.subject_no, f.pair_number, f.user_no, f.source_no, f.volume_cents, f.rate, f.cents
        )::private.due_bonus),
        pg_catalog.array_agg(distinct coalesce(f.user_id, u.user_id)),
        bool_and(f.amount is not distinct from j.amount)
    into due, earners, in_journal
    from (
        select w.*, b.id, b.user_id, b.amount
        from pg_catalog.unnest(p_due) as w
        left join public.bonuses as b on b.bonus_type = 'referral' and w.subject_no = b.subject_no
        where w.bonus_type = 'referral'
        union all
        select w.*, b.id, b.user_id, b.amount
        from pg_catalog.unnest(p_due) as w
        left join public.bonuses as b on b.bonus_type = 'pairing' and w.subject_no = b.subject_no and w.pair_number = b.pair_number
        where w.bonus_type = 'pairing'
        union all
        select w.*, b.id, b.user_id, b.amount
        from pg_catalog.unnest(p_due) as w
        left join public.bonuses as b on b.bonus_type = 'override' and w.subject_no = b.subject_no and w.pair_number = b.pair_number
        where w.bonus_type = 'override'
    ) as f
    left join private.positions as u on case when f.id is null then f.user_no end = u.no
    cross join lateral (
        select sum(t.amount) as amount from public.transactions as t
        where t.transaction_type = 'bonus' and t.status = 'completed' and t.reference_id = f.id
    ) as j;
end
$function$;

CREATE OR REPLACE FUNCTION private.pair_source (
  p_left  integer,
  p_right integer
)
  RETURNS integer
  LANGUAGE plpgsql
  STABLE
  PARALLEL SAFE
  SET search_path TO ''
  SET plan_cache_mode TO 'force_generic_plan'
  AS $function$
begin
    return (select p.no from private.positions as p where p.no in (p_left, p_right) order by p.paid_order desc nulls last limit 1);
end
$function$;

CREATE OR REPLACE FUNCTION private.rebuild_positions()
  RETURNS private.sum_change[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_wrong private.position_discrepancies[] := array(select d from private.position_discrepancies as d order by d.no);
begin
    if pg_catalog.cardinality(v_wrong) > 0 then
        update private.positions as p set
            package_cents = (d.new ->> 'package_cents')::integer,
            paid_cents = (d.new ->> 'paid_cents')::integer,
            children = (d.new ->> 'children')::integer,
            paid_order = (d.new ->> 'paid_order')::bigint
        from pg_catalog.unnest(v_wrong) as d
        where p.no = d.no;
        -- Other bonuses may be due.
        perform pg_catalog.nextval('private.bonus_revision_seq');
    end if;
    return array(
        select row('position', d.no, d.user_id, d.old, d.new)::private.sum_change from pg_catalog.unnest(v_wrong) as d
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.reconcile()
  RETURNS integer
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
    v_revision bigint;
    v_discrepancies private.due_bonus[];
    v_found integer := 0;
begin
    perform private.lock_money();
    select q.last_value into v_revision from private.bonus_revision_seq as q;
    v_discrepancies := private.all_bonus_discrepancies();
    if pg_catalog.cardinality(v_discrepancies) > 0 then
        v_found := pg_catalog.cardinality(v_discrepancies);
        v_discrepancies := private.sound_discrepancies(v_discrepancies);
    end if;
    if pg_catalog.cardinality(v_discrepancies) > 0 then
        perform private.repair_bonuses(v_discrepancies);
        select q.last_value into v_revision from private.bonus_revision_seq as q;
    end if;
    update private.reconcile_state as s set
        -- What was left is compared again by whoever asks next.
        bonus_revision = case when v_found = pg_catalog.cardinality(v_discrepancies) then v_revision else s.bonus_revision end,
        ran_at = pg_catalog.clock_timestamp(), repaired = s.repaired + pg_catalog.cardinality(v_discrepancies);
    return pg_catalog.cardinality(v_discrepancies);
end
$function$;

CREATE OR REPLACE FUNCTION private.repair_bonuses (
  p_due private.due_bonus[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET work_mem TO '64MB'
  SET search_path TO ''
  AS $function$
declare
    v_at timestamptz := private.clock();
    v_stored record;
    v_damaged boolean;
    v_decision_no bigint;
    v_details jsonb;
    v_changes private.sum_change[] := '{}'::private.sum_change[];
begin
    select * into v_stored from private.find_stored_bonuses(p_due);
    perform private.lock_members(v_stored.earners);
    v_details := pg_catalog.jsonb_build_object(
        'rows', pg_catalog.cardinality(p_due), 'repairs', private.repair_items(v_stored.due[1:100])
    );
    -- Otherwise only the tree has changed.
    v_damaged := (v_stored.in_journal and private.totals_follow_rows(v_stored.earners)) is not true;
    v_decision_no := private.next_decision_no();
    perform pg_catalog.set_config('app.allow_bonus_decrease', 'on', true);
    perform pg_catalog.set_config('app.repair', case when v_damaged then 'on' else '' end, true);
    perform private.write_bonuses(v_stored.due, v_at);
    if v_damaged then
        v_changes := private.rebuild_sums();
    end if;
    perform pg_catalog.set_config('app.repair', '', true);
    perform pg_catalog.set_config('app.allow_bonus_decrease', '', true);
    perform private.raise_alarm('repair', v_decision_no::text, null, v_details);
    perform private.audit('system', 'books.repaired', 'bonuses', null, v_details || private.changes_json(v_changes));
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
            select c.profile_id from private.positions as c
            where c.referrer_no = o.no and c.child_no <= d.referrals
            order by c.child_no
        ) is distinct from array(
            select p.id from private.profiles as p
            where p.referrer_id = o.profile_id
            order by p.created_at, p.id limit d.referrals
        )
    );
    return array(
        select d from pg_catalog.unnest(p_due) as d
        where (d).bonus_type = 'referral' or (d).subject_no <> all(v_disordered)
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.totals_follow_rows (
  p_earners uuid[]
)
  RETURNS boolean
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  SET enable_indexscan TO 'off'
  SET parallel_tuple_cost TO '0'
  AS $function$
begin
    return (
        with sums as materialized (
            select
                b.user_id,
                sum(b.amount_cents) as cents
            from public.bonuses as b
            where b.user_id = any(p_earners)
            group by b.user_id
        )

        select bool_and(t.bonus_amount = coalesce(s.cents, 0) * 0.01)
        from private.totals as t
        left join sums as s on t.user_id = s.user_id
        where t.user_id = any(p_earners)
    );
end
$function$;

-- squawk-ignore constraint-missing-not-valid, adding-serial-primary-key-field
ALTER TABLE "private"."positions" ADD CONSTRAINT "positions_pkey" PRIMARY KEY (NO) INCLUDE (referrer_no, package_cents, paid_cents);

-- squawk-ignore adding-foreign-key-constraint, constraint-missing-not-valid
ALTER TABLE "private"."earning_days" ADD CONSTRAINT "earning_days_no_fkey" FOREIGN KEY (NO) REFERENCES private.positions(NO) ON DELETE RESTRICT;

-- squawk-ignore adding-foreign-key-constraint, constraint-missing-not-valid
ALTER TABLE "private"."networks" ADD CONSTRAINT "networks_no_fkey" FOREIGN KEY (NO) REFERENCES private.positions(NO) ON DELETE RESTRICT;

-- squawk-ignore adding-foreign-key-constraint, constraint-missing-not-valid
ALTER TABLE "private"."positions" ADD CONSTRAINT "positions_referrer_no_fkey" FOREIGN KEY (referrer_no) REFERENCES private.positions(NO) ON DELETE RESTRICT;

-- squawk-ignore adding-foreign-key-constraint, constraint-missing-not-valid
ALTER TABLE "private"."team_days" ADD CONSTRAINT "team_days_no_fkey" FOREIGN KEY (NO) REFERENCES private.positions(NO) ON DELETE RESTRICT;

-- squawk-ignore adding-foreign-key-constraint, constraint-missing-not-valid
ALTER TABLE "public"."bonuses" ADD CONSTRAINT "bonuses_subject_no_fkey" FOREIGN KEY (subject_no) REFERENCES private.positions(NO) ON DELETE RESTRICT;

-- squawk-ignore require-concurrent-index-creation
CREATE UNIQUE INDEX positions_left_key ON private.positions USING btree (referrer_no, pair_no) INCLUDE (NO, paid_cents)
  WHERE (is_left AND (paid_cents > 0));

-- squawk-ignore require-concurrent-index-creation
CREATE UNIQUE INDEX positions_right_key ON private.positions USING btree (referrer_no, pair_no) INCLUDE (NO, paid_cents)
  WHERE ((NOT is_left) AND (paid_cents > 0));

-- squawk-ignore require-concurrent-index-creation
CREATE UNIQUE INDEX bonuses_override_key ON public.bonuses USING btree (subject_no, pair_number)
  WHERE (bonus_type = 'override'::public.bonus_type);

-- squawk-ignore require-concurrent-index-creation
CREATE UNIQUE INDEX bonuses_pairing_key ON public.bonuses USING btree (subject_no, pair_number)
  WHERE (bonus_type = 'pairing'::public.bonus_type);

-- squawk-ignore require-concurrent-index-creation
CREATE UNIQUE INDEX bonuses_referral_key ON public.bonuses USING btree (subject_no)
  WHERE (bonus_type = 'referral'::public.bonus_type);

-- squawk-ignore require-concurrent-index-creation
CREATE INDEX transactions_user_idx ON public.transactions USING btree (user_id, created_at DESC, id DESC)
  WITH (fillfactor='75');

CREATE TRIGGER _100_immutable
  AFTER UPDATE ON public.bonuses REFERENCING OLD TABLE AS
  BEFORE NEW TABLE AS
  AFTER
  FOR EACH STATEMENT
  EXECUTE FUNCTION private.bonuses_immutable();

COMMENT ON COLUMN "private"."positions"."paid_order" IS 'Number of the decision that funded the member, the last one after a correction; null while unfunded. Of a pair, the later one completed it. No index: an upgrade would write a page of it for a number that stays.';

COMMENT ON FUNCTION "private"."all_bonus_discrepancies"() IS 'Bonuses that differ from tree and packages: missing, different, or no longer due; without the ids of the stored rows, and with the source of a pairing only where none is paid. Empty when all match.';

COMMENT ON FUNCTION "private"."find_stored_bonuses"(private.due_bonus[]) IS 'Expected bonuses with the ids of the stored rows, who earns them, and whether the journal says what the rows say.';

COMMENT ON FUNCTION "private"."sound_discrepancies"(private.due_bonus[]) IS 'Of these, what a repair may write: nothing with a damaged plan, and no pair of a member whose direct referrals up to a pair of these are out of order.';

COMMENT ON FUNCTION "private"."totals_follow_rows"(uuid[]) IS 'Whether the totals of these members say what their bonuses say.';

REVOKE ALL ON FUNCTION "private"."find_stored_bonuses"(private.due_bonus[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."find_stored_bonuses"(private.due_bonus[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."find_stored_bonuses"(private.due_bonus[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."totals_follow_rows"(uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."totals_follow_rows"(uuid[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."totals_follow_rows"(uuid[]) TO "postgres";
