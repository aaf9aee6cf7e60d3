-- A member lets a bot trade with the member's own MT5 account. The password is encrypted before it reaches
-- SQL and lies in a table of its own that no API role may read; the subscription carries only its length, for
-- the mask. Unsubscribing erases it.

create table public.bot_subscriptions (
    id uuid primary key default gen_random_uuid(),
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    bot_name text not null check (bot_name in ('Scout', 'Ranger', 'Sentinel')),
    status public.subscription_status not null default 'active',
    mt5_server text not null check (length(mt5_server) between 1 and 128),
    mt5_login text not null check (length(mt5_login) between 1 and 64),
    mt5_password_length integer check (mt5_password_length between 1 and 256),
    subscribed_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
alter table public.bot_subscriptions enable row level security;
-- One running subscription per member and bot.
create unique index bot_subscriptions_running_key on public.bot_subscriptions (user_id, bot_name) where status <> 'cancelled';
create index bot_subscriptions_user_idx on public.bot_subscriptions (user_id, subscribed_at desc);
create index bot_subscriptions_subscribed_idx on public.bot_subscriptions (subscribed_at desc, id desc);
comment on table public.bot_subscriptions is 'Subscriptions to trading bots. mt5_password_length is null once the secret is erased.';

create table private.bot_secrets (
    subscription_id uuid primary key references public.bot_subscriptions (id) on delete cascade,
    key_id text not null,
    secret bytea not null,
    updated_at timestamptz not null default now()
);
alter table private.bot_secrets enable row level security;
create index bot_secrets_key_idx on private.bot_secrets (key_id);
comment on table private.bot_secrets is 'Encrypted MT5 passwords: nonce, ciphertext and tag as functions/edge wrote them.';

create policy select_own on public.bot_subscriptions for select to authenticated using (user_id = (select auth.uid()));
create policy select_all on public.bot_subscriptions for select to platform_admin using (true);
grant select on public.bot_subscriptions to authenticated, platform_admin, service_role;
-- Not granted: insert, update, delete to anyone. Schema edge has the functions.

create function public.get_user_bot_subscriptions(p_user_id uuid) returns setof public.bot_subscriptions
language sql stable security definer set search_path = '' as $$
    select * from public.bot_subscriptions as s
    where s.user_id = p_user_id and s.user_id = auth.uid() and s.status in ('active', 'suspended')
    order by s.subscribed_at desc
$$;
comment on function public.get_user_bot_subscriptions(uuid) is 'The caller''s own running subscriptions; another member''s id answers no rows.';
grant execute on function public.get_user_bot_subscriptions(uuid) to authenticated;
