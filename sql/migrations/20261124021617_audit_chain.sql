-- Entries of the audit log are written without a lock, by id, with a hash of their own; private.audit_chain links them.
-- Requests write entries too, and the ledger checks compare all that moves money with its entries. The links made so far
-- are kept as they are; rows from before get the entries that they lack, marked as backfilled.

SET local check_function_bodies = off;

-- squawk-ignore ban-drop-view
DROP VIEW "private"."ledger_violations";

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."audit"(text, text, text, uuid, jsonb);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."audit_correction"(text, uuid, private.corrections);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."audit_hash"(bytea, private.audit_log);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."create_administrator"(text, text, public.admin_role, text);

-- squawk-ignore ban-drop-function
DROP FUNCTION "private"."verify_audit_chain"();

CREATE TABLE "private"."audit_chain" (
  "seq"      bigint NOT NULL,
  "entry_id" bigint NOT NULL,
  "hash"     bytea  NOT NULL,
  CONSTRAINT "audit_chain_entry_key" UNIQUE (entry_id),
  CONSTRAINT "audit_chain_pkey" PRIMARY KEY (seq)
);

ALTER TABLE "private"."audit_chain"
  ENABLE ROW LEVEL SECURITY;

INSERT INTO private.audit_chain (seq, entry_id, hash)
SELECT a.seq, a.seq, a.hash FROM private.audit_log AS a ORDER BY a.seq;

CREATE TABLE "private"."audit_state" (
  "only_row"   boolean NOT NULL DEFAULT true,
  "final_id" bigint  NOT NULL DEFAULT 0,
  "seen_id"    bigint  NOT NULL DEFAULT 0,
  "seen_until" xid8,
  "earlier_id" bigint  NOT NULL DEFAULT 0,
  CONSTRAINT "audit_state_only_row_check" CHECK (only_row),
  CONSTRAINT "audit_state_pkey" PRIMARY KEY (only_row)
);

ALTER TABLE "private"."audit_state"
  ENABLE ROW LEVEL SECURITY;

INSERT INTO private.audit_state DEFAULT VALUES;

ALTER TABLE "private"."audit_log"
  -- squawk-ignore ban-drop-column
  DROP COLUMN "prev";

ALTER TABLE "private"."audit_log"
  -- squawk-ignore renaming-column
  RENAME COLUMN "seq" TO "id";

ALTER TABLE "private"."audit_log"
  -- squawk-ignore ban-alter-identity
  ALTER COLUMN "id" ADD GENERATED ALWAYS AS IDENTITY;

SELECT pg_catalog.setval('private.audit_log_id_seq', max(a.id)) FROM private.audit_log AS a HAVING max(a.id) IS NOT NULL;

CREATE OR REPLACE FUNCTION edge.create_administrator (
  p_caller    uuid,
  p_email     text,
  p_full_name text,
  p_role      text,
  p_hash      text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_caller private.admin_users := private.require_super_admin(p_caller);
    v_admin private.admin_users;
begin
    insert into private.admin_users (email, full_name, role, password_hash)
    values (pg_catalog.lower(p_email), p_full_name, p_role::public.admin_role, p_hash)
    on conflict (email) do nothing
    returning * into v_admin;
    if v_admin.id is null then
        perform private.raise_error(409, 'email_taken', 'There is an administrator with this e-mail.');
    end if;
    perform private.audit('admin:' || v_caller.id, 'admin.created', 'admin_user', v_admin.id, pg_catalog.jsonb_build_object('role', p_role, 'is_active', true));
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.administrator_item(v_admin)) || private.audit_entries();
end
$function$;

CREATE OR REPLACE FUNCTION jobs.audit_head()
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    return (
        select pg_catalog.jsonb_build_object('seq', c.seq, 'hash', pg_catalog.encode(c.hash, 'hex'))
        from private.audit_chain as c order by c.seq desc limit 1
    );
end
$function$;

