-- The two lists that administrators decide from, without planning a query for every row: what stands out about a
-- request was a function in SQL, which is planned each time it is called, five thousand times for the full list.
-- And the order by username, which no index held together with the id that a page is made of.
-- A paper that another member sent too stands out as well: its reference may be typed differently, the file is the same.

create index deposits_receipt_etag_idx on public.deposits (receipt_etag) where status <> 'rejected';
create index profiles_by_username_idx on private.profiles (lower(username), id) include (username);

create or replace function private.deposit_flags(p_deposit public.deposits, p_member private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text)), '[]')
        from (
            (
                select
                    'same_reference' as kind,
                    pg_catalog.format(
                        'Same reference as %s, %s', q.username, pg_catalog.to_char(d.created_at at time zone 'UTC', 'FMDD Mon YYYY')
                    ) as text
                from public.deposits as d
                inner join private.profiles as q on d.user_id = q.user_id
                where d.reference_key = (p_deposit).reference_key and d.id <> (p_deposit).id and d.status <> 'rejected'
                order by d.created_at desc
                limit 3
            )
            union all
            (
                select
                    'same_receipt',
                    pg_catalog.format(
                        'Same receipt file as %s, %s', q.username, pg_catalog.to_char(d.created_at at time zone 'UTC', 'FMDD Mon YYYY')
                    )
                from public.deposits as d
                inner join private.profiles as q on d.user_id = q.user_id
                where d.receipt_etag = (p_deposit).receipt_etag and d.user_id <> (p_deposit).user_id and d.status <> 'rejected'
                order by d.created_at desc
                limit 3
            )
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status)
            where (p_member).account_status in ('suspended', 'disabled')
        ) as f
    );
end
$$;
comment on function private.deposit_flags(public.deposits, private.profiles) is
'What stands out about a pending deposit: the same reference claimed elsewhere, another member''s receipt file, a blocked member.';

create or replace function private.withdrawal_flags(p_withdrawal public.withdrawals, p_member private.profiles) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('kind', f.kind, 'text', f.text)), '[]')
        from (
            select 'checksum' as kind, 'This does not look like a TRC20 address' as text
            where not private.wallet_ok((p_withdrawal).wallet_address)
            union all
            (
                select
                    'address_changed',
                    pg_catalog.format(
                        'Wallet address changed on %s', pg_catalog.to_char(l.at at time zone 'UTC', 'FMDD Mon YYYY')
                    )
                from private.audit_log as l
                where
                    l.object_id = (p_member).id
                    and l.action = 'member.wallet_changed'
                    and l.payload ->> 'from' is not null
                    and l.at > pg_catalog.now() - interval '7 days'
                order by l.seq desc
                limit 1
            )
            union all
            (
                select 'address_shared', pg_catalog.format('Also the wallet of %s', q.username)
                from private.profiles as q
                where q.trc20_wallet_address = (p_withdrawal).wallet_address and q.id <> (p_member).id
                order by q.created_at
                limit 3
            )
            union all
            select 'hold', pg_catalog.format(
                'On hold until %s UTC, 24 hours after a change of %s',
                pg_catalog.to_char((p_member).hold_until at time zone 'UTC', 'FMDD Mon YYYY HH24:MI'),
                case (p_member).hold_reason when 'email' then 'e-mail' when 'factor' then 'second factor' else (p_member).hold_reason end
            )
            where (p_member).hold_until > pg_catalog.now()
            union all
            select 'blocked', pg_catalog.format('This account is %s', (p_member).account_status)
            where (p_member).account_status in ('suspended', 'disabled')
        ) as f
    );
end
$$;
