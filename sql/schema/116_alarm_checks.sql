-- Conditions that the worker checks every minute besides the ledger: full disks, jobs that failed for good, and emails
-- that could not be sent. Each raises an alarm while it lasts and ends it afterwards.

create function jobs.check_disks(p_disks jsonb, p_full numeric default 80, p_urgent numeric default 90) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_disk record;
    v_above numeric;
begin
    perform from private.alarm_mail_state as s for no key update;
    for v_disk in
        select d.folder, d.percent, (a.details ->> 'above')::numeric as above
        from pg_catalog.jsonb_to_recordset(p_disks) as d (folder text, percent numeric)
        left join private.alarms as a on a.kind = 'disk' and a.object = d.folder and a.ended_at is null
        order by d.folder
    loop
        -- Two percent below its limit: what comes and goes around the limit is one alarm.
        v_above := case
            when v_disk.percent >= p_urgent - case when v_disk.above = p_urgent then 2 else 0 end then p_urgent
            when v_disk.percent >= p_full - case when v_disk.above is not null then 2 else 0 end then p_full
        end;
        if v_above is null then
            perform private.end_alarm('disk', v_disk.folder);
        else
            perform private.raise_alarm(
                'disk', v_disk.folder, null, pg_catalog.jsonb_build_object('above', v_above, 'urgent', v_above = p_urgent)
            );
        end if;
    end loop;
end
$$;
comment on function jobs.check_disks(jsonb, numeric, numeric) is
'Raises or ends the alarm of each disk of one machine: [{folder, percent}], full above the first percentage, urgent above the second. Names of folders are unique among all machines.';
grant execute on function jobs.check_disks(jsonb, numeric, numeric) to worker;

create function private.check_dead_jobs() returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_task text;
begin
    -- The worker creates these tables, and grants reading them, when it starts.
    if pg_catalog.has_table_privilege(pg_catalog.to_regclass('procrastinate.procrastinate_jobs'), 'select') is not true then
        return;
    end if;
    for v_task in
        select j.task_name
        from procrastinate.procrastinate_jobs as j
        inner join procrastinate.procrastinate_events as e on j.id = e.job_id
        where j.status = 'failed'
        group by j.task_name
        -- A failed job stays in the queue's list for a month, also when the task has worked since.
        having max(e.at) > coalesce((select max(a.ended_at) from private.alarms as a where a.kind = 'dead_job' and a.object = j.task_name), '-infinity')
        order by j.task_name
    loop
        perform private.raise_alarm('dead_job', v_task, null, '{}');
    end loop;
end
$$;
comment on function private.check_dead_jobs() is 'Raises an alarm for each task of which a job was given up since it last worked.';

create function jobs.end_dead_job(p_task text) returns void
language sql volatile security definer set search_path = '' as $$
    select private.end_alarm('dead_job', p_task)
$$;
comment on function jobs.end_dead_job(text) is 'A job of this task has worked: ends its alarm.';
grant execute on function jobs.end_dead_job(text) to worker;

create function private.check_failed_mail() returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_emails bigint := (select count(*) from private.outbox as o where o.failed_at is not null);
    v_known bigint;
begin
    select (a.details ->> 'emails')::bigint into v_known from private.alarms as a
    where a.kind = 'failed_mail' and a.object = 'outbox' and a.ended_at is null;
    if v_emails = 0 then
        perform private.end_alarm('failed_mail', 'outbox');
    elsif v_emails > coalesce(v_known, 0) then
        perform private.raise_alarm('failed_mail', 'outbox', null, pg_catalog.jsonb_build_object('emails', v_emails));
    elsif v_emails < v_known then
        -- Fewer is no news.
        update private.alarms as a set details = pg_catalog.jsonb_build_object('emails', v_emails)
        where a.kind = 'failed_mail' and a.object = 'outbox' and a.ended_at is null;
    end if;
end
$$;
comment on function private.check_failed_mail() is 'Raises an alarm while e-mails are given up; more of them are a change.';

create function jobs.check_alarms() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform from private.alarm_mail_state as s for no key update;
    perform private.check_dead_jobs();
    perform private.check_failed_mail();
    perform private.announce_alarms();
    return (
        select coalesce(pg_catalog.jsonb_object_agg(o.kind, o.alarms), '{}')
        from (
            select a.kind, count(*) as alarms from private.alarms as a
            where a.ended_at is null and a.acknowledged_at is null group by a.kind
        ) as o
    );
end
$$;
comment on function jobs.check_alarms() is
'Looks at given-up jobs and e-mails, and notifies administrators of all alarms that are new; returns the number of open ones by kind.';
grant execute on function jobs.check_alarms() to worker;
