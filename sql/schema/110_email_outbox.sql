-- The e-mail outbox, delivery by the worker, and what a super_admin sees of both. E-mail about money and security is
-- always sent. Other topics are the member's choice; until a member chooses, the topic says whether mail is sent. The
-- in-app notification is always there, and every e-mail of a topic links to the choice.

create table private.outbox (
    id bigint generated always as identity primary key,
    template text not null check (template ~ '\A[a-z][a-z0-9_]{1,62}\Z'),
    recipient text not null check (recipient ~ '\A[^\s@]+@[^\s@]+\Z'),
    data jsonb not null default '{}',
    created_at timestamptz not null default now(),
    attempts integer not null default 0,
    next_attempt_at timestamptz not null default now(),
    leased_until timestamptz,
    sent_at timestamptz,
    failed_at timestamptz,
    last_error text
) with (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200
);
comment on table private.outbox is 'E-mail to send. data holds the template''s values (username, title, body, amount as text, link).';
alter table private.outbox enable row level security;
create index outbox_due_idx on private.outbox (next_attempt_at) where sent_at is null and failed_at is null;
-- Failed e-mail, for the super_admin's list; sent e-mail, for the purge.
create index outbox_failed_idx on private.outbox (failed_at desc) where failed_at is not null;
create index outbox_sent_idx on private.outbox (sent_at) where sent_at is not null;

create table private.mail_topics (
    topic text primary key check (topic ~ '\A[a-z][a-z_]{1,30}\Z'),
    kind_pattern text not null,
    label text not null check (length(label) between 1 and 80),
    wanted_at_first boolean not null default true
);
comment on table private.mail_topics is 'Topics that members choose mail about; kind_pattern matches the kinds of their notifications.';
comment on column private.mail_topics.wanted_at_first is 'Whether mail is sent to members who have not chosen.';
alter table private.mail_topics enable row level security;

insert into private.mail_topics (topic, kind_pattern, label, wanted_at_first) values
('bots', '\Abot_', 'Changes to my bot subscriptions', true),
('earnings', '\A(bonus_earned|referral_joined)\Z', 'New direct referrals and bonuses', false);

create table private.mail_choices (
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    topic text not null references private.mail_topics (topic) on delete cascade,
    at timestamptz not null default now(),
    wanted boolean not null,
    primary key (user_id, topic)
);
comment on table private.mail_choices is 'Whether a member wants mail about a topic, once the member has said so.';
alter table private.mail_choices enable row level security;
create index mail_choices_topic_idx on private.mail_choices (topic);

create function private.mail_administrators(
    p_template text, p_title text, p_body text, p_link text, p_role public.admin_role default null, p_except uuid default null
) returns void
language sql volatile set search_path = '' as $$
    insert into private.outbox (template, recipient, data)
    select p_template, a.email, pg_catalog.jsonb_build_object('display_name', a.full_name, 'title', p_title, 'body', p_body, 'link', p_link)
    from private.admin_users as a where a.is_active and (p_role is null or a.role = p_role) and a.id is distinct from p_except
$$;
comment on function private.mail_administrators(text, text, text, text, public.admin_role, uuid) is
'E-mails every active administrator (p_role: of one role), except one, when the transaction commits.';

create function private.mail_admin_change(p_admin_id uuid, p_change text, p_by uuid, p_former_email text default null) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_admin private.admin_users;
    v_by text := coalesce(
        case when p_by = p_admin_id then 'This was done from the account itself.' end,
        (select 'This was done by ' || coalesce(b.full_name || ' (' || b.email || ').', b.email || '.') from private.admin_users as b where b.id = p_by),
        'This was done on the server, with the operator''s command.'
    );
begin
    if p_change is null then
        return;
    end if;
    select * into v_admin from private.admin_users as a where a.id = p_admin_id;
    insert into private.outbox (template, recipient, data)
    select 'admin_account_changed', r.email, pg_catalog.jsonb_build_object(
        'display_name', v_admin.full_name, 'title', 'Your administrator account was changed', 'link', '/admin/settings',
        'body', pg_catalog.format(E'%s\n%s\nIf you did not expect this, tell a super administrator immediately.', p_change, v_by)
    )
    from (values (v_admin.email), (nullif(p_former_email, v_admin.email))) as r (email)
    where r.email is not null;
    perform private.mail_administrators(
        'admin_account_changed', 'An administrator''s account was changed',
        pg_catalog.format(
            E'Account: %s\n%s\n%s\nIf this was not agreed, deactivate the account and find out who did it.',
            coalesce(v_admin.full_name || ' (' || v_admin.email || ')', v_admin.email), p_change, v_by
        ),
        '/admin/administrators', case when p_by is not null then 'super_admin'::public.admin_role end, p_admin_id
    );
