-- The income disclosure counts every member: among a million that is seconds, too long for a visitor to wait and too
-- easy to ask for. From now on the worker publishes it after midnight (UTC), and a visitor reads what is there. A
-- visitor's question counts only where nothing was ever published, or the worker has been away for a day.

create function private.publish_disclosure() returns private.income_disclosures
language plpgsql volatile set search_path = '' as $$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
    v_to timestamptz := pg_catalog.date_trunc('day', v_now at time zone 'UTC') at time zone 'UTC';
    v_from timestamptz;
    v_published private.income_disclosures;
begin
    select greatest(min(p.created_at), v_to - interval '1 year') into v_from from private.profiles as p;
    if v_from < v_to then
        insert into private.income_disclosures (computed_at, body)
        values (v_now, private.compute_disclosure(v_from, v_to) || pg_catalog.jsonb_build_object('computed_at', v_now))
        returning * into v_published;
    end if;
    return v_published;
end
$$;
comment on function private.publish_disclosure() is 'Counts and publishes the last year until midnight (UTC); a null row while there is nothing to report.';

create function jobs.publish_disclosure() returns boolean
language plpgsql volatile security definer set search_path = '' as $$
begin
    if exists (
        select 1 from private.income_disclosures as d
        where d.computed_at >= pg_catalog.date_trunc('day', pg_catalog.clock_timestamp() at time zone 'UTC') at time zone 'UTC'
    ) then
        return false;
    end if;
    perform pg_catalog.pg_advisory_xact_lock(47);
    return (private.publish_disclosure()).computed_at is not null;
end
$$;
comment on function jobs.publish_disclosure() is 'Publishes today''s income disclosure once; false when it is there already or there is nothing to report.';
grant execute on function jobs.publish_disclosure() to worker;

create or replace function public.get_income_disclosure() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_latest private.income_disclosures;
    v_published private.income_disclosures;
begin
    select * into v_latest from private.income_disclosures as d order by d.computed_at desc limit 1;
    -- Whoever asks first counts; the others read the last one meanwhile.
    if (v_latest.computed_at is null or v_latest.computed_at < pg_catalog.clock_timestamp() - interval '2 days')
        and pg_catalog.pg_try_advisory_xact_lock(47) then
        v_published := private.publish_disclosure();
        if v_published.computed_at is not null then
            v_latest := v_published;
        end if;
    end if;
    return v_latest.body;
end
$$;
comment on function public.get_income_disclosure() is
'Open to everybody: what all members received and paid in the last year (or since the first member), until midnight UTC. Null while there is nothing to report.';
