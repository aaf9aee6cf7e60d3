-- What people are told, written in the transaction that did it: a notification the member reads in the app, an
-- outbox row the worker mails. Nothing is sent from inside a transaction, and nothing that was rolled back is told.

create table public.notifications (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    kind text not null check (kind ~ '\A[a-z][a-z0-9_]{1,62}\Z'),
    title text not null check (length(title) between 1 and 200),
    body text not null check (length(body) between 1 and 4000),
    amount public.usd,
    link text check (link ~ '\A/[a-z0-9/?=&_-]*\Z'),
    read_at timestamptz,
    created_at timestamptz not null default now()
);
alter table public.notifications enable row level security;
create index notifications_user_idx on public.notifications (user_id, created_at desc, id desc);
create index notifications_unread_idx on public.notifications (user_id) where read_at is null;
comment on table public.notifications is 'What a member is told in the app.';
create policy select_own on public.notifications for select to authenticated using (user_id = (select auth.uid()));
grant select on public.notifications to authenticated, service_role;

create table private.admin_notices (
    id uuid primary key default gen_random_uuid(),
    kind text not null check (kind ~ '\A[a-z][a-z0-9_]{1,62}\Z'),
    title text not null check (length(title) between 1 and 200),
    body text not null check (length(body) between 1 and 4000),
    link text,
    created_at timestamptz not null default now()
);
alter table private.admin_notices enable row level security;
create index admin_notices_created_idx on private.admin_notices (created_at desc, id desc);
comment on table private.admin_notices is 'What all administrators are told in the panel.';

create table private.outbox (
    id bigint generated always as identity primary key,
    template text not null check (template ~ '\A[a-z][a-z0-9_]{1,62}\Z'),
    recipient text not null check (recipient ~ '\A[^\s@]+@[^\s@]+\Z'),
    data jsonb not null default '{}',
    created_at timestamptz not null default now(),
    attempts integer not null default 0,
    next_attempt_at timestamptz not null default now(),
    claimed_until timestamptz,
    sent_at timestamptz,
    failed_at timestamptz,
    last_error text
);
alter table private.outbox enable row level security;
create index outbox_due_idx on private.outbox (next_attempt_at) where sent_at is null and failed_at is null;
comment on table private.outbox is 'Mail to send. data holds what the template prints (username, title, body, amount as text, link).';

create function private.tell(p_user_id uuid, p_kind text, p_title text, p_body text, p_amount numeric, p_link text) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_member private.profiles;
begin
    select * into v_member from private.profiles as p where p.user_id = p_user_id;
    insert into public.notifications (user_id, kind, title, body, amount, link, created_at)
    values (p_user_id, p_kind, p_title, p_body, p_amount, p_link, private.clock());
    if v_member.email ~ '\A[^\s@]+@[^\s@]+\Z' then
        insert into private.outbox (template, recipient, data, created_at)
        values (
            p_kind, v_member.email, pg_catalog.jsonb_build_object(
                'username', v_member.username, 'display_name', v_member.display_name, 'title', p_title, 'body', p_body,
                'amount', private.money(p_amount), 'link', p_link
            ), private.clock()
        );
    end if;
end
$$;
comment on function private.tell(uuid, text, text, text, numeric, text) is 'Tells a member in the app and by mail, if this transaction commits.';

create function private.outbox_announce() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
    perform pg_catalog.pg_notify('outbox', '');
    return null;
end
$$;
comment on function private.outbox_announce() is 'Wakes the worker; delivered at commit.';
create trigger _900_announce after insert on private.outbox for each statement execute function private.outbox_announce();

create function jobs.claim_mail(p_max integer) returns setof private.outbox
language sql volatile security definer set search_path = '' as $$
    update private.outbox as o set attempts = o.attempts + 1, claimed_until = pg_catalog.clock_timestamp() + interval '2 minutes'
    where o.id in (
        select c.id from private.outbox as c
        where c.sent_at is null and c.failed_at is null and c.next_attempt_at <= pg_catalog.clock_timestamp()
            and (c.claimed_until is null or c.claimed_until < pg_catalog.clock_timestamp())
        order by c.next_attempt_at
        limit p_max
        for update skip locked
    )
    returning o.*
$$;
comment on function jobs.claim_mail(integer) is 'Due mail, leased for two minutes: a worker that dies gives it back.';

create function jobs.mail_sent(p_id bigint) returns void
language sql volatile security definer set search_path = '' as $$
    update private.outbox as o set sent_at = pg_catalog.clock_timestamp(), claimed_until = null, last_error = null where o.id = p_id
$$;
comment on function jobs.mail_sent(bigint) is 'The mail server took it.';

create function jobs.mail_failed(p_id bigint, p_error text) returns void
language sql volatile security definer set search_path = '' as $$
    update private.outbox as o set
        claimed_until = null,
        last_error = pg_catalog.left(p_error, 500),
        next_attempt_at = pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => least(3600, 15 * pg_catalog.power(2, o.attempts))),
        failed_at = case when o.attempts >= 12 then pg_catalog.clock_timestamp() end
    where o.id = p_id
$$;
comment on function jobs.mail_failed(bigint, text) is 'Tries again later, at growing distances; gives up after twelve attempts.';
grant execute on function jobs.claim_mail(integer), jobs.mail_sent(bigint), jobs.mail_failed(bigint, text) to worker;