CREATE OR REPLACE FUNCTION jobs.check_audit_anchor (
  p_seq  bigint,
  p_hash text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    update private.ledger_check_state as s set anchored_seq = p_seq, anchored_hash = pg_catalog.decode(p_hash, 'hex');
    if p_seq is null or exists (
        select 1 from private.audit_chain as c where c.seq = p_seq and c.hash = pg_catalog.decode(p_hash, 'hex')
    ) then
        return '{}'::jsonb;
    end if;
    return pg_catalog.jsonb_build_object('audit_row', p_seq);
end
$function$;

CREATE OR REPLACE FUNCTION jobs.check_deposit_address (
  p_expected text DEFAULT NULL::text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_shown text := private.setting_text('deposit.address');
    v_recorded text := coalesce(
        (
            select (l.payload ->> 'after')::jsonb #>> '{}' from private.audit_log as l
            where l.action = 'setting.changed' and l.payload ->> 'key' = 'deposit.address' order by l.id desc limit 1
        ),
        'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb'
    );
    v_discrepancies jsonb := '{}'::jsonb;
begin
    if v_shown is distinct from v_recorded then
        v_discrepancies := v_discrepancies || pg_catalog.jsonb_build_object('recorded', v_recorded);
    end if;
    if v_shown is distinct from coalesce(p_expected, v_shown) then
        v_discrepancies := v_discrepancies || pg_catalog.jsonb_build_object('expected', p_expected);
    end if;
    if v_discrepancies = '{}' then
        return v_discrepancies;
    end if;
    if not exists (
        select 1 from private.admin_notices as n
        where n.kind = 'deposit_address_unexpected' and n.created_at > pg_catalog.clock_timestamp() - interval '1 hour'
    ) then
        perform private.notify_administrators(
            'deposit_address_unexpected', 'The deposit address is not the expected one',
            pg_catalog.format('Members are shown %s. Expected is %s.', v_shown, coalesce(p_expected, v_recorded)), '/admin/readiness'
        );
        perform private.mail_administrators(
            'deposit_address_unexpected', 'The deposit address is not the expected one',
            pg_catalog.format(
                E'Members are shown %s.\nExpected is %s.\nFind out who changed it before another deposit is sent.', v_shown, coalesce(p_expected, v_recorded)
            ), '/admin/readiness'
        );
    end if;
    return v_discrepancies || pg_catalog.jsonb_build_object('shown', v_shown);
end
$function$;

CREATE OR REPLACE FUNCTION jobs.link_audit_entries()
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  SET lock_timeout TO '3s'
  AS $function$
declare
    v_result jsonb := '{}'::jsonb;
    v_late private.audit_log;
begin
    begin
        if private.link_entries() > 0 then
            v_result := pg_catalog.jsonb_build_object('audit_head', jobs.audit_head());
        end if;
    -- Whatever it is, entries stay unlinked, and the alarm says so.
    exception when others then
        v_result := pg_catalog.jsonb_build_object('error', sqlstate);
    end;
    -- What is unlinked although linking went well was committed just now, however long ago it was written.
    if v_result ? 'error' then
        select u.* into v_late from private.unlinked_entries as u
        where u.at < pg_catalog.clock_timestamp() - interval '10 seconds' order by u.id limit 1;
    end if;
    if v_late.id is not null then
        perform private.raise_alarm('audit_entry', 'not linked', null, pg_catalog.jsonb_build_object('entry', v_late.id, 'since', v_late.at));
    else
        perform private.end_alarm('audit_entry', 'not linked');
    end if;
    return v_result;
end
$function$;

CREATE OR REPLACE FUNCTION private.add_payout_reference (
  p_withdrawal public.withdrawals,
  p_admin      private.admin_users,
  p_reference  text
)
  RETURNS public.withdrawals
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_reference text := nullif(pg_catalog.btrim(p_reference, E' \t\r\n'), '');
    v_withdrawal public.withdrawals := p_withdrawal;
begin
    if v_reference is null or v_reference is not distinct from (p_withdrawal).payout_reference then
        return p_withdrawal;
    end if;
    if pg_catalog.length(v_reference) > 200 or not private.is_readable(v_reference) then
        perform private.raise_error(400, 'invalid_reference', 'A payout reference has at most 200 characters, on one line.');
    end if;
    if (p_withdrawal).payout_reference is not null then
        perform private.raise_error(409, 'payout_recorded', 'A payout reference was already recorded for this withdrawal.');
    end if;
    if (p_withdrawal).voided_at is not null then
        perform private.raise_error(409, 'voided', 'This withdrawal was voided.');
    end if;
    update public.withdrawals as w set payout_reference = v_reference, payout_at = private.clock()
    where w.id = (p_withdrawal).id
    returning w.* into v_withdrawal;
    perform private.audit(
        'admin:' || (p_admin).id, 'withdrawal.paid', 'withdrawal', v_withdrawal.id, private.payout_facts(v_withdrawal), v_withdrawal.payout_at
    );
    return v_withdrawal;
end
$function$;

CREATE OR REPLACE FUNCTION private.audit (
  p_actor       text,
  p_action      text,
  p_object_type text,
  p_object_id   uuid,
  p_payload     jsonb                    DEFAULT '{}'::jsonb,
  p_at          timestamp with time zone DEFAULT NULL::timestamp WITH time zone
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_id bigint;
    v_hash bytea;
begin
    -- Before the id is drawn, so that who has drawn one is a transaction that others see running: by these the linker
    -- knows which entries may still come.
    perform pg_catalog.pg_current_xact_id();
    insert into private.audit_log (at, actor, action, object_type, object_id, payload)
    values (
        coalesce(p_at, private.clock()), p_actor, p_action, p_object_type, p_object_id,
        coalesce(p_payload, '{}') || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
            'actor_role', case
                when pg_catalog.starts_with(p_actor, 'admin:')
                    then (select a.role from private.admin_users as a where a.id = pg_catalog.substr(p_actor, 7)::uuid)
            end,
            -- Truncate what a client may choose to the length that the services accept.
            'request_id', pg_catalog.left(nullif(pg_catalog.current_setting('request.headers', true), '')::jsonb ->> 'x-request-id', 64)
        ))
    )
    returning id, hash into v_id, v_hash;
    if pg_catalog.starts_with(p_actor, 'admin:') then
        perform pg_catalog.set_config(
            'app.audit_entries', pg_catalog.concat_ws(
                ' ', nullif(pg_catalog.current_setting('app.audit_entries', true), ''), v_id || ':' || pg_catalog.encode(v_hash, 'hex')
            ), true
        );
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.audit_correction (
  p_action     text,
  p_admin_id   uuid,
  p_correction private.corrections,
  p_at         timestamp with time zone
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    perform private.audit('admin:' || p_admin_id, p_action, 'correction', (p_correction).id, private.correction_facts(p_correction), p_at);
    return pg_catalog.jsonb_build_object('success', true, 'correction', pg_catalog.to_jsonb(p_correction) - 'confirmed_in')
        || private.audit_entries();
end
$function$;

CREATE OR REPLACE FUNCTION private.audit_entries()
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
    select pg_catalog.jsonb_build_object('audit_entries', coalesce(pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_object('id', pg_catalog.split_part(e.entry, ':', 1)::bigint, 'hash', pg_catalog.split_part(e.entry, ':', 2))
    ), '[]'))
    from pg_catalog.string_to_table(nullif(pg_catalog.current_setting('app.audit_entries', true), ''), ' ') as e (entry)
$function$;

CREATE OR REPLACE FUNCTION private.audit_log_set_hash()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
    new.hash := private.entry_hash(new);
    return new;
end
$function$;

CREATE OR REPLACE FUNCTION private.audit_page (
  p_actor  text,
  p_action text,
  p_object uuid,
  p_limit  integer,
  p_offset integer
)
  RETURNS SETOF private.audit_log
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return query execute pg_catalog.concat(
        'select a.* from private.audit_log as a where true',
        ' and a.actor = ' || pg_catalog.quote_literal(p_actor),
        case when p_action is not null then pg_catalog.format(
            -- An index range that contains the action and, for the part before a dot, all actions of that group.
            ' and a.action collate "C" between %1$L and %2$L and (a.action = %1$L or pg_catalog.starts_with(a.action, %3$L))',
            p_action, p_action || '/', p_action || '.'
        ) end,
        ' and a.object_id = ' || pg_catalog.quote_literal(p_object),
        ' order by a.id desc limit $1 offset $2'
    ) using p_limit, p_offset;
end
$function$;

CREATE OR REPLACE FUNCTION private.cancel_requests (
  p_user_id uuid,
  p_id      uuid,
  p_reason  text
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_deposit public.deposits;
    v_withdrawal public.withdrawals;
    v_cancelled integer := 0;
begin
    for v_deposit in
        update public.deposits as d set status = 'rejected', admin_notes = p_reason, decided_at = private.clock()
        where d.user_id = p_user_id and d.status = 'pending' and d.id = coalesce(p_id, d.id)
        returning d.*
    loop
        v_cancelled := v_cancelled + 1;
        perform private.audit(
            'member:' || p_user_id, 'deposit.cancelled', 'deposit', v_deposit.id,
            private.deposit_decision_facts(v_deposit), v_deposit.decided_at
        );
    end loop;
    for v_withdrawal in
        update public.withdrawals as w set status = 'rejected', admin_notes = p_reason, decided_at = private.clock()
        where w.user_id = p_user_id and w.status = 'pending' and w.id = coalesce(p_id, w.id)
        returning w.*
    loop
        v_cancelled := v_cancelled + 1;
        perform private.audit(
            'member:' || p_user_id, 'withdrawal.cancelled', 'withdrawal', v_withdrawal.id,
            private.withdrawal_decision_facts(v_withdrawal), v_withdrawal.decided_at
        );
    end loop;
    return v_cancelled;
end
$function$;

CREATE OR REPLACE FUNCTION private.close_profile (
  p_user_id uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_member private.profiles := private.lock_member(p_user_id);
    v_now timestamptz := private.clock();
    v_left jsonb := private.money_left(p_user_id);
begin
    if v_member.id is null or v_member.closed_at is not null then
        return;
    end if;
    -- While the address is still known.
    perform private.notify_member(
        p_user_id, 'account_closed', 'Your account was closed',
        'You can no longer sign in. Pending requests were cancelled. If this was not you, contact support.', null, null
    );
    perform private.cancel_requests(p_user_id, null, 'Account closed');
    delete from private.bot_secrets as b using public.bot_subscriptions as s
    where s.id = b.subscription_id and s.user_id = p_user_id;
    update public.bot_subscriptions as s set status = 'cancelled', mt5_password_length = null, updated_at = v_now
    where s.user_id = p_user_id and s.status <> 'cancelled';
    update private.profiles as p set
        account_status = 'disabled',
        username = private.closed_username(p.id),
        display_name = 'Closed account',
        email = null,
        trc20_wallet_address = null,
        hold_until = null,
        hold_reason = null,
        closed_at = v_now
    where p.id = v_member.id;
    perform private.audit('member:' || p_user_id, 'member.closed', 'profile', v_member.id, pg_catalog.jsonb_build_object('money_left', v_left));
end
$function$;

CREATE OR REPLACE FUNCTION private.correction_facts (
  p_correction private.corrections
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_correction).user_id, 'kind', (p_correction).kind, 'target_id', (p_correction).target_id,
        'value', private.money((p_correction).value), 'reason', (p_correction).reason, 'proposed_by', (p_correction).proposed_by,
        'decision_no', (p_correction).decision_no
    )
$function$;

CREATE OR REPLACE FUNCTION private.create_administrator (
  p_email         text,
  p_full_name     text,
  p_role          public.admin_role,
  p_password_hash text
)
  RETURNS uuid
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_id uuid;
begin
    insert into private.admin_users (email, full_name, role, password_hash)
    values (pg_catalog.lower(p_email), p_full_name, p_role, p_password_hash)
    returning id into v_id;
    perform private.audit('system', 'admin.created', 'admin_user', v_id, pg_catalog.jsonb_build_object('role', p_role, 'is_active', true));
    return v_id;
end
$function$;

CREATE OR REPLACE FUNCTION private.deposit_decision_facts (
  p_deposit public.deposits
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_deposit).user_id, 'amount', private.money((p_deposit).amount),
        'reason', (p_deposit).admin_notes, 'decision_no', (p_deposit).decision_no
    )
$function$;

CREATE OR REPLACE FUNCTION private.deposit_request_facts (
  p_deposit public.deposits
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_deposit).user_id, 'amount', private.money((p_deposit).amount), 'reference_number', (p_deposit).reference_number
    )
