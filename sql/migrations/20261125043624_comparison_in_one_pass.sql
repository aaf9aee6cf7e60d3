-- The comparison of all bonuses reads the pairs once, and does not sort them by package.
-- squawk-ignore ban-drop-view
DROP VIEW "private"."bonus_discrepancies";

CREATE VIEW "private"."bonus_discrepancies" AS  WITH stored_pairs AS (
         SELECT COALESCE(p.subject_no, o.subject_no) AS owner_no,
            COALESCE(p.pair_number, o.pair_number) AS pair_no,
            p.amount_cents AS pairing_cents,
            o.amount_cents AS override_cents
           FROM (( SELECT b.id,
                    b.user_id,
                    b.source_user_id,
                    b.bonus_type,
                    b.amount,
                    b.created_at,
                    b.pair_number,
                    b.rate,
                    b.volume,
                    b.reentry_amount,
                    b.amount_cents,
                    b.subject_no
                   FROM public.bonuses b
                  WHERE (b.bonus_type = 'pairing'::public.bonus_type)) p
             FULL JOIN ( SELECT b.id,
                    b.user_id,
                    b.source_user_id,
                    b.bonus_type,
                    b.amount,
                    b.created_at,
                    b.pair_number,
                    b.rate,
                    b.volume,
                    b.reentry_amount,
                    b.amount_cents,
                    b.subject_no
                   FROM public.bonuses b
                  WHERE (b.bonus_type = 'override'::public.bonus_type)) o ON (((p.subject_no = o.subject_no) AND (p.pair_number = o.pair_number))))
        ), due_pairs AS (
         SELECT q.owner_no,
            q.pair_no,
            q.left_no,
            q.right_no,
            q.volume_cents,
            o.referrer_no,
            k.pairing_percent,
            (((q.volume_cents)::bigint * k.pairing_percent) / 100) AS pairing_cents,
                CASE
                    WHEN (o.referrer_no IS NOT NULL) THEN (((q.volume_cents)::bigint * private.override_percent()) / 100)
                    ELSE NULL::bigint
                END AS override_cents
           FROM ((private.pairs q
             JOIN private.positions o ON ((q.owner_no = o.no)))
             CROSS JOIN LATERAL ( SELECT
                        CASE
                            WHEN ((o.package_cents % 5000) = 0) THEN (( SELECT array_agg(s.pairing_percent ORDER BY n.units) AS array_agg
                               FROM (generate_series(1, ( SELECT (max(m.value_cents) / 5000)
                                       FROM private.packages m)) n(units)
                                 LEFT JOIN private.packages s ON (((n.units * 5000) = s.value_cents)))))[(o.package_cents / 5000)]
                            ELSE NULL::integer
                        END AS pairing_percent) k)
        ), different AS MATERIALIZED (
         SELECT d.owner_no,
            d.pair_no,
            d.left_no,
            d.right_no,
            d.volume_cents,
            d.referrer_no,
            d.pairing_percent,
            d.pairing_cents,
            d.override_cents,
            s.owner_no AS stored_owner_no,
            s.pair_no AS stored_pair_no,
            (COALESCE(d.pairing_cents, (s.pairing_cents * 0)) IS DISTINCT FROM s.pairing_cents) AS pairing_differs,
            (COALESCE(d.override_cents, (s.override_cents * 0)) IS DISTINCT FROM s.override_cents) AS override_differs
           FROM (due_pairs d
             FULL JOIN stored_pairs s ON (((d.owner_no = s.owner_no) AND (d.pair_no = s.pair_no))))
          WHERE ((COALESCE(d.pairing_cents, (s.pairing_cents * 0)) IS DISTINCT FROM s.pairing_cents) OR (COALESCE(d.override_cents, (s.override_cents * 0)) IS DISTINCT FROM s.override_cents))
        )
 SELECT 'referral'::public.bonus_type AS bonus_type,
    COALESCE(d.subject_no, b.subject_no) AS subject_no,
    NULL::integer AS pair_number,
    d.user_no,
    d.subject_no AS source_no,
    (COALESCE(d.volume_cents, 0))::bigint AS volume_cents,
    COALESCE(d.rate, 0) AS rate,
    COALESCE(d.cents, (0)::bigint) AS cents
   FROM (private.due_referrals d
     FULL JOIN ( SELECT r.subject_no,
            r.amount_cents AS cents
           FROM public.bonuses r
          WHERE (r.bonus_type = 'referral'::public.bonus_type)) b ON ((d.subject_no = b.subject_no)))
  WHERE (COALESCE(d.cents, (0)::bigint) IS DISTINCT FROM b.cents)
UNION ALL
 SELECT 'pairing'::public.bonus_type AS bonus_type,
    COALESCE(d.owner_no, d.stored_owner_no) AS subject_no,
    COALESCE(d.pair_no, d.stored_pair_no) AS pair_number,
        CASE
            WHEN (d.pairing_cents IS NOT NULL) THEN d.owner_no
            ELSE NULL::integer
        END AS user_no,
        CASE
            WHEN (d.pairing_cents IS NOT NULL) THEN private.pair_source(d.left_no, d.right_no)
            ELSE NULL::integer
        END AS source_no,
    (
        CASE
            WHEN (d.pairing_cents IS NOT NULL) THEN d.volume_cents
            ELSE 0
        END)::bigint AS volume_cents,
    COALESCE(d.pairing_percent, 0) AS rate,
    COALESCE(d.pairing_cents, (0)::bigint) AS cents
   FROM different d
  WHERE d.pairing_differs
UNION ALL
 SELECT 'override'::public.bonus_type AS bonus_type,
    COALESCE(d.owner_no, d.stored_owner_no) AS subject_no,
    COALESCE(d.pair_no, d.stored_pair_no) AS pair_number,
    d.referrer_no AS user_no,
        CASE
            WHEN (d.override_cents IS NOT NULL) THEN d.owner_no
            ELSE NULL::integer
        END AS source_no,
    (
        CASE
            WHEN (d.override_cents IS NOT NULL) THEN d.volume_cents
            ELSE 0
        END)::bigint AS volume_cents,
        CASE
            WHEN (d.override_cents IS NOT NULL) THEN private.override_percent()
            ELSE 0
        END AS rate,
    COALESCE(d.override_cents, (0)::bigint) AS cents
   FROM different d
  WHERE d.override_differs;

COMMENT ON VIEW "private"."bonus_discrepancies" IS 'Bonuses that differ from tree and packages: missing, different, or no longer due. Empty when all match.';
