-- Members are notified of what they earn: of a new direct referral with the sign-up, of bonuses after each decision. Mail
-- about it is off until a member wants it, so that a choice says yes or no. What was decided before is not notified.
SET local check_function_bodies = off;

-- squawk-ignore renaming-table
ALTER TABLE "private"."mail_opt_outs" RENAME TO "mail_choices";

-- squawk-ignore renaming-object
ALTER TABLE "private"."mail_choices" RENAME CONSTRAINT "mail_opt_outs_pkey" TO "mail_choices_pkey";

-- squawk-ignore renaming-object
ALTER TABLE "private"."mail_choices" RENAME CONSTRAINT "mail_opt_outs_topic_fkey" TO "mail_choices_topic_fkey";

-- squawk-ignore renaming-object
ALTER TABLE "private"."mail_choices" RENAME CONSTRAINT "mail_opt_outs_user_id_fkey" TO "mail_choices_user_id_fkey";

-- squawk-ignore renaming-object
ALTER INDEX "private"."mail_opt_outs_topic_idx" RENAME TO "mail_choices_topic_idx";

-- Each row so far says no.
ALTER TABLE "private"."mail_choices" ADD COLUMN "wanted" boolean NOT NULL DEFAULT false;

-- squawk-ignore ban-drop-default
ALTER TABLE "private"."mail_choices" ALTER COLUMN "wanted" DROP DEFAULT;

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."notify_member"(uuid, text, text, text, numeric, text);

CREATE TABLE "private"."earnings_state" (
  "only_row" boolean NOT NULL DEFAULT true,
  "entry_id" bigint  NOT NULL DEFAULT 0,
  CONSTRAINT "earnings_state_only_row_check" CHECK (only_row),
  CONSTRAINT "earnings_state_pkey" PRIMARY KEY (only_row)
);

ALTER TABLE "private"."earnings_state"
  ENABLE ROW LEVEL SECURITY;

INSERT INTO private.earnings_state (entry_id) SELECT coalesce(max(a.id), 0) FROM private.audit_log AS a;

ALTER TABLE "private"."mail_topics"
  ADD COLUMN "wanted_at_first" boolean NOT NULL DEFAULT true;

INSERT INTO private.mail_topics (topic, kind_pattern, label, wanted_at_first)
VALUES ('earnings', '\A(bonus_earned|referral_joined)\Z', 'New direct referrals and bonuses', false);

CREATE OR REPLACE FUNCTION jobs.are_earnings_due()
  RETURNS boolean
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
    select exists (select from private.earnings_state as s cross join lateral private.credited_decisions(s.entry_id, 9223372036854775807, 1))
$function$;

CREATE OR REPLACE FUNCTION jobs.notify_earnings (
  p_limit integer DEFAULT 100
)
  RETURNS integer
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_after bigint;
    v_until bigint;
    v_notified integer;
begin
    select s.entry_id into v_after from private.earnings_state as s for update skip locked;
    -- Another worker is writing them.
    if not found then
        return 0;
    end if;
    -- Before they are read: what is committed meanwhile is for the next time.
    select max(d.id) into v_until from private.credited_decisions(v_after, 9223372036854775807, p_limit) as d;
    if v_until is null then
        return 0;
    end if;
    perform private.notify_member(
        n.earner_id, 'bonus_earned', 'You earned ' || private.dollars(n.amount),
        pg_catalog.format(
            case when n.is_deposit then '%s deposit was approved and brought you %s.' else '%s package was corrected, which brought you %s.' end,
            case when n.earner_id = n.member_id then 'Your' else m.username || '’s' end, n.words
        ), n.amount, '/transactions', n.at
    )
    from (
        select
            e.entry_id, e.at, e.is_deposit, e.member_id, e.earner_id, sum(e.amount) as amount,
            pg_catalog.string_agg(
                private.earned_words(e.bonus_type, e.amount, e.bonuses, e.pair_number, o.username), ' and ' order by e.bonus_type
            ) as words
        from private.earned_bonuses(v_after, v_until) as e
        inner join private.positions as q on e.owner_no = q.no
        inner join private.profiles as o on q.user_id = o.user_id
        -- A correction takes from some and gives to others.
        where e.amount > 0
        group by e.entry_id, e.at, e.is_deposit, e.member_id, e.earner_id
    ) as n
    inner join private.profiles as m on n.member_id = m.user_id
    inner join private.profiles as p on n.earner_id = p.user_id
    where p.closed_at is null
    order by n.entry_id, n.earner_id;
    get diagnostics v_notified = row_count;
    update private.earnings_state as s set entry_id = v_until;
    return v_notified;