$function$;

CREATE OR REPLACE FUNCTION private.deposits_record_request()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    insert into private.deposit_keys (deposit_id, key)
    select distinct new.id, k.key from pg_catalog.unnest(private.reference_keys(new.reference_number)) as k (key);
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    values (new.user_id, new.amount, 'deposit', 'pending', new.id, new.created_at);
    perform private.increment_counter('pending_deposits', 1);
    perform private.audit(private.requester(), 'deposit.requested', 'deposit', new.id, private.deposit_request_facts(new), new.created_at);
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION private.entry_hash (
  p_entry private.audit_log
)
  RETURNS bytea
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return pg_catalog.sha256(pg_catalog.convert_to(
        pg_catalog.concat_ws(
            '|', (p_entry).id, extract(epoch from (p_entry).at), (p_entry).actor, (p_entry).action,
            coalesce((p_entry).object_type, ''), coalesce((p_entry).object_id::text, ''), (p_entry).payload::text
        ), 'UTF8'
    ));
end
$function$;

CREATE OR REPLACE FUNCTION private.link_entries()
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
    v_seen_id bigint;
    v_snapshot pg_snapshot;
    v_last private.audit_chain;
    v_entry private.audit_log;
    v_linked integer := 0;
begin
    perform private.lock_audit_log();
    -- Before the snapshot and before a transaction id of one's own: whoever drew an id so far has an earlier one.
    select q.last_value into v_seen_id from private.audit_log_id_seq as q;
    select pg_catalog.pg_current_snapshot() into v_snapshot;
    select * into v_last from private.audit_chain as c order by c.seq desc limit 1;
    for v_entry in select u.* from private.unlinked_entries as u order by u.id loop
        v_last.seq := coalesce(v_last.seq, 0) + 1;
        v_last.hash := private.link_hash(v_last.hash, v_last.seq, v_entry);
        insert into private.audit_chain (seq, entry_id, hash) values (v_last.seq, v_entry.id, v_last.hash);
        v_linked := v_linked + 1;
    end loop;
    update private.audit_state as s set
        final_id = case when s.seen_until <= pg_catalog.pg_snapshot_xmin(v_snapshot) then s.seen_id else s.final_id end,
        seen_id = v_seen_id,
        seen_until = pg_catalog.pg_current_xact_id()
    where s.final_id <> v_seen_id and (
        s.seen_until is null or s.seen_until <= pg_catalog.pg_snapshot_xmin(v_snapshot)
        -- Of the server that a backup was made on.
        or s.seen_until > pg_catalog.pg_snapshot_xmax(v_snapshot)
    );
    return v_linked;
end
$function$;

CREATE OR REPLACE FUNCTION private.link_hash (
  p_prev  bytea,
  p_seq   bigint,
  p_entry private.audit_log
)
  RETURNS bytea
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return pg_catalog.sha256(
        coalesce(p_prev, ''::bytea) || pg_catalog.convert_to(
            pg_catalog.concat_ws(
                -- An id that is the number is left out: links from before entries had ids are still what they were.
                '|', p_seq, nullif((p_entry).id, p_seq), extract(epoch from (p_entry).at), (p_entry).actor, (p_entry).action,
                coalesce((p_entry).object_type, ''), coalesce((p_entry).object_id::text, ''), (p_entry).payload::text
            ), 'UTF8'
        )
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.lock_key (
  p_name text
)
  RETURNS integer
  LANGUAGE plpgsql
  IMMUTABLE
  PARALLEL SAFE
  SET search_path TO ''
  AS $function$
begin
    case p_name
        -- A decision, a correction, a reconciliation, leaving demo mode: one at a time.
        when 'money' then return 42;
        -- One reconciliation of all bonuses at a time; whoever waited takes its result.
        when 'reconcile' then return 44;
        -- With the id of a new request: two members' requests of one id.
        when 'request' then return 51;
        -- With an owner: how many receipts a member has.
        when 'receipts_of_owner' then return 45;
        -- With a name: using a receipt in a deposit, or deleting it.
        when 'receipt' then return 48;
        -- The roll-up of team totals.
        when 'networks' then return 46;
        -- The income disclosure is published by one.
        when 'income_disclosure' then return 47;
        -- With an email address: one login attempt on an administrator's account at a time.
        when 'login_to_account' then return 49;
        -- With a client address: one login attempt of an administrator from it at a time.
        when 'login_from_address' then return 50;
        -- The end of the audit chain: one linker at a time.
        when 'audit_log' then return 43;
    end case;
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
    select 'mail_opt_outs', pg_catalog.jsonb_build_object('topic', o.topic, 'since', o.at)
    from private.mail_opt_outs as o where o.user_id = p_user_id
    order by o.topic;
    return query
    select 'activity', pg_catalog.jsonb_build_object(
        'at', a.at, 'action', a.action, 'object_type', a.object_type, 'object_id', a.object_id, 'details', a.payload
    )
    from private.audit_log as a where a.actor = 'member:' || p_user_id
    order by a.id;
end
$function$;

CREATE OR REPLACE FUNCTION private.payout_facts (
  p_withdrawal public.withdrawals
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_withdrawal).user_id, 'amount', private.money((p_withdrawal).amount), 'wallet_address', (p_withdrawal).wallet_address,
        'payout_reference', (p_withdrawal).payout_reference
    )
$function$;

CREATE OR REPLACE FUNCTION private.requester()
  RETURNS text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return case private.my_role() when 'authenticated' then 'member:' || auth.uid() when 'service_role' then 'service' else 'system' end;
end
$function$;

CREATE OR REPLACE FUNCTION private.verify_audit_chain()
  RETURNS SETOF text
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return query
    select coalesce(a.seq::text, 'entry ' || a.id)
    from (
        select
            c.seq,
            l.id,
            l.hash is distinct from private.entry_hash(l.*) as wrong_entry,
            c.hash is distinct from private.link_hash(pg_catalog.lag(c.hash) over w, c.seq, l.*) as wrong_link,
            pg_catalog.lag(c.seq) over w as seq_before,
            s.final_id
        from private.audit_log as l
        full join private.audit_chain as c on l.id = c.entry_id
        cross join private.audit_state as s
        window w as (order by c.seq)
    ) as a
    where a.id is null or a.wrong_entry
        or (a.seq is not null and (a.wrong_link or a.seq <> coalesce(a.seq_before, 0) + 1))
        or (a.seq is null and a.id < a.final_id)
    union all
    select s.anchored_seq::text
    from private.ledger_check_state as s
    left join private.audit_chain as c on s.anchored_seq = c.seq and s.anchored_hash = c.hash
    where s.anchored_seq is not null and c.seq is null;
end
$function$;

CREATE OR REPLACE FUNCTION private.withdrawal_decision_facts (
  p_withdrawal public.withdrawals
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_withdrawal).user_id, 'amount', private.money((p_withdrawal).amount), 'wallet_address', (p_withdrawal).wallet_address,
        'reason', (p_withdrawal).admin_notes, 'decision_no', (p_withdrawal).decision_no
    )
$function$;