end
$$;
comment on function private.mail_admin_change(uuid, text, uuid, text) is
'E-mails a change of an administrator''s account, a sentence, to its person (also at a former address) and to every other super administrator; where nobody of the panel did it (p_by null) to every administrator. Null: nothing changed.';

create function public.get_mail_choices() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
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
$$;
comment on function public.get_mail_choices() is
'Topics that the caller may choose mail about, and the current choices; e-mail about money and security is not among them.';
grant execute on function public.get_mail_choices() to authenticated;

create function public.set_mail_choice(p_topic text, p_wanted boolean) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.require_member()).user_id;
begin
    if p_wanted is null or not exists (select 1 from private.mail_topics as t where t.topic = p_topic) then
        perform private.raise_error(400, 'invalid_input', 'This email cannot be switched off.');
    end if;
    insert into private.mail_choices as c (user_id, topic, wanted) values (v_user_id, p_topic, p_wanted)
    on conflict (user_id, topic) do update set wanted = excluded.wanted, at = excluded.at
        where c.wanted <> excluded.wanted;
    return public.get_mail_choices();
end
$$;
comment on function public.set_mail_choice(text, boolean) is 'Opts into or out of one topic; returns all choices. Errors: invalid_input.';
grant execute on function public.set_mail_choice(text, boolean) to authenticated;

-- Delivery. Each e-mail is sent at least once; duplicates must stay the exception. The worker asks every second what is
-- due: to notify it, each transaction with an e-mail would take a lock of the whole database at its commit.

create function jobs.is_mail_due() returns boolean
language sql stable security definer set search_path = '' as $$
    select exists (
        select 1 from private.outbox as o
        where o.sent_at is null and o.failed_at is null and private.is_over(o.next_attempt_at, '1 hour')
            and (o.leased_until is null or private.is_over(o.leased_until, '2 minutes'))
    ) and not private.is_copy()
$$;
comment on function jobs.is_mail_due() is 'Whether any e-mail is to be sent now: none by a restored copy.';
grant execute on function jobs.is_mail_due() to worker;

create function jobs.lease_mail(p_max integer) returns setof private.outbox
language sql volatile security definer set search_path = '' as $$
    update private.outbox as o set attempts = o.attempts + 1, leased_until = pg_catalog.clock_timestamp() + interval '2 minutes'
    where o.id in (
        select c.id from private.outbox as c
        where c.sent_at is null and c.failed_at is null and private.is_over(c.next_attempt_at, '1 hour')
            and (c.leased_until is null or private.is_over(c.leased_until, '2 minutes'))
            and not private.is_copy()
        order by c.next_attempt_at
        limit p_max
        for update skip locked
    )
    returning o.*
$$;
comment on function jobs.lease_mail(integer) is 'Due e-mail, leased for two minutes: the lease of a crashed worker expires.';
grant execute on function jobs.lease_mail(integer) to worker;

-- Renew the lease just before handing an e-mail to the mail server, and only for the worker that holds it: when a
-- batch takes longer than the lease, another worker keeps what it has leased meanwhile. A duplicate remains possible
-- only when a worker crashes, or loses the database for good, between the mail server's acceptance and
-- mark_mail_sent(); it has the same Message-ID.
create function jobs.renew_mail_lease(p_id bigint, p_leased_until timestamptz) returns boolean
language sql volatile security definer set search_path = '' as $$
    with renewed as (
        update private.outbox as o set leased_until = pg_catalog.clock_timestamp() + interval '2 minutes'
        where o.id = p_id and o.leased_until = p_leased_until and o.sent_at is null and o.failed_at is null
        returning o.id
    )
    select exists (select 1 from renewed)
$$;
comment on function jobs.renew_mail_lease(bigint, timestamptz) is
'Renews the lease of an e-mail about to be sent; false when another worker holds it: then do not send it.';
grant execute on function jobs.renew_mail_lease(bigint, timestamptz) to worker;