end
$function$;

CREATE OR REPLACE FUNCTION private.create_profile_from_sign_up (
  p_user_id uuid,
  p_email   text,
  p_data    jsonb
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_username text := p_data ->> 'username';
    v_display_name text := pg_catalog.left(nullif(pg_catalog.btrim(p_data ->> 'display_name'), ''), 80);
    v_referrer private.profiles;
    v_id uuid;
begin
    if exists (select 1 from private.profiles as p where p.user_id = p_user_id) then
        return null;
    end if;
    if private.username_error(v_username) is not null or p_data ->> 'referrer_id' !~* '\A[0-9a-f-]{36}\Z' then
        return null;
    end if;
    -- The code was valid at sign-up; a referrer who was disabled since still gets the member.
    select * into v_referrer from private.profiles as p where p.id = (p_data ->> 'referrer_id')::uuid;
    if not found then
        return null;
    end if;
    if private.username_taken(v_username, p_email) then
        v_username := pg_catalog.left(v_username, 24) || '_' || pg_catalog.substr(p_user_id::text, 1, 5);
    end if;
    v_id := private.create_profile(p_user_id, p_email, v_username, coalesce(v_display_name, v_username), v_referrer.id);
    if v_referrer.closed_at is null then
        -- The username and not the display name: this may be mailed, and no text of a member's own becomes a link.
        perform private.notify_member(
            v_referrer.user_id, 'referral_joined', pg_catalog.format('%s joined your team', v_username),
            pg_catalog.format(
                '%s signed up with your referral code and is your direct referral. A sign-up itself earns nothing: bonuses are shares of packages that members pay for.',
                v_username
            ), null, '/dashboard?view=advanced&tab=tree'
        );
    end if;
    if v_username is distinct from p_data ->> 'username' then
        perform private.notify_member(
            p_user_id, 'username_changed', 'Your username was taken meanwhile',
            pg_catalog.format('You confirmed after more than a day. You are %s now and can choose another name in your profile.', v_username),
            null, '/profile'
        );
    end if;
    return v_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.credited_decisions (
  p_after bigint,
  p_until bigint,
  p_limit integer
)
  RETURNS SETOF private.audit_log
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    -- Each action is one range of an index.
    (
        select * from private.audit_log as a
        where a.action collate "C" = 'deposit.approved' and a.id > p_after and a.id <= p_until
        order by a.id
        limit p_limit
    )
    union all
    (
        select * from private.audit_log as a
        where a.action collate "C" = 'correction.confirmed' and a.id > p_after and a.id <= p_until
        order by a.id
        limit p_limit
    )
    order by id
    limit p_limit
$function$;

CREATE OR REPLACE FUNCTION private.earned_bonuses (
  p_after bigint,
  p_until bigint
)
  RETURNS TABLE (
    entry_id    bigint,
    at          timestamp with time zone,
    is_deposit  boolean,
    member_id   uuid,
    earner_id   uuid,
    owner_no    integer,
    bonus_type  public.bonus_type,
    amount      numeric,
    bonuses     bigint,
    pair_number integer
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    with decisions as materialized (
        select
            a.id as entry_id, a.at, d.id is not null as is_deposit, coalesce(d.decision_no, c.decision_no) as decision_no,
            -- Cash-in changes nobody's package and so none of the member's own rates.
            d.kind is distinct from 'cash_in' as changes_package,
            p.user_id, p.no, p.referrer_no, p.pair_no
        from private.credited_decisions(p_after, p_until, null) as a
        left join public.deposits as d on a.object_type = 'deposit' and a.object_id = d.id
        left join private.corrections as c on a.object_type = 'correction' and a.object_id = c.id
        inner join private.positions as p on coalesce(d.user_id, c.user_id) = p.user_id
    ), bonuses as (
        select x.entry_id, b.id from decisions as x
        inner join public.bonuses as b on b.bonus_type = 'referral' and x.no = b.subject_no
        union all
        select x.entry_id, b.id from decisions as x
        inner join public.bonuses as b on b.bonus_type = 'pairing' and x.referrer_no = b.subject_no and x.pair_no = b.pair_number
        union all
        select x.entry_id, b.id from decisions as x
        inner join public.bonuses as b on b.bonus_type = 'override' and x.referrer_no = b.subject_no and x.pair_no = b.pair_number
        union all
        select x.entry_id, b.id from decisions as x
        inner join public.bonuses as b on b.bonus_type = 'pairing' and x.no = b.subject_no
        where x.changes_package
    )
    select
        x.entry_id, x.at, x.is_deposit, x.user_id, b.user_id, b.subject_no, b.bonus_type, sum(t.amount), count(*), min(b.pair_number)
    from bonuses as e
    inner join decisions as x on e.entry_id = x.entry_id
    inner join public.bonuses as b on e.id = b.id
    inner join public.transactions as t on t.transaction_type = 'bonus' and b.id = t.reference_id and x.decision_no = t.decision_no
    group by x.entry_id, x.at, x.is_deposit, x.user_id, b.user_id, b.subject_no, b.bonus_type
$function$;

CREATE OR REPLACE FUNCTION private.earned_words (
  p_type    public.bonus_type,
  p_amount  numeric,
  p_bonuses bigint,
  p_pair    integer,
  p_owner   text
)
  RETURNS text
  LANGUAGE plpgsql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
begin
    return case
        when p_type = 'referral' then pg_catalog.format('a referral bonus of %s', private.dollars(p_amount))
        when p_type = 'override' then pg_catalog.format('an override bonus of %s for pair %s of %s', private.dollars(p_amount), p_pair, p_owner)
        when p_bonuses = 1 then pg_catalog.format('a pairing bonus of %s for pair %s', private.dollars(p_amount), p_pair)
        else pg_catalog.format('pairing bonuses of %s for %s pairs', private.dollars(p_amount), p_bonuses)
    end;
end
$function$;

CREATE OR REPLACE FUNCTION private.member_activity_data (
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
    select 'notifications', pg_catalog.jsonb_build_object(
        'id', n.id, 'kind', n.kind, 'title', n.title, 'body', n.body, 'amount', private.money(n.amount), 'link', n.link, 'read_at', n.read_at,
        'created_at', n.created_at
    )
    from public.notifications as n where n.user_id = p_user_id
    order by n.created_at, n.id;
    return query
    select 'subscriptions', pg_catalog.jsonb_build_object(
        'id', s.id, 'bot_name', s.bot_name, 'status', s.status, 'mt5_server', s.mt5_server, 'mt5_login', s.mt5_login,
        'subscribed_at', s.subscribed_at, 'updated_at', s.updated_at
    )
    from public.bot_subscriptions as s where s.user_id = p_user_id
    order by s.subscribed_at, s.id;
    return query
    select 'lessons', pg_catalog.jsonb_build_object('lesson_id', l.lesson_id, 'done_at', l.done_at)
    from public.lesson_progress as l where l.user_id = p_user_id
    order by l.done_at, l.lesson_id;
    return query
    select case when c.wanted then 'mail_opt_ins' else 'mail_opt_outs' end, pg_catalog.jsonb_build_object('topic', c.topic, 'since', c.at)
    from private.mail_choices as c where c.user_id = p_user_id
    order by c.wanted, c.topic;
    return query
    select 'activity', pg_catalog.jsonb_build_object(
        'at', a.at, 'action', a.action, 'object_type', a.object_type, 'object_id', a.object_id, 'details', a.payload
    )
    from private.audit_log as a where a.actor = 'member:' || p_user_id
    order by a.id;
end
$function$;

CREATE OR REPLACE FUNCTION private.notify_member (
  p_user_id uuid,
  p_kind    text,
  p_title   text,
  p_body    text,
  p_amount  numeric,
  p_link    text,
  p_at      timestamp with time zone DEFAULT NULL::timestamp WITH time zone
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_member record;
    v_at timestamptz := coalesce(p_at, private.clock());
begin
    select p.username, p.display_name, p.email, t.topic, coalesce(c.wanted, t.wanted_at_first, true) as wants_mail into v_member
    from private.profiles as p
    left join private.mail_topics as t on p_kind ~ t.kind_pattern
    left join private.mail_choices as c on p.user_id = c.user_id and t.topic = c.topic
    where p.user_id = p_user_id;
    insert into public.notifications (user_id, kind, title, body, amount, link, created_at)
    values (p_user_id, p_kind, p_title, p_body, p_amount, p_link, v_at);
    if v_member.email ~ '\A[^\s@]+@[^\s@]+\Z' and v_member.wants_mail then
        insert into private.outbox (template, recipient, data, created_at)
        values (
            p_kind, v_member.email, pg_catalog.jsonb_build_object(
                'username', v_member.username, 'display_name', v_member.display_name, 'title', p_title, 'body', p_body,
                'amount', private.money(p_amount), 'link', p_link, 'topic', v_member.topic
            ), v_at
        );
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION public.get_mail_choices()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := (private.require_member()).user_id;
begin
    return (
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'topic', t.topic, 'label', t.label, 'wanted', coalesce(c.wanted, t.wanted_at_first)
            ) order by t.topic
        )
        from private.mail_topics as t
        left join private.mail_choices as c on t.topic = c.topic and c.user_id = v_user_id
    );
end
$function$;

CREATE OR REPLACE FUNCTION public.set_mail_choice (
  p_topic  text,
  p_wanted boolean
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_user_id uuid := (private.require_member()).user_id;
begin
    if p_wanted is null or not exists (select 1 from private.mail_topics as t where t.topic = p_topic) then
        perform private.raise_error(400, 'invalid_input', 'This mail cannot be switched off.');
    end if;
    insert into private.mail_choices as c (user_id, topic, wanted) values (v_user_id, p_topic, p_wanted)
    on conflict (user_id, topic) do update set wanted = excluded.wanted, at = excluded.at
        where c.wanted <> excluded.wanted;
    return public.get_mail_choices();
end
$function$;

COMMENT ON COLUMN "private"."earnings_state"."entry_id" IS 'The last entry of the audit log whose bonuses members were notified of. What was decided before this table was there is never notified.';

COMMENT ON COLUMN "private"."mail_topics"."wanted_at_first" IS 'Whether mail is sent to members who have not chosen.';

COMMENT ON FUNCTION "jobs"."are_earnings_due"() IS 'Whether members are to be notified of bonuses now.';

COMMENT ON FUNCTION "jobs"."notify_earnings"(integer) IS 'Notifies members of the bonuses that the next decisions brought them, one notification a decision, once; returns how many. 0 also while another worker does.';

COMMENT ON FUNCTION "private"."create_profile_from_sign_up"(uuid, text, jsonb) IS 'Creates the profile of a confirmed account from its sign-up metadata and notifies the referrer; null when that has no referrer or username.';

COMMENT ON FUNCTION "private"."credited_decisions"(bigint, bigint, integer) IS 'The entries of decisions that may have brought bonuses, after one and up to another, in the order of the decisions.';

COMMENT ON FUNCTION "private"."earned_bonuses"(bigint, bigint) IS 'What the decisions of a range of the audit log credited to whom, by type of bonus.';

COMMENT ON FUNCTION "private"."earned_words"(public.bonus_type, numeric, bigint, integer, text) IS 'Bonuses of one type in words: how much, and from which pair.';

COMMENT ON FUNCTION "private"."notify_member"(uuid, text, text, text, numeric, text, timestamp with time zone) IS 'Notifies a member in the app and, where the member wants it, by e-mail, when the transaction commits; dated now, or when what it reports happened.';

COMMENT ON FUNCTION "public"."get_mail_choices"() IS 'Topics that the caller may choose mail about, and the current choices; e-mail about money and security is not among them.';

COMMENT ON TABLE "private"."earnings_state" IS 'How far members were notified of what they earned.';

COMMENT ON TABLE "private"."mail_choices" IS 'Whether a member wants mail about a topic, once the member has said so.';

COMMENT ON TABLE "private"."mail_topics" IS 'Topics that members choose mail about; kind_pattern matches the kinds of their notifications.';

REVOKE ALL ON FUNCTION "jobs"."are_earnings_due"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."are_earnings_due"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."are_earnings_due"() TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."are_earnings_due"() TO "worker";

REVOKE ALL ON FUNCTION "jobs"."notify_earnings"(integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."notify_earnings"(integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."notify_earnings"(integer) TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."notify_earnings"(integer) TO "worker";

REVOKE ALL ON FUNCTION "private"."credited_decisions"(bigint, bigint, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."credited_decisions"(bigint, bigint, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."credited_decisions"(bigint, bigint, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."earned_bonuses"(bigint, bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."earned_bonuses"(bigint, bigint) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."earned_bonuses"(bigint, bigint) TO "postgres";

REVOKE ALL ON FUNCTION "private"."earned_words"(public.bonus_type, numeric, bigint, integer, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."earned_words"(public.bonus_type, numeric, bigint, integer, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."earned_words"(public.bonus_type, numeric, bigint, integer, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."notify_member"(uuid, text, text, text, numeric, text, timestamp WITH time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."notify_member"(uuid, text, text, text, numeric, text, timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."notify_member"(uuid, text, text, text, numeric, text, timestamp WITH time zone) TO "postgres";