CREATE OR REPLACE FUNCTION private.withdrawal_flags (
  p_withdrawal public.withdrawals,
  p_member     private.profiles
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text)), '[]')
        from (
            select 'checksum' as kind, 'This does not look like a TRC20 address' as text
            where not private.is_trc20_address((p_withdrawal).wallet_address)
            union all
            (
                select
                    'address_changed',
                    pg_catalog.format(
                        'Wallet address changed on %s', pg_catalog.to_char(l.at at time zone 'UTC', 'FMDD Mon YYYY')
                    )
                from private.audit_log as l
                where
                    l.object_id = (p_member).id
                    and l.action = 'member.wallet_changed'
                    and l.payload ->> 'from' is not null
                    and l.at > pg_catalog.now() - interval '7 days'
                order by l.id desc
                limit 1
            )
            union all
            (
                select 'address_shared', pg_catalog.format('Also the wallet of %s', q.username)
                from private.profiles as q
                where q.trc20_wallet_address = (p_withdrawal).wallet_address and q.id <> (p_member).id
                order by q.created_at
                limit 3
            )
            union all
            select 'hold', pg_catalog.format(
                'On hold until %s UTC, 24 hours after a change of %s',
                pg_catalog.to_char((p_member).hold_until at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'),
                case (p_member).hold_reason when 'email' then 'e-mail' when 'factor' then 'second factor' else (p_member).hold_reason end
            )
            where (p_member).hold_until > pg_catalog.now()
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status)
            where (p_member).account_status in ('suspended', 'disabled')
        ) as f
    );
end
$function$;

CREATE OR REPLACE FUNCTION private.withdrawal_request_facts (
  p_withdrawal public.withdrawals
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  AS $function$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_withdrawal).user_id, 'amount', private.money((p_withdrawal).amount), 'wallet_address', (p_withdrawal).wallet_address
    )
$function$;