create function jobs.mark_mail_sent(p_id bigint) returns void
language sql volatile security definer set search_path = '' as $$
    update private.outbox as o set sent_at = pg_catalog.clock_timestamp(), leased_until = null, last_error = null where o.id = p_id
$$;
comment on function jobs.mark_mail_sent(bigint) is 'Marks an e-mail as accepted by the mail server.';
grant execute on function jobs.mark_mail_sent(bigint) to worker;

create function jobs.mark_mail_failed(p_id bigint, p_error text) returns void
language sql volatile security definer set search_path = '' as $$
    update private.outbox as o set
        leased_until = null,
        last_error = pg_catalog.left(p_error, 500),
        next_attempt_at = pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => least(3600, 15 * pg_catalog.power(2, o.attempts))),
        failed_at = case when o.attempts >= 12 then pg_catalog.clock_timestamp() end
    where o.id = p_id
$$;
comment on function jobs.mark_mail_failed(bigint, text) is 'Schedules a retry with exponential backoff; gives up after twelve attempts.';
grant execute on function jobs.mark_mail_failed(bigint, text) to worker;

-- Shown to a super_admin: queued and failed e-mail, failed jobs, the last ledger check.

create function private.failed_jobs() returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    -- The worker creates these tables, and grants reading them, when it starts.
    if pg_catalog.has_table_privilege(pg_catalog.to_regclass('procrastinate.procrastinate_jobs'), 'select') is not true then
        return '[]'::jsonb;
    end if;
    return (
        select coalesce(
            pg_catalog.jsonb_agg(
                pg_catalog.jsonb_build_object('task', f.task_name, 'attempts', f.attempts, 'attempted_at', f.attempted_at) order by f.id desc
            ), '[]'
        )
        from (
            select
                j.id, j.task_name, j.attempts,
                (select max(e.at) from procrastinate.procrastinate_events as e where e.job_id = j.id) as attempted_at
            from procrastinate.procrastinate_jobs as j
            where j.status = 'failed'
            order by j.id desc
            limit 100
        ) as f
    );
end
$$;
comment on function private.failed_jobs() is 'The newest 100 failed jobs of the worker. They are purged after a month.';

create function public.list_jobs() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    perform private.require_admin(array['super_admin']::public.admin_role[]);
    return pg_catalog.jsonb_build_object(
        'mail', (
            select pg_catalog.jsonb_build_object(
                'waiting', count(*),
                'failed', (select count(*) from private.outbox as f where f.failed_at is not null),
                'sent_today', (select count(*) from private.outbox as s where s.sent_at > pg_catalog.now() - interval '24 hours'),
                'oldest_waiting', min(o.created_at)
            )
            from private.outbox as o where o.sent_at is null and o.failed_at is null
        ),
        'failed', (
            select coalesce(
                pg_catalog.jsonb_agg(
                    pg_catalog.jsonb_build_object(
                        'id', f.id, 'template', f.template, 'recipient', f.recipient, 'attempts', f.attempts,
                        'failed_at', f.failed_at, 'last_error', f.last_error
                    ) order by f.failed_at desc
                ), '[]'
            )
            from (select * from private.outbox as o where o.failed_at is not null order by o.failed_at desc limit 100) as f
        ),
        'failed_jobs', private.failed_jobs(),
        'books', (
            select pg_catalog.jsonb_build_object('checked_at', b.checked_at, 'violations', b.violations, 'rules', b.rules) from private.ledger_check_state as b
        ),
        'coverage_kept', (select max(c.day) from private.coverage_days as c)
    );
end
$$;
comment on function public.list_jobs() is
'Queued and failed e-mail, failed jobs, the last ledger check, the last coverage snapshot. Super admin. Errors: forbidden, session_ended.';
grant execute on function public.list_jobs() to platform_admin;

create function public.retry_mail(p_id bigint) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
begin
    update private.outbox as o set attempts = 0, failed_at = null, next_attempt_at = pg_catalog.clock_timestamp()
    where o.id = p_id and o.failed_at is not null;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no failed email like this.');
    end if;
    perform private.audit('admin:' || v_admin.id, 'mail.retried', null, null, pg_catalog.jsonb_build_object('id', p_id));
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.retry_mail(bigint) is 'Retries a failed e-mail. Super admin. Errors: forbidden, not_found.';
grant execute on function public.retry_mail(bigint) to platform_admin;
