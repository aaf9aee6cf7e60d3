-- Plays the story of story.sql through the product's own rules: members take their places, requests pass the
-- guards, the sample finance administrator decides them, and packages, bonuses, journal, notices and audit rows
-- follow. The product's clock is set back for each step, which it allows in demo mode only. Run story.sql in the
-- same session first, and store the receipts that receipts.sql lists. A second run changes nothing.

-- The steps, as functions that end with the session.
create or replace function pg_temp.story_join(p_member story_members) returns void
language sql as $$
    insert into private.profiles (id, user_id, username, display_name, email, referrer_id, depth, jump, trc20_wallet_address)
    values (
        (p_member).profile_id, (p_member).user_id, (p_member).username, (p_member).display_name,
        (p_member).username || '@harborline.example',
        (select p.id from private.profiles as p where p.username = (p_member).referrer),
        0, (p_member).profile_id, (p_member).wallet
    );
    select private.audit(
        'member:' || (p_member).user_id, 'member.joined', 'profile', (p_member).profile_id,
        private.member_entry((p_member).profile_id)
    );
$$;

create or replace function pg_temp.story_block(p_username text, p_status public.account_status, p_notes text) returns void
language sql as $$
    update private.profiles set account_status = p_status, admin_notes = p_notes where username = p_username;
    select private.audit('system', 'member.updated', 'profile', p.id, private.member_entry(p.id, array['status']))
    from private.profiles as p where p.username = p_username;
$$;

create or replace function pg_temp.story_uuid(p_what text) returns uuid
language sql immutable as $$
    select overlay(overlay(md5('harborline demo ' || p_what) placing '4' from 13) placing '8' from 17)::uuid
$$;

create or replace function pg_temp.story_claim(p_deposit story_deposits, p_member story_members) returns void
language sql as $$
    insert into public.deposits (id, user_id, amount, reference_number, receipt_url)
    values (
        pg_temp.story_uuid('deposit ' || (p_deposit).no), (p_member).user_id, (p_deposit).amount, (p_deposit).reference,
        'http://demo.invalid/storage/v1/object/public/receipts/'
        || (p_member).user_id || '/' || (1767225600000 + (p_deposit).no * 60000) || '.png'
    )
$$;

create or replace function pg_temp.story_ask(p_withdrawal story_withdrawals, p_member story_members) returns void
language sql as $$
    insert into public.withdrawals (id, user_id, amount, wallet_address)
    values (
        pg_temp.story_uuid('withdrawal ' || (p_withdrawal).no), (p_member).user_id, (p_withdrawal).amount, (p_member).wallet
    )
$$;

create or replace function pg_temp.story_act_as(p_admin uuid) returns void
language plpgsql as $$
begin
    perform set_config('request.jwt.claims', json_build_object(
        'sub', p_admin, 'sid', p_admin, 'jti', 'story', 'role', 'platform_admin', 'aud', 'authenticated'
    )::text, true);
    perform set_config('role', 'platform_admin', true);
end
$$;

-- The session in which the story's administrator decides; its id is the administrator's.
create or replace function pg_temp.story_sign_in(p_admin uuid) returns void
language sql as $$
    insert into public.admin_sessions (session_token, admin_id, expires_at) values (p_admin, p_admin, now() + interval '8 hours');
    insert into private.admin_session_activity (session_token, jti_hash) values (p_admin, sha256('story'));
$$;

create or replace function pg_temp.story_decide(p_admin uuid, p_deposit story_deposits) returns void
language plpgsql as $$
declare
    v_id uuid := pg_temp.story_uuid('deposit ' || (p_deposit).no);
begin
    perform pg_temp.story_act_as(p_admin);
    perform public.decide_deposit(v_id, case (p_deposit).outcome when 'approved' then 'approve' else 'reject' end, (p_deposit).reason);
    perform set_config('role', 'none', true);
end
$$;

create or replace function pg_temp.story_decide(p_admin uuid, p_withdrawal story_withdrawals) returns void
language plpgsql as $$
declare
    v_id uuid := pg_temp.story_uuid('withdrawal ' || (p_withdrawal).no);
begin
    perform pg_temp.story_act_as(p_admin);
    perform public.decide_withdrawal(
        v_id, case (p_withdrawal).outcome when 'approved' then 'approve' else 'reject' end, (p_withdrawal).reason,
        -- What was approved within the last three days has not been paid yet.
        case when (p_withdrawal).outcome = 'approved' and (p_withdrawal).decided > interval '3 days'
            then encode(sha256(convert_to('harborline demo payout ' || (p_withdrawal).no, 'UTF8')), 'hex') end
    );
    perform set_config('role', 'none', true);