CREATE OR REPLACE FUNCTION private.withdrawals_record_request()
  RETURNS TRIGGER
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
    insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
    values (new.user_id, -new.amount, 'withdrawal', 'pending', new.id, new.created_at);
    update private.totals as t set reserved_amount = t.reserved_amount + new.amount where t.user_id = new.user_id;
    perform private.increment_counter('pending_withdrawals', 1);
    perform private.increment_counter('reserved', new.amount);
    perform private.audit(
        private.requester(), 'withdrawal.requested', 'withdrawal', new.id, private.withdrawal_request_facts(new), new.created_at
    );
    return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.cancel_request (
  p_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_row jsonb;
begin
    -- Status pending blocks only new requests.
    perform private.require_active_status(nullif((private.lock_member(auth.uid())).account_status, 'pending'));
    -- Without an id all would be cancelled.
    if p_id is not null and private.cancel_requests(auth.uid(), p_id, 'Cancelled by the member') > 0 then
        return pg_catalog.jsonb_build_object('success', true);
    end if;
    select pg_catalog.to_jsonb(r) into v_row from (
        select d.status, d.decided_at, d.decided_by, d.admin_notes from public.deposits as d where d.id = p_id and d.user_id = auth.uid()
        union all
        select w.status, w.decided_at, w.decided_by, w.admin_notes from public.withdrawals as w where w.id = p_id and w.user_id = auth.uid()
    ) as r;
    if v_row is null then
        perform private.raise_error(404, 'not_found', 'There is no such request of yours.');
    end if;
    if v_row ->> 'admin_notes' is distinct from 'Cancelled by the member' then
        perform private.raise_error(
            409, 'already_decided', pg_catalog.format('Already %s %s.', v_row ->> 'status', private.relative_time((v_row ->> 'decided_at')::timestamptz, private.clock()))
        );
    end if;
    return pg_catalog.jsonb_build_object('success', true, 'already', true);
end
$function$;

CREATE OR REPLACE FUNCTION public.change_setting (
  p_key   text,
  p_value jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_before jsonb;
    v_setting private.settings;
begin
    if p_key in ('demo', 'demo.seeded', 'mail.ready') then
        perform private.raise_error(403, 'forbidden', 'This changes through readiness only.');
    end if;
    perform private.check_setting(p_key, p_value);
    select s.value into v_before from private.settings as s where s.key = p_key for no key update;
    update private.settings as s set value = p_value, updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id
    where s.key = p_key returning s.* into v_setting;
    if p_key = 'deposit.address' and v_before is distinct from p_value then
        perform private.notify_administrators(
            'deposit_address_changed', 'The deposit address was changed',
            pg_catalog.format('%s set it to %s. If this was not agreed, sign in and change it back at once.', coalesce(v_admin.full_name, v_admin.email), p_value #>> '{}'),
            '/admin/readiness'
        );
    end if;
    perform private.audit(
        'admin:' || v_admin.id, 'setting.changed', null, null,
        pg_catalog.jsonb_build_object('key', p_key, 'before', pg_catalog.left(v_before::text, 500), 'after', pg_catalog.left(p_value::text, 500))
    );
    return pg_catalog.jsonb_build_object('success', true, 'setting', pg_catalog.jsonb_build_object('key', v_setting.key, 'value', v_setting.value))
        || private.audit_entries();
end
$function$;

CREATE OR REPLACE FUNCTION public.confirm_correction (
  p_correction_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_correction private.corrections := private.lock_waiting_correction(p_correction_id);
begin
    if v_correction.proposed_by = v_admin.id then
        perform private.raise_error(403, 'two_people', 'Another administrator must confirm a correction.');
    end if;
    perform private.require_not_own_account(v_admin, v_correction.user_id);
    perform private.require_correctable_member(v_correction.kind, v_correction.target_id);
    perform private.lock_members(private.upline_ids(v_correction.user_id));
    update private.corrections as c set
        confirmed_by = v_admin.id, confirmed_at = private.clock(), confirmed_in = pg_catalog.pg_current_xact_id(),
        decision_no = private.next_decision_no()
    where c.id = p_correction_id
    returning * into v_correction;
    perform pg_catalog.set_config('app.allow_bonus_decrease', 'on', true);
    perform private.apply_correction(v_correction);
    perform pg_catalog.set_config('app.allow_bonus_decrease', '', true);
    perform private.notify_member(
        v_correction.user_id, 'correction', 'Your account was corrected',
        pg_catalog.format('%s Reason: %s', case v_correction.kind
            when 'void_deposit' then 'A deposit no longer counts.'
            when 'void_withdrawal' then 'A withdrawal that was not paid counts as available again.'
            else 'Your package was set to ' || private.dollars(v_correction.value) || '.'
        end, v_correction.reason), v_correction.value, '/transactions'
    );
    return private.audit_correction('correction.confirmed', v_admin.id, v_correction, v_correction.confirmed_at);
end
$function$;

CREATE OR REPLACE FUNCTION public.decide_deposit (
  p_deposit_id uuid,
  p_action     text,
  p_reason     text DEFAULT NULL::text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_status public.request_status := private.parse_action(p_action);
    v_reason text := case when v_status = 'rejected' then private.validate_reason(p_reason) end;
    v_deposit public.deposits;
begin
    select * into v_deposit from public.deposits as d where d.id = p_deposit_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such deposit.');
    end if;
    perform private.require_not_own_account(v_admin, v_deposit.user_id);
    perform private.lock_money();
    perform private.lock_members(private.upline_ids(v_deposit.user_id));
    select * into v_deposit from public.deposits as d where d.id = p_deposit_id for no key update;
    if v_deposit.status <> 'pending' then
        if v_deposit.status is distinct from v_status or v_deposit.decided_by is distinct from v_admin.id then
            perform private.raise_already_decided(pg_catalog.to_jsonb(v_deposit));
        end if;
        return pg_catalog.jsonb_build_object('success', true, 'already', true, 'deposit', private.request_json(pg_catalog.to_jsonb(v_deposit)));
    end if;
    v_deposit.decision_no := private.next_decision_no();
    v_deposit.decided_at := private.clock();
    if v_status = 'approved' then
        perform private.credit_deposit(v_deposit);
    end if;
    update public.deposits as d set
        status = v_status, admin_notes = v_reason, decided_at = v_deposit.decided_at, decided_by = v_admin.id, decision_no = v_deposit.decision_no
    where d.id = p_deposit_id and d.status = 'pending'
    returning d.* into v_deposit;
    perform private.notify_decision('deposit', v_deposit.user_id, v_deposit.amount, v_status, v_reason);
    perform private.audit(
        'admin:' || v_admin.id, 'deposit.' || v_status, 'deposit', v_deposit.id, private.deposit_decision_facts(v_deposit), v_deposit.decided_at
    );
    return pg_catalog.jsonb_build_object('success', true, 'deposit', private.request_json(pg_catalog.to_jsonb(v_deposit))) || private.audit_entries();
end
$function$;

CREATE OR REPLACE FUNCTION public.decide_withdrawal (
  p_withdrawal_id    uuid,
  p_action           text,
  p_reason           text DEFAULT NULL::text,
  p_payout_reference text DEFAULT NULL::text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_status public.request_status := private.parse_action(p_action);
    v_reason text := case when v_status = 'rejected' then private.validate_reason(p_reason) end;
    v_withdrawal public.withdrawals;
    v_member private.profiles;
    v_paid text;
begin
    select * into v_withdrawal from public.withdrawals as w where w.id = p_withdrawal_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such withdrawal.');
    end if;
    perform private.require_not_own_account(v_admin, v_withdrawal.user_id);
    perform private.lock_money();
    v_member := private.lock_member(v_withdrawal.user_id);
    select * into v_withdrawal from public.withdrawals as w where w.id = p_withdrawal_id for no key update;
    v_paid := case when v_status = 'approved' then nullif(pg_catalog.btrim(p_payout_reference), '') end;
    if v_withdrawal.status <> 'pending' then
        -- Any administrator who may decide may record the payout later.
        if v_withdrawal.status is distinct from v_status or (v_paid is null and v_withdrawal.decided_by is distinct from v_admin.id) then
            perform private.raise_already_decided(pg_catalog.to_jsonb(v_withdrawal));
        end if;
        v_withdrawal := private.add_payout_reference(v_withdrawal, v_admin, v_paid);
        return pg_catalog.jsonb_build_object(
            'success', true, 'already', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal))
        ) || private.audit_entries();
    end if;
    if v_status = 'approved' then
        perform private.check_payable(v_withdrawal, v_member);
    end if;
    update public.withdrawals as w set
        status = v_status, admin_notes = v_reason, decided_at = private.clock(), decided_by = v_admin.id, decision_no = private.next_decision_no()
    where w.id = p_withdrawal_id and w.status = 'pending'
    returning w.* into v_withdrawal;
    perform private.notify_decision('withdrawal', v_withdrawal.user_id, v_withdrawal.amount, v_status, v_reason);
    perform private.audit(
        'admin:' || v_admin.id, 'withdrawal.' || v_status, 'withdrawal', v_withdrawal.id,
        private.withdrawal_decision_facts(v_withdrawal), v_withdrawal.decided_at
    );
    v_withdrawal := private.add_payout_reference(v_withdrawal, v_admin, v_paid);
    return pg_catalog.jsonb_build_object('success', true, 'withdrawal', private.request_json(pg_catalog.to_jsonb(v_withdrawal)))
        || private.audit_entries();
end
$function$;

CREATE OR REPLACE FUNCTION public.discard_correction (
  p_correction_id uuid
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_correction private.corrections := private.lock_waiting_correction(p_correction_id);
begin
    perform private.require_not_own_account(v_admin, v_correction.user_id);
    update private.corrections as c set discarded_by = v_admin.id, discarded_at = private.clock()
    where c.id = p_correction_id
    returning * into v_correction;
    return private.audit_correction('correction.discarded', v_admin.id, v_correction, v_correction.discarded_at);
end
$function$;

CREATE OR REPLACE FUNCTION public.leave_demo()
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_missing text;
begin
    perform private.lock_money();
    if not private.is_demo() then
        perform private.raise_error(409, 'demo_is_over', 'Demo mode has ended already.');
    end if;
    perform private.lock_requests();
    select pg_catalog.string_agg(r.missing, ' ') into v_missing from private.readiness() as r where not r.ok;
    if v_missing is not null then
        perform private.raise_error(409, 'not_ready', v_missing);
    end if;
    update private.settings as s set value = 'false', updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id where s.key = 'demo';
    perform private.audit('admin:' || v_admin.id, 'demo.left', null, null);
    return '{"success": true}'::jsonb || private.audit_entries();
end
$function$;

CREATE OR REPLACE FUNCTION public.list_audit (
  p_filters jsonb DEFAULT '{}'::jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin();
    v_page integer := least(greatest(coalesce((p_filters ->> 'page')::integer, 1), 1), 100000);
    v_size integer := least(greatest(coalesce((p_filters ->> 'pageSize')::integer, 50), 1), 500);
    v_actor text := case
        when v_admin.role = 'support_admin' then 'admin:' || v_admin.id
        else 'admin:' || nullif(p_filters ->> 'adminId', '')
    end;
    v_action text := nullif(pg_catalog.btrim(p_filters ->> 'action'), '');
    v_object uuid := nullif(p_filters ->> 'objectId', '')::uuid;
    v_total bigint;
begin
    select count(*) into v_total from private.audit_page(v_actor, v_action, v_object, 10001, 0);
    return pg_catalog.jsonb_build_object(
        'entries', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'seq', a.id, 'at', a.at, 'actor', a.actor, 'actor_name', private.actor_name(a.actor), 'action', a.action,
                        'object_type', a.object_type, 'object_id', a.object_id, 'payload', a.payload
                    ) order by a.id desc
                ), '[]'
            )
            from private.audit_page(v_actor, v_action, v_object, v_size, (v_page - 1) * v_size) as a
        ),
        'total', least(v_total, 10000)
    ) || case when v_total > 10000 then '{"more": true}' else '{}' end::jsonb;
end
$function$;

CREATE OR REPLACE FUNCTION public.propose_correction (
  p_kind      text,
  p_target_id uuid,
  p_value     numeric,
  p_reason    text
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_correction private.corrections;
begin
    if v_reason is null or pg_catalog.length(v_reason) > 1000 then
        perform private.raise_error(400, 'invalid_reason', 'Give a reason of at most 1,000 characters.');
    end if;
    if p_kind = 'set_package' and (
        p_value is null or not (p_value = 0 or exists (select 1 from private.packages as k where k.value = p_value))
    ) then
        perform private.raise_error(400, 'invalid_input', 'The package must be 0 or one of the package sizes.');
    end if;
    begin
        insert into private.corrections (kind, target_id, user_id, value, reason, proposed_by, proposed_at)
        values (
            p_kind, p_target_id, private.require_correctable_member(p_kind, p_target_id),
            case when p_kind = 'set_package' then p_value end, v_reason, v_admin.id, private.clock()
        )
        returning * into v_correction;
    exception when unique_violation then
        perform private.raise_error(409, 'already_proposed', 'This correction is already waiting for its confirmation.');
    end;
    return private.audit_correction('correction.proposed', v_admin.id, v_correction, v_correction.proposed_at);
end
$function$;

CREATE OR REPLACE FUNCTION public.update_administrator (
  p_admin_id  uuid,
  p_full_name text,
  p_role      text,
  p_is_active boolean
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
    v_caller private.admin_users;
    v_before private.admin_users;
    v_after private.admin_users;
begin
    -- Lock all accounts before reading the caller, who may have lost the role while waiting.
    perform 1 from private.admin_users as a order by a.id for no key update;
    v_caller := private.require_admin(array['super_admin']::public.admin_role[]);
    select * into v_before from private.admin_users as a where a.id = p_admin_id;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such administrator.');
    end if;
    if p_role is not null and p_role not in ('super_admin', 'finance_admin', 'support_admin') then
        perform private.raise_error(400, 'invalid_input', 'There is no such role.');
    end if;
    if p_admin_id = v_caller.id and (coalesce(p_role, 'super_admin') <> 'super_admin' or p_is_active is false) then
        perform private.raise_error(403, 'forbidden', 'You cannot change your own role or switch your own account off.');
    end if;
    update private.admin_users as a set
        full_name = coalesce(nullif(pg_catalog.btrim(p_full_name), ''), a.full_name),
        role = coalesce(p_role::public.admin_role, a.role),
        is_active = coalesce(p_is_active, a.is_active),
        updated_at = pg_catalog.clock_timestamp()
    where a.id = p_admin_id
    returning a.* into v_after;
    if not v_after.is_active or v_after.role is distinct from v_before.role then
        delete from public.admin_sessions as s where s.admin_id = p_admin_id;
    end if;
    perform private.audit(
        'admin:' || v_caller.id, 'admin.updated', 'admin_user', p_admin_id,
        pg_catalog.jsonb_build_object('role', v_after.role, 'role_before', v_before.role, 'is_active', v_after.is_active)
    );
    return pg_catalog.jsonb_build_object('success', true, 'administrator', private.administrator_item(v_after)) || private.audit_entries();
end
$function$;

ALTER TABLE "private"."audit_chain"
  -- squawk-ignore adding-foreign-key-constraint, constraint-missing-not-valid
  ADD CONSTRAINT "audit_chain_entry_id_fkey" FOREIGN KEY (entry_id) REFERENCES private.audit_log(id) ON DELETE RESTRICT;

create view private.due_audit_entries as
select
    'I43' as rule,
    'deposit' as object_type,
    d.id as object_id,
    'deposit.requested' as action,
    d.created_at as at,
    array['member:' || d.user_id, 'service', 'system'] as actors,
    null::text[] as roles,
    d.user_id,
    private.deposit_request_facts(d) as facts
from public.deposits as d
union all
select
    'I44',
    'withdrawal',
    w.id,
    'withdrawal.requested',
    w.created_at,
    array['member:' || w.user_id, 'service', 'system'],
    null,
    w.user_id,
    private.withdrawal_request_facts(w)
from public.withdrawals as w
union all
select
    'I45',
    'deposit',
    d.id,
    'deposit.' || case when d.decided_by is null then 'cancelled' else d.status::text end,
    d.decided_at,
    array[coalesce('admin:' || d.decided_by, 'member:' || d.user_id)],
    case when d.decided_by is not null then array['super_admin', 'finance_admin'] end,
    d.user_id,
    private.deposit_decision_facts(d)
from public.deposits as d
where d.status <> 'pending'
union all
select
    'I46',
    'withdrawal',
    w.id,
    'withdrawal.' || case when w.decided_by is null then 'cancelled' else w.status::text end,
    w.decided_at,
    array[coalesce('admin:' || w.decided_by, 'member:' || w.user_id)],
    case when w.decided_by is not null then array['super_admin', 'finance_admin'] end,
    w.user_id,
    private.withdrawal_decision_facts(w)
from public.withdrawals as w
where w.status <> 'pending'
union all
-- Whoever may decide may record the payout; the row does not say who did.
select
    'I47',
    'withdrawal',
    w.id,
    'withdrawal.paid',
    w.payout_at,
    null,
    array['super_admin', 'finance_admin'],
    w.user_id,
    private.payout_facts(w)
from public.withdrawals as w
where w.payout_reference is not null
union all
select
    'I48',
    'correction',
    c.id,
    'correction.' || v.what,
    v.at,
    array['admin:' || v.decided_by],
    v.roles,
    c.user_id,
    private.correction_facts(c) || case when v.what = 'proposed' then '{"decision_no": null}' else '{}' end::jsonb
from private.corrections as c
cross join
    lateral (
        values
        ('proposed', c.proposed_by, c.proposed_at, array['super_admin']),
        ('confirmed', c.confirmed_by, c.confirmed_at, array['super_admin', 'finance_admin']),
        ('discarded', c.discarded_by, c.discarded_at, array['super_admin', 'finance_admin'])
    ) as v (what, decided_by, at, roles)
where v.decided_by is not null;

create view private.money_audit_entries as
select
    r.rule,
    l.id,
    l.at,
    l.actor,
    l.action,
    l.object_id,
    case
        when l.payload ->> 'user_id' ~ '\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z' then (l.payload ->> 'user_id')::uuid
    end as user_id,
    l.payload ->> 'actor_role' as actor_role,
    l.id <= s.earlier_id as is_earlier,
    l.id <= s.earlier_id and l.payload ? 'backfilled' as is_backfilled,
    -- Entries of earlier corrections have a value where there is none.
    case
        when l.id <= s.earlier_id then l.payload - array['actor_role', 'request_id', 'backfilled', 'value']
        else l.payload - array['actor_role', 'request_id']
    end as facts
from private.audit_log as l
inner join (
    values
    ('I43', 'deposit.requested'),
    ('I44', 'withdrawal.requested'),
    ('I45', 'deposit.approved'), ('I45', 'deposit.rejected'), ('I45', 'deposit.cancelled'),
    ('I46', 'withdrawal.approved'), ('I46', 'withdrawal.rejected'), ('I46', 'withdrawal.cancelled'),
    ('I47', 'withdrawal.paid'),
    ('I48', 'correction.proposed'), ('I48', 'correction.confirmed'), ('I48', 'correction.discarded')
) as r (rule, action) on l.action = r.action
cross join private.audit_state as s;

create view private.audit_discrepancies as
select
    coalesce(d.rule, e.rule) as rule,
    coalesce(d.object_id, e.object_id) || ' ' || coalesce(d.action, e.action) as object,
    coalesce(d.user_id, e.user_id) as user_id,
    jsonb_build_object('entry', e.id, 'says', e.facts, 'is', d.facts) as details
from private.due_audit_entries as d
full join private.money_audit_entries as e on d.object_id = e.object_id and d.action = e.action
where
    d.object_id is null or e.id is null
    or (d.actors is not null and e.actor <> all(d.actors))
    or (d.roles is not null and not e.is_backfilled and coalesce(e.actor_role <> all(d.roles), true))
    or (e.is_earlier and not d.facts @> e.facts)
    or (not e.is_earlier and (e.facts <> d.facts or e.at is distinct from d.at))
union all
-- One entry for each.
select
    min(e.rule),
    e.object_id || ' ' || e.action || ' twice',
    min(e.user_id::text)::uuid,
    jsonb_build_object('entries', count(*))
from private.money_audit_entries as e
group by e.object_id, e.action
having count(*) > 1
union all
select
    'I49',
    coalesce(a.id, e.object_id)::text,
    null,
    jsonb_build_object('entry', e.id, 'role', a.role, 'is_active', a.is_active)
from private.admin_users as a
full join (
    select distinct on (l.object_id)
        l.object_id,
        l.id,
        l.payload ->> 'role' as role,
        coalesce(l.payload ->> 'is_active', 'true') as is_active,
        not starts_with(l.actor, 'admin:') or l.payload ->> 'actor_role' = 'super_admin' as is_allowed
    from private.audit_log as l
    where l.action in ('admin.created', 'admin.updated')
    order by l.object_id asc, l.id desc
) as e on a.id = e.object_id
where (a.role::text, a.is_active::text, e.is_allowed) is distinct from (e.role, e.is_active, true);

create view private.ledger_violations as
with earned as materialized (
    select
        b.user_id,
        sum(b.amount_cents) * 0.01 as total,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'referral'), 0) * 0.01 as referral,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'pairing'), 0) * 0.01 as pairing,
        coalesce(sum(b.amount_cents) filter (where b.bonus_type = 'override'), 0) * 0.01 as override,
        sum(b.reentry_amount) as reentry,
        count(*) filter (where b.amount_cents > 0) as bonus_rows
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
            )
            or s.referral_count + s.pairing_count + s.override_count <> coalesce(b.bonus_rows, 0) as wrong_totals,
            p.cash_in_amount <> coalesce(d.recounted, 0) as wrong_cash_in,
            p.package_value <> coalesce(d.package, 0) as wrong_package
        from private.profiles as p
        left join private.totals as s on p.user_id = s.user_id
        left join journal as j on p.user_id = j.user_id
        left join earned as b on p.user_id = b.user_id
        left join claimed as d on p.user_id = d.user_id
        left join drawn as w on p.user_id = w.user_id
    ) as m
    where m.wrong_journal or m.wrong_totals or m.wrong_cash_in or m.wrong_package
),

