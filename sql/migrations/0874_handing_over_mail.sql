-- A letter is sent at least once; a second copy must stay the exception. Just before a letter is handed to the mail
-- server its lease is renewed, and only by the worker that holds it: of a batch that took longer than the lease, what
-- another worker has taken meanwhile is left to it. The one copy too many that remains is that of a worker which died,
-- or lost the database for good, between the server's word and the note of it; it carries the same Message-ID.

create function jobs.hand_over_mail(p_id bigint, p_claimed_until timestamptz) returns boolean
language sql volatile security definer set search_path = '' as $$
    with renewed as (
        update private.outbox as o set claimed_until = pg_catalog.clock_timestamp() + interval '2 minutes'
        where o.id = p_id and o.claimed_until = p_claimed_until and o.sent_at is null and o.failed_at is null
        returning o.id
    )
    select exists (select 1 from renewed)
$$;
comment on function jobs.hand_over_mail(bigint, timestamptz) is
'Renews the lease of a letter about to be sent; false when it is not the caller''s any more, and must not be sent.';
grant execute on function jobs.hand_over_mail(bigint, timestamptz) to worker;
