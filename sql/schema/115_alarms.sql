-- Alarms: what an administrator must know and look at. One is open for each kind and object from its first sighting
-- until it is over; the next sighting afterwards is an alarm of its own, and ended ones stay as history. A repeated
-- sighting is written with the same figures or with others: an acknowledgement holds for what was acknowledged and for
-- nothing else, so figures that change end the acknowledged alarm and open the next.

create table private.alarms (
    id uuid primary key default gen_random_uuid(),
    kind text not null constraint alarms_kind_check check (
        kind in ('ledger_violation', 'repair', 'deposit_address', 'audit_entry', 'disk', 'dead_job', 'failed_mail')
    ),
    object text not null check (length(object) between 1 and 200),
    user_id uuid,
    details jsonb not null default '{}' check (jsonb_typeof(details) = 'object'),
    raised_at timestamptz not null default clock_timestamp(),
    changed_at timestamptz not null default clock_timestamp(),
    last_seen timestamptz not null default clock_timestamp(),
    ended_at timestamptz,
    acknowledged_at timestamptz,
    acknowledged_by uuid references private.admin_users (id) on delete restrict,
    reason text check (length(reason) between 1 and 1000),
    mailed_at timestamptz,
    constraint alarms_acknowledged_check check (num_nulls(acknowledged_at, acknowledged_by, reason) in (0, 3))
);
comment on table private.alarms is 'Alarms, open and ended. Written by private.raise_alarm() and the ledger check.';
comment on column private.alarms.object is
'What it concerns; a ledger violation has its rule before it: "I07 <id>". One open alarm for each kind and object.';
comment on column private.alarms.user_id is 'The member whose money it concerns; null: nobody''s alone. No foreign key: what an alarm reports may be damaged.';
comment on column private.alarms.details is 'Figures that say how it is; other figures are a change of the alarm.';
comment on column private.alarms.ended_at is 'When it was over; null while it is open.';
comment on column private.alarms.mailed_at is 'When administrators were told of it as it is now; null: they are still to be told.';
alter table private.alarms enable row level security;
create unique index alarms_open_key on private.alarms (kind, object) where ended_at is null;
-- The history, newest first.
create index alarms_ended_idx on private.alarms (ended_at desc, id) where ended_at is not null;
create index alarms_acknowledged_by_idx on private.alarms (acknowledged_by);

create function private.raise_alarm(p_kind text, p_object text, p_user_id uuid, p_details jsonb) returns boolean
language plpgsql volatile set search_path = '' as $$
declare
    v_alarm private.alarms;
    v_now timestamptz := pg_catalog.clock_timestamp();
begin
    -- Locked, so that nobody acknowledges what is just about to change.
    select * into v_alarm from private.alarms as a
    where a.kind = p_kind and a.object = p_object and a.ended_at is null for no key update;
    if v_alarm.user_id is not distinct from p_user_id and v_alarm.details = p_details then
        update private.alarms as a set last_seen = v_now where a.id = v_alarm.id;
        return false;
    end if;
    update private.alarms as a set ended_at = v_now where a.id = v_alarm.id and a.acknowledged_at is not null;
    insert into private.alarms as a (kind, object, user_id, details, raised_at, changed_at, last_seen)
    values (p_kind, p_object, p_user_id, p_details, v_now, v_now, v_now)
    on conflict (kind, object) where ended_at is null do update set
        user_id = excluded.user_id, details = excluded.details, changed_at = v_now, last_seen = v_now,
        acknowledged_at = null, acknowledged_by = null, reason = null, mailed_at = null;
    return true;
end
$$;
comment on function private.raise_alarm(text, text, uuid, jsonb) is
'Opens an alarm, or updates the open one of this kind and object; true when it is new or has changed. Kinds: ledger_violation, repair, deposit_address, audit_entry, disk, dead_job, failed_mail.';

create function private.end_alarm(p_kind text, p_object text) returns void
language sql volatile set search_path = '' as $$
    update private.alarms as a set ended_at = pg_catalog.clock_timestamp()
    where a.kind = p_kind and a.object = p_object and a.ended_at is null
$$;
comment on function private.end_alarm(text, text) is 'Ends the open alarm of this kind and object: what raised it is over.';
