-- The text of a mail about alarms also goes to the address in `alarm.webhook_url`, as JSON: as often as the mail, and no
-- oftener. It is written in the mail's transaction and sent by the worker (functions/worker/webhooks.py). Without the
-- setting nothing is written. The address may hold a secret: no error that is stored repeats it.

create table private.alarm_webhooks (
    id uuid primary key default gen_random_uuid(),
    body jsonb not null check (jsonb_typeof(body) = 'object'),
    created_at timestamptz not null default clock_timestamp(),
    tried_at timestamptz,
    sent_at timestamptz,
    failed_at timestamptz,
    last_error text
);
comment on table private.alarm_webhooks is 'Messages about alarms to the operator''s webhook. Written with the mails about them.';
comment on column private.alarm_webhooks.tried_at is 'When the worker last tried to send it; null: not yet.';
comment on column private.alarm_webhooks.failed_at is 'When it was given up; the job that tried is a dead one then, and an alarm.';
alter table private.alarm_webhooks enable row level security;
-- Webhooks that are to be sent, asked for every second.
create index alarm_webhooks_due_idx on private.alarm_webhooks (created_at) where sent_at is null and failed_at is null;

create function private.queue_webhook(p_title text, p_alarm_ids uuid[]) returns void
language plpgsql volatile set search_path = '' as $$
begin
    if private.setting_text('alarm.webhook_url') is null then
        return;
    end if;
    insert into private.alarm_webhooks (body)
    select pg_catalog.jsonb_build_object(
        'title', p_title,
        'link', '/admin/alarms',
        'alarms', coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
            'id', a.id, 'kind', a.kind, 'object', a.object, 'since', a.raised_at, 'ended_at', a.ended_at,
            'problem', t.problem, 'advice', t.advice, 'stops', private.alarm_stops(a), 'username', p.username,
            'urgent', coalesce((a.details ->> 'urgent')::boolean, false)
        ) order by i.place), '[]')
    )
    from pg_catalog.unnest(p_alarm_ids) with ordinality as i (id, place)
    inner join private.alarms as a on i.id = a.id
    cross join lateral private.alarm_texts(a) as t
    left join private.profiles as p on a.user_id = p.user_id;
end
$$;
comment on function private.queue_webhook(text, uuid[]) is
'Writes the webhook message about these alarms, in their order; nothing while no address is set.';

create function jobs.is_webhook_due() returns boolean
language sql stable security definer set search_path = '' as $$
    -- One that was tried is tried again by its job; the others wait for it.
    select exists (select 1 from private.alarm_webhooks as w where w.sent_at is null and w.failed_at is null)
        and not exists (select 1 from private.alarm_webhooks as w where w.sent_at is null and w.failed_at is null and w.tried_at is not null)
        and private.setting_text('alarm.webhook_url') is not null
        and not private.is_copy()
$$;
comment on function jobs.is_webhook_due() is 'Whether a job is needed that sends webhook messages: none by a restored copy.';
grant execute on function jobs.is_webhook_due() to worker;

create function jobs.next_webhook() returns table (id uuid, url text, is_demo boolean, body jsonb)
language sql volatile security definer set search_path = '' as $$
    select w.id, private.setting_text('alarm.webhook_url'), private.is_demo(), w.body || pg_catalog.jsonb_build_object('id', w.id, 'at', w.created_at)
    from private.alarm_webhooks as w
    where
        w.sent_at is null and w.failed_at is null and private.setting_text('alarm.webhook_url') is not null
        -- Its job may have waited when the backup was made.
        and not private.is_copy()
    order by w.created_at
    limit 1
$$;
comment on function jobs.next_webhook() is 'The oldest webhook message that is to be sent, and where to; nothing when there is none.';
grant execute on function jobs.next_webhook() to worker;

create function jobs.mark_webhook(p_id uuid, p_error text, p_given_up boolean) returns void
language sql volatile security definer set search_path = '' as $$
    update private.alarm_webhooks as w set
        tried_at = pg_catalog.clock_timestamp(),
        last_error = pg_catalog.left(p_error, 200),
        sent_at = case when p_error is null then pg_catalog.clock_timestamp() end,
        failed_at = case when p_error is not null and p_given_up then pg_catalog.clock_timestamp() end
    where w.id = p_id
$$;
comment on function jobs.mark_webhook(uuid, text, boolean) is
'Records an attempt: sent without an error, else tried again by its job or given up.';
grant execute on function jobs.mark_webhook(uuid, text, boolean) to worker;
