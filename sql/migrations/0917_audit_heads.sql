-- Who gets around the triggers can cut the last rows off the audit chain, and what is left is whole. So the worker
-- writes down the chain's head outside the database every hour (functions/worker/audit_heads.py), and tells here
-- what it wrote last: that row must still be there. What it says is kept, so that every check of the books asks it.

alter table private.books_state add column copied_seq bigint, add column copied_hash bytea;
comment on column private.books_state.copied_seq is 'Number of the audit row that the worker last wrote down outside the database; null when it has none.';
comment on column private.books_state.copied_hash is 'The hash of that row.';

create or replace function private.verify_audit_chain() returns setof bigint
language plpgsql stable set search_path = '' as $$
begin
    return query
    select a.seq
    from (
        select
            l.seq,
            l.hash,
            l.prev,
            pg_catalog.lag(l.hash) over w as before,
            pg_catalog.lag(l.seq) over w as seq_before,
            private.audit_hash(l.prev, l.*) as expected
        from private.audit_log as l
        window w as (order by l.seq)
    ) as a
    where a.hash <> a.expected or a.prev is distinct from a.before or a.seq <> coalesce(a.seq_before, 0) + 1
    union all
    select s.copied_seq
    from private.books_state as s
    left join private.audit_log as l on s.copied_seq = l.seq and s.copied_hash = l.hash
    where s.copied_seq is not null and l.seq is null;
end
$$;
comment on function private.verify_audit_chain() is
'Numbers of the audit rows at which the chain breaks, and of the row written down outside when it is missing or another; none when the chain is whole.';

create function jobs.check_audit_copy(p_seq bigint, p_hash text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
begin
    update private.books_state as s set copied_seq = p_seq, copied_hash = pg_catalog.decode(p_hash, 'hex');
    if p_seq is null or exists (
        select 1 from private.audit_log as l where l.seq = p_seq and l.hash = pg_catalog.decode(p_hash, 'hex')
    ) then
        return '{}'::jsonb;
    end if;
    return pg_catalog.jsonb_build_object('audit_row', p_seq);
end
$$;
comment on function jobs.check_audit_copy(bigint, text) is
'What the worker wrote down last, null for nothing: kept for the check of the books. Answers {}, or the number of the row when it is missing or another.';

create function jobs.audit_head() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
begin
    return (
        select pg_catalog.jsonb_build_object('seq', l.seq, 'hash', pg_catalog.encode(l.hash, 'hex'))
        from private.audit_log as l order by l.seq desc limit 1
    );
end
$$;
comment on function jobs.audit_head() is 'Number and hash of the newest audit row; null when there is none.';
grant execute on function jobs.check_audit_copy(bigint, text), jobs.audit_head() to worker;