end
$$;

create or replace function pg_temp.story_idle(p_nth integer) returns text
language sql as $$
    -- Members who never sent or asked anything, longest first.
    select m.username from story_members as m
    where not exists (select from story_deposits as d where d.username = m.username)
        and m.wallet is not null
        and not exists (select from story_members as c where c.referrer = m.username)
    order by m.joined desc offset p_nth - 1 limit 1
$$;

do $$
declare
    c_finance constant text := 'elin@harborline.example';
    v_now timestamptz := clock_timestamp();
    v_finance uuid;
    v_step record;
    v_repaired integer;
    v_violations jsonb;
begin
    if not private.is_demo() then
        raise exception 'Sample data is for demo mode only.';
    end if;
    if private.setting('demo.seeded') = 'true' then
        raise notice 'The sample data is already there.';
        return;
    end if;
    -- From here on this installation can never accept real money.
    update private.settings set value = 'true' where key = 'demo.seeded';
    perform private.audit_setting('system', 'demo.seeded');

    select a.id into v_finance from private.admin_users as a where a.email = c_finance;
    if not found then
        perform set_config('app.demo_clock', (v_now - interval '102 days')::text, true);
        -- The hash of nothing: she signs in once a password is set for her.
        v_finance := private.create_administrator(c_finance, 'Elin Dahl', 'finance_admin', '$argon2id$v=19$m=65536,t=3,p=4$unset$unset');
        update private.admin_users set created_at = v_now - interval '102 days' where id = v_finance;
    end if;
    perform pg_temp.story_sign_in(v_finance);

    for v_step in
        select s.* from (
            select m.joined as age, 1 as turn, 'join' as what, m as member, null::story_deposits as deposit, null::story_withdrawals as withdrawal
            from story_members as m
            union all
            select d.requested, 2, 'claim', m, d, null
            from story_deposits as d inner join story_members as m on d.username = m.username
            union all
            select d.decided, 3, 'decide deposit', m, d, null
            from story_deposits as d inner join story_members as m on d.username = m.username
            where d.decided is not null
            union all
            select w.requested, 4, 'ask', m, null, w
            from story_withdrawals as w inner join story_members as m on w.username = m.username
            union all
            select w.decided, 5, 'decide withdrawal', m, null, w
            from story_withdrawals as w inner join story_members as m on w.username = m.username
            where w.decided is not null
        ) as s
        order by s.age desc, s.turn
    loop
        perform set_config('app.demo_clock', (v_now - v_step.age)::text, true);
        -- Members' steps are the owner's; only decisions are an administrator's.
        perform set_config('request.jwt.claims', '', true);
        case v_step.what
            when 'join' then perform pg_temp.story_join(v_step.member);
            when 'claim' then perform pg_temp.story_claim(v_step.deposit, v_step.member);
            when 'ask' then perform pg_temp.story_ask(v_step.withdrawal, v_step.member);
            when 'decide deposit' then perform pg_temp.story_decide(v_finance, v_step.deposit);
            when 'decide withdrawal' then perform pg_temp.story_decide(v_finance, v_step.withdrawal);
        end case;
    end loop;
    perform set_config('app.demo_clock', '', true);
    perform set_config('request.jwt.claims', '', true);
    delete from public.admin_sessions where session_token = v_finance;

    -- What is older than five days was read; nobody waits for the mails of the past.
    update public.notifications set read_at = created_at + interval '3 hours' where created_at < v_now - interval '5 days';
    delete from private.outbox where created_at < v_now and recipient like '%@harborline.example';
    perform pg_temp.story_block(pg_temp.story_idle(1), 'suspended', 'Asked for a copy of the transfer, no answer since.');
    perform pg_temp.story_block(pg_temp.story_idle(2), 'disabled', 'Second account of the same person.');

    v_repaired := private.reconcile();
    v_violations := jobs.check_ledger();
    if v_repaired <> 0 or v_violations <> '{}' then
        raise exception 'The books of the sample data do not balance: % repaired, %', v_repaired, v_violations;
    end if;
    perform jobs.roll_up_counters();
    perform jobs.roll_up_networks();
end
$$;

-- The planner should know the tables before the first visitor comes.
analyze private.profiles, private.positions, private.totals, private.networks, private.audit_log, private.corrections,
public.deposits, public.withdrawals, public.bonuses, public.transactions, public.notifications;