-- Sources and journal rows that do not match.
bonus_entries as materialized (
    select
        b.id as source_id,
        b.user_id,
        j.reference_id
    from public.bonuses as b
    full join (
        select
            t.reference_id,
            coalesce(sum(t.amount) filter (where t.status = 'completed'), 0) as amount
        from public.transactions as t
        where t.transaction_type = 'bonus'
        group by t.reference_id
    ) as j on b.id = j.reference_id
    where b.id is null or coalesce(j.amount, 0) <> b.amount
),

deposit_entries as materialized (
    select
        d.id as source_id,
        t.id as entry_id,
        t.reference_id,
        coalesce(d.user_id, t.user_id) as user_id
    from public.deposits as d
    full join (
        select * from public.transactions as j
        where j.transaction_type = 'deposit'
    ) as t
        on d.id = t.reference_id
    where (t.user_id, t.amount::numeric, t.decision_no, t.status::text) is distinct from (
        d.user_id,
        d.amount::numeric,
        d.decision_no,
        case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
    )
),

withdrawal_entries as materialized (
    select
        w.id as source_id,
        t.id as entry_id,
        t.reference_id,
        coalesce(w.user_id, t.user_id) as user_id
    from public.withdrawals as w
    full join (
        select * from public.transactions as j
        where j.transaction_type = 'withdrawal'
    ) as t
        on w.id = t.reference_id
    where (t.user_id, t.amount::numeric, t.decision_no, t.status::text) is distinct from (
        w.user_id,
        -w.amount::numeric,
        w.decision_no,
        case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
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
            o.user_id <> p.user_id
            or (r.profile_id is distinct from p.referrer_id)
            or o.package_cents <> p.package_value * 100
            or o.paid_cents <> case when p.cash_in_amount >= p.package_value then p.package_value * 100 else 0 end
            or ((o.children, o.children) is distinct from (coalesce(c.children, 0)::integer, coalesce(c.last, 0))) as wrong_place
        from private.profiles as p
        left join private.profiles as s on p.referrer_id = s.id
        left join private.positions as o on p.id = o.profile_id
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
where e.source_id is not null
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
where e.source_id is not null
union all
-- I04 The same for withdrawals, negative.
select
    'I04',
    e.source_id::text,
    e.user_id,
    null
from withdrawal_entries as e
where e.source_id is not null
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
-- I07 Totals equal the sums of their rows, so the balance is max(0, bonuses - approved withdrawals).
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
-- I16 Amounts are finite and in range. A bonus is zero only when a correction was the last to change it.
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
left join storage.objects as o on o.bucket_id = 'receipts' and d.receipt_name = o.name
where
    o.owner_id is distinct from d.user_id::text or split_part(d.receipt_name, '/', 1) <> d.user_id::text
    or o.metadata ->> 'eTag' is distinct from d.receipt_etag
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
    c.name,
    null,
    null
from private.counter_values() as c
inner join (
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
        sum(e.bonus_rows) as bonus_rows
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
) as f on c.name = f.name
where c.value <> f.value
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
from private.team_day_discrepancies() as d left join private.positions as o on d.no = o.no
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
-- I43 to I48 A request, its decision, a payout and a correction have one entry of the audit log each, which says the
-- same. I49 An administrator has the role of the last entry.
select
    a.rule,
    a.object,
    a.user_id,
    a.details
from private.audit_discrepancies as a;

create view private.unlinked_entries as
select
    l.id,
    l.at,
    l.actor,
    l.action,
    l.object_type,
    l.object_id,
    l.payload,
    l.hash
from private.audit_log as l
cross join private.audit_state as s
where
    l.id >= s.final_id
    and not exists (
        select 1 from private.audit_chain as c
        where c.entry_id = l.id
    );

CREATE TRIGGER _100_reject_change
  BEFORE DELETE OR UPDATE OR TRUNCATE ON private.audit_chain
  FOR EACH STATEMENT
  EXECUTE FUNCTION private.reject_change();

COMMENT ON COLUMN "private"."audit_chain"."hash" IS 'Of the link before it, its number and its entry.';

COMMENT ON COLUMN "private"."audit_log"."hash" IS 'Of everything else in the row.';

COMMENT ON COLUMN "private"."audit_log"."id" IS 'The order of writing; commits may come in another.';

COMMENT ON COLUMN "private"."audit_state"."earlier_id" IS 'Entries up to this one are from before entries said all that the ledger checks compare; what they say must hold, and backfilled ones are among them.';

COMMENT ON COLUMN "private"."audit_state"."seen_id" IS 'The last id drawn when the linker looked; it becomes final_id when every transaction before seen_until has ended.';

COMMENT ON COLUMN "private"."audit_state"."final_id" IS 'Every entry before this id that will ever be there is linked.';

COMMENT ON COLUMN "private"."ledger_check_state"."anchored_hash" IS 'Hash of that link.';

COMMENT ON COLUMN "private"."ledger_check_state"."anchored_seq" IS 'Number of the link that the worker anchored externally last; null when there is none.';

COMMENT ON FUNCTION "jobs"."audit_head"() IS 'Number and hash of the newest link; null when there is none.';

COMMENT ON FUNCTION "jobs"."check_audit_anchor"(bigint, text) IS 'Stores the worker''s last external anchor (null for none) for the ledger check. Returns {}, or the number of the anchored link when it is missing or different.';

COMMENT ON FUNCTION "jobs"."link_audit_entries"() IS 'Links new entries; raises the alarm audit_entry while one is unlinked for more than 10 seconds. Returns {}, {audit_head} when it linked any, or {error: SQLSTATE}.';

COMMENT ON FUNCTION "private"."audit"(text, text, text, uuid, jsonb, timestamp with time zone) IS 'Writes one entry, with the administrator''s role and the request id; p_at is the time of what it records, now by default. Takes no lock.';

COMMENT ON FUNCTION "private"."audit_correction"(text, uuid, private.corrections, timestamp with time zone) IS 'Audits what happened to a correction and when; returns the response.';

COMMENT ON FUNCTION "private"."audit_entries"() IS '{audit_entries: [{id, hash}]}: what an administrator''s transaction wrote, for its response. Whoever keeps that proves the entry.';

COMMENT ON FUNCTION "private"."audit_log_set_hash"() IS 'Trigger: sets the hash of a new entry.';

COMMENT ON FUNCTION "private"."cancel_requests"(uuid, uuid, text) IS 'Takes a member''s pending requests back, or the one with this id: rejected for this reason, by no administrator. Returns how many. Call under the member''s lock.';

COMMENT ON FUNCTION "private"."correction_facts"(private.corrections) IS 'Payload of correction.proposed, correction.confirmed and correction.discarded.';

COMMENT ON FUNCTION "private"."create_administrator"(text, text, public.admin_role, text) IS 'Creates an administrator without one: the first, and those of the sample data. p_password_hash is Argon2id.';

COMMENT ON FUNCTION "private"."deposit_decision_facts"(public.deposits) IS 'Payload of deposit.approved, deposit.rejected and deposit.cancelled.';

COMMENT ON FUNCTION "private"."deposit_request_facts"(public.deposits) IS 'Payload of deposit.requested.';

COMMENT ON FUNCTION "private"."deposits_record_request"() IS 'Trigger: keys, journal row, counter and audit entry of a new deposit.';

COMMENT ON FUNCTION "private"."entry_hash"(private.audit_log) IS 'Hash of an entry: covers every other column.';

COMMENT ON FUNCTION "private"."link_entries"() IS 'Links what is committed and not linked yet, in the order of writing; returns how many. Errors: try_again.';

COMMENT ON FUNCTION "private"."link_hash"(bytea, bigint, private.audit_log) IS 'Hash of a link: covers the hash of the link before it, its number and every column of its entry.';

COMMENT ON FUNCTION "private"."lock_audit_log"() IS 'Takes the audit lock: one linker at a time. Nobody else takes it. Errors: try_again.';

COMMENT ON FUNCTION "private"."payout_facts"(public.withdrawals) IS 'Payload of withdrawal.paid.';

COMMENT ON FUNCTION "private"."requester"() IS 'Who makes a new request, for its audit entry: the member, a service, or the system, which plays the sample data.';

COMMENT ON FUNCTION "private"."verify_audit_chain"() IS 'Numbers of the links at which the chain is broken, entries that were changed or have lost their link, and the number of the externally anchored link when it is missing or different; none when the chain is intact. What is not linked yet is no error.';

COMMENT ON FUNCTION "private"."withdrawal_decision_facts"(public.withdrawals) IS 'Payload of withdrawal.approved, withdrawal.rejected and withdrawal.cancelled.';

COMMENT ON FUNCTION "private"."withdrawal_request_facts"(public.withdrawals) IS 'Payload of withdrawal.requested.';

COMMENT ON FUNCTION "private"."withdrawals_record_request"() IS 'Trigger: journal row, reserved amount, counters and audit entry of a new withdrawal.';

COMMENT ON FUNCTION "public"."list_audit"(jsonb) IS 'The audit log, newest first; seq is the entry''s id; filters page, pageSize, adminId, action (also the part before a dot), objectId. Support administrators read their own rows. Errors: forbidden, session_ended.';

COMMENT ON INDEX "private"."audit_log_settings_idx" IS 'Finds the last change of a setting, queried every minute.';

COMMENT ON TABLE "private"."audit_chain" IS 'The hash chain of the audit log, in the order in which the entries were found committed. Append-only.';

COMMENT ON TABLE "private"."audit_log" IS 'Audited actions. Append-only; linked by private.audit_chain.';

COMMENT ON TABLE "private"."audit_state" IS 'How far the audit log is linked.';

COMMENT ON VIEW "private"."audit_discrepancies" IS 'Requests, decisions, payouts, corrections and administrators that differ from their entries of the audit log, have none or more than one, or were decided in a role that may not; and such entries without their row.';

COMMENT ON VIEW "private"."due_audit_entries" IS 'The entries that requests, decisions, payouts and corrections must have: what each says, when, who may have written it (null: anybody with one of the roles) and in which role. rule is the ledger check that compares them.';

COMMENT ON VIEW "private"."ledger_violations" IS 'Violations of the ledger''s invariants: the rule, the violating object, the member whose money it concerns (null: everybody''s), and figures that change when the violation does. Empty when there are none.';

COMMENT ON VIEW "private"."money_audit_entries" IS 'The entries that private.due_audit_entries asks for, and what they say beside role and request.';

COMMENT ON VIEW "private"."unlinked_entries" IS 'Committed entries that are not linked yet.';

REVOKE ALL ON FUNCTION "jobs"."link_audit_entries"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "jobs"."link_audit_entries"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."link_audit_entries"() TO "postgres";

GRANT EXECUTE ON FUNCTION "jobs"."link_audit_entries"() TO "worker";

REVOKE ALL ON FUNCTION "private"."audit"(text, text, text, uuid, jsonb, timestamp WITH time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit"(text, text, text, uuid, jsonb, timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit"(text, text, text, uuid, jsonb, timestamp WITH time zone) TO "postgres";

REVOKE ALL ON FUNCTION "private"."audit_correction"(text, uuid, private.corrections, timestamp WITH time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_correction"(text, uuid, private.corrections, timestamp WITH time zone) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_correction"(text, uuid, private.corrections, timestamp WITH time zone) TO "postgres";

REVOKE ALL ON FUNCTION "private"."audit_entries"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."audit_entries"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."audit_entries"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."cancel_requests"(uuid, uuid, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."cancel_requests"(uuid, uuid, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."cancel_requests"(uuid, uuid, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."correction_facts"(private.corrections) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."correction_facts"(private.corrections) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."correction_facts"(private.corrections) TO "postgres";

REVOKE ALL ON FUNCTION "private"."create_administrator"(text, text, public.admin_role, text) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."create_administrator"(text, text, public.admin_role, text) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."create_administrator"(text, text, public.admin_role, text) TO "postgres";

REVOKE ALL ON FUNCTION "private"."deposit_decision_facts"(public.deposits) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."deposit_decision_facts"(public.deposits) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."deposit_decision_facts"(public.deposits) TO "postgres";

REVOKE ALL ON FUNCTION "private"."deposit_request_facts"(public.deposits) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."deposit_request_facts"(public.deposits) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."deposit_request_facts"(public.deposits) TO "postgres";

REVOKE ALL ON FUNCTION "private"."entry_hash"(private.audit_log) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."entry_hash"(private.audit_log) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."entry_hash"(private.audit_log) TO "postgres";

REVOKE ALL ON FUNCTION "private"."link_entries"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."link_entries"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."link_entries"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."link_hash"(bytea, bigint, private.audit_log) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."link_hash"(bytea, bigint, private.audit_log) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."link_hash"(bytea, bigint, private.audit_log) TO "postgres";

REVOKE ALL ON FUNCTION "private"."payout_facts"(public.withdrawals) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."payout_facts"(public.withdrawals) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."payout_facts"(public.withdrawals) TO "postgres";

REVOKE ALL ON FUNCTION "private"."requester"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."requester"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."requester"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."verify_audit_chain"() FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."verify_audit_chain"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."verify_audit_chain"() TO "postgres";

REVOKE ALL ON FUNCTION "private"."withdrawal_decision_facts"(public.withdrawals) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."withdrawal_decision_facts"(public.withdrawals) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."withdrawal_decision_facts"(public.withdrawals) TO "postgres";

REVOKE ALL ON FUNCTION "private"."withdrawal_request_facts"(public.withdrawals) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."withdrawal_request_facts"(public.withdrawals) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."withdrawal_request_facts"(public.withdrawals) TO "postgres";

ALTER TABLE private.audit_log DISABLE TRIGGER _100_reject_change;

UPDATE private.audit_log AS a SET hash = private.entry_hash(a.*) WHERE a.hash IS DISTINCT FROM private.entry_hash(a.*);

ALTER TABLE private.audit_log ENABLE TRIGGER _100_reject_change;

INSERT INTO private.audit_log (at, actor, action, object_type, object_id, payload)
SELECT d.at, coalesce(d.actors[1], 'system'), d.action, d.object_type, d.object_id, d.facts || '{"backfilled": true}'
FROM private.due_audit_entries AS d
WHERE NOT EXISTS (SELECT 1 FROM private.audit_log AS a WHERE a.object_id = d.object_id AND a.action = d.action)
ORDER BY d.at, d.object_id, d.rule;

INSERT INTO private.audit_log (at, actor, action, object_type, object_id, payload)
SELECT
    u.created_at, 'system', 'admin.created', 'admin_user', u.id,
    jsonb_build_object('role', u.role, 'is_active', u.is_active, 'backfilled', true)
FROM private.admin_users AS u
WHERE NOT EXISTS (
    SELECT 1 FROM private.audit_log AS a WHERE a.object_id = u.id AND a.action IN ('admin.created', 'admin.updated')
)
ORDER BY u.created_at, u.id;

UPDATE private.audit_state AS s SET earlier_id = l.id
FROM (SELECT coalesce(max(a.id), 0) AS id FROM private.audit_log AS a) AS l
WHERE s.earlier_id <> l.id;
