-- A receipt is uploaded before its deposit is asked for, so some are never used. They are somebody's papers and count
-- among the member's twenty files: after a day they go, row and bytes, by the storage service's own wire (the worker).
-- A receipt that a deposit names is evidence and stays, whoever asks: removing and naming the same one wait for each
-- other, and the later one is refused.

create or replace function private.check_receipt(p_user_id uuid, p_name text, p_first boolean) returns text
language plpgsql volatile set search_path = '' as $$
declare
    v_object record;
begin
    if p_name is null or pg_catalog.split_part(p_name, '/', 1) <> p_user_id::text then
        perform private.refuse(400, 'invalid_receipt', 'Upload your receipt again: the file was not found.');
    end if;
    perform private.receipt_lock(p_name);
    select o.owner_id, o.metadata into v_object from storage.objects as o where o.bucket_id = 'receipts' and o.name = p_name;
    if not found or v_object.owner_id is distinct from p_user_id::text then
        perform private.refuse(400, 'invalid_receipt', 'Upload your receipt again: the file was not found.');
    end if;
    if exists (select 1 from public.deposits as d where d.receipt_name = p_name) then
        perform private.refuse(409, 'receipt_used', 'This receipt belongs to another deposit. Upload a new one.');
    end if;
    if p_first and (p_name like '%.pdf' or v_object.metadata ->> 'mimetype' = 'application/pdf') then
        perform private.refuse(400, 'receipt_must_be_image', 'The receipt of a first package must be an image: PNG, JPEG or WebP.');
    end if;
    return v_object.metadata ->> 'eTag';
end
$$;

create function private.receipt_lock(p_name text) returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform pg_catalog.pg_advisory_xact_lock(47, pg_catalog.hashtext(p_name));
exception when lock_not_available then
    perform private.refuse(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.receipt_lock(text) is
'One of naming a receipt and removing it at a time; the last lock of a request for a deposit. Errors: try_again.';

create function private.receipt_is_kept() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.receipt_lock(old.name);
    if exists (select 1 from public.deposits as d where d.receipt_name = old.name) then
        perform private.refuse_storage('A receipt of a deposit is kept.');
    end if;
    return old;
end
$$;
comment on function private.receipt_is_kept() is 'Nobody removes a receipt that a deposit names.';
create trigger harborline_receipts_kept before delete on storage.objects for each row
when (old.bucket_id = 'receipts') execute function private.receipt_is_kept();

create function jobs.unused_receipts(p_max integer) returns table (name text)
language sql stable security definer set search_path = '' as $$
    select o.name from storage.objects as o
    where o.bucket_id = 'receipts' and o.created_at < pg_catalog.clock_timestamp() - interval '24 hours'
        and not exists (select 1 from public.deposits as d where d.receipt_name = o.name)
    order by o.created_at
    limit p_max
$$;
comment on function jobs.unused_receipts(integer) is 'Receipts that were uploaded more than a day ago and no deposit names, oldest first.';
grant execute on function jobs.unused_receipts(integer) to worker;
