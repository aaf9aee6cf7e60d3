-- Receipts are files in a private bucket of the storage service, which limits their size and type. The product's
-- rules are here: a member's file is in the member's folder, its name is digits, it is never overwritten, renamed or
-- deleted, and their number is limited: in an hour, in a day, and of those that no deposit uses. One that was sent with
-- a deposit belongs to it, whatever became of the deposit. The final write of an upload runs as service_role without a
-- user: the trigger identifies the member by owner_id.
-- Rules: specification S5.6 to S5.9.

insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types)
values ('receipts', 'receipts', false, 5242880, array['image/png', 'image/jpeg', 'image/webp', 'application/pdf'])
on conflict (id) do update set
    public = excluded.public, file_size_limit = excluded.file_size_limit, allowed_mime_types = excluded.allowed_mime_types;

-- Uploads that a member's limits count, so that an upload looks at a few files and not at all that the member ever sent.
create table private.receipt_uploads (
    name text primary key
);
comment on table private.receipt_uploads is
'Receipts of the last day, and older ones that no deposit uses. jobs.purge() deletes the others.';
alter table private.receipt_uploads enable row level security;

create function private.raise_storage_error(p_message text) returns void
language plpgsql volatile set search_path = '' as $$
begin
    raise insufficient_privilege using message = p_message;
end
$$;
comment on function private.raise_storage_error(text) is 'Raises an error that the storage service reports as access denied.';

create function private.receipts_validate() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_now timestamptz := pg_catalog.clock_timestamp();
    v_files integer;
    v_bytes bigint;
    v_hour integer;
    v_day integer;
    v_allowed storage.objects := old;
begin
    if tg_op = 'UPDATE' and old.bucket_id = 'receipts' then
        v_allowed.created_at := new.created_at;
        v_allowed.updated_at := new.updated_at;
        v_allowed.last_accessed_at := new.last_accessed_at;
        -- The service key may store a file anew: the demo does, and a deposit compares its etag.
        v_allowed.owner := new.owner;
        v_allowed.version := new.version;
        v_allowed.metadata := new.metadata;
        v_allowed.user_metadata := new.user_metadata;
        -- Computed, after this trigger.
        v_allowed.path_tokens := new.path_tokens;
        if new is distinct from v_allowed then
            perform private.raise_storage_error('Receipts are kept as they are.');
        end if;
    end if;
    if tg_op = 'UPDATE' or new.bucket_id is distinct from 'receipts' then
        return new;
    end if;
    -- Existing name: a plain upload then fails as a duplicate, an upsert in the branch above.
    if exists (select 1 from storage.objects as o where o.bucket_id = 'receipts' and o.name = new.name) then
        return new;
    end if;
    if new.owner_id is null or new.name !~ ('\A' || new.owner_id || '/[0-9]{10,16}\.(png|jpg|jpeg|webp|pdf)\Z') then
        perform private.raise_storage_error('A receipt is named by your own id and the time.');
    end if;
    -- Serialise a member's uploads, so that the limits hold; the lock ends with this short transaction.
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('receipts_of_owner'), pg_catalog.hashtext(new.owner_id));
    select
        count(*) filter (where f.unused), coalesce(sum(f.size) filter (where f.unused), 0),
        count(*) filter (where f.created_at > v_now - interval '1 hour'),
        count(*) filter (where f.created_at > v_now - interval '1 day')
    into v_files, v_bytes, v_hour, v_day
    from (
        select
            o.created_at, (o.metadata ->> 'size')::bigint as size,
            not exists (select 1 from private.deposit_receipts as d where d.name = o.name) as unused
        from private.receipt_uploads as u
        inner join storage.objects as o on o.bucket_id = 'receipts' and u.name = o.name
        where u.name >= new.owner_id || '/' and u.name < new.owner_id || '0'
    ) as f;
    if v_files >= 20 or v_bytes >= 52428800 then
        perform private.raise_storage_error('You have 20 receipts or 50 MB that no deposit uses. They are deleted after a day.');
    end if;
    if v_hour >= 10 then
        perform private.raise_storage_error('You have uploaded 10 receipts within an hour. Try again later.');
    end if;
    if v_day >= 20 then
        perform private.raise_storage_error('You have uploaded 20 receipts within a day. Try again tomorrow.');
    end if;
    insert into private.receipt_uploads (name) values (new.name) on conflict do nothing;
    return new;
end
$$;
comment on function private.receipts_validate() is 'Trigger: validates name, owner and number of receipts; a stored one is immutable.';
create trigger harborline_receipts_validate before insert or update on storage.objects for each row execute function private.receipts_validate();

create policy receipts_select_own on storage.objects for select to authenticated
using (bucket_id = 'receipts' and (storage.foldername(name))[1] = (select auth.uid())::text);
create policy receipts_insert_own on storage.objects for insert to authenticated
with check (
    bucket_id = 'receipts' and owner_id = (select auth.uid())::text
    and (storage.foldername(name))[1] = (select auth.uid())::text
    and name ~ '^[0-9a-f-]{36}/[0-9]{10,16}[.](png|jpg|jpeg|webp|pdf)$'
);
-- No update and no delete policy: a receipt is evidence.

create function private.receipt_name(p_receipt_url text) returns text
language plpgsql immutable set search_path = '' as $$
begin
    return (select substring(p_receipt_url from '\Ahttps?://[^\s/?#]+(?:/[^\s?#]*)?/object/public/receipts/([0-9a-f-]{36}/[0-9]{10,16}\.(?:png|jpg|jpeg|webp|pdf))\Z'));
end
$$;
comment on function private.receipt_name(text) is
'Object name in a receipt URL; null when the URL is no receipt''s. The URL is never opened.';

create function private.receipt_facts(p_receipt_url text, p_etag text) returns jsonb
language sql immutable set search_path = '' as $$
    select pg_catalog.jsonb_build_object('url', p_receipt_url, 'etag', p_etag)
$$;
comment on function private.receipt_facts(text, text) is 'What the entry of a new deposit says of its receipt.';

-- Unused receipts. A receipt is uploaded before its deposit is requested, so some are never used and count towards the
-- limits: the worker deletes them after a day through the storage API. A receipt that a deposit uses is evidence and
-- cannot be deleted by any role: using it and deleting it exclude each other by a lock, and the later one fails.
create function private.lock_receipt(p_name text) returns void
language plpgsql volatile set search_path = '' as $$
begin
    perform pg_catalog.pg_advisory_xact_lock(private.lock_key('receipt'), pg_catalog.hashtext(p_name));
exception when lock_not_available then
    perform private.raise_error(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.lock_receipt(text) is
'Serialises using and deleting a receipt; the last lock of a deposit request. Errors: try_again.';

create function private.receipts_reject_delete() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.lock_receipt(old.name);
    if exists (select 1 from private.deposit_receipts as d where d.name = old.name) then
        perform private.raise_storage_error('A receipt of a deposit is kept.');
    end if;
    return old;
end
$$;
comment on function private.receipts_reject_delete() is 'Trigger: rejects deleting a receipt that a deposit uses.';
create trigger harborline_receipts_reject_delete before delete on storage.objects for each row
when (old.bucket_id = 'receipts') execute function private.receipts_reject_delete();

create function private.check_receipt(p_user_id uuid, p_name text, p_first boolean) returns text
language plpgsql volatile set search_path = '' as $$
declare
    v_object record;
begin
    if p_name is null or pg_catalog.split_part(p_name, '/', 1) <> p_user_id::text then
        perform private.raise_error(400, 'invalid_receipt', 'Upload your receipt again: the file was not found.');
    end if;
    perform private.lock_receipt(p_name);
    select o.owner_id, o.metadata into v_object from storage.objects as o where o.bucket_id = 'receipts' and o.name = p_name;
    if not found or v_object.owner_id is distinct from p_user_id::text then
        perform private.raise_error(400, 'invalid_receipt', 'Upload your receipt again: the file was not found.');
    end if;
    if exists (select 1 from private.deposit_receipts as d where d.name = p_name) then
        perform private.raise_error(409, 'receipt_used', 'This receipt belongs to another deposit. Upload a new one.');
    end if;
    if p_first and (p_name like '%.pdf' or v_object.metadata ->> 'mimetype' = 'application/pdf') then
        perform private.raise_error(400, 'receipt_must_be_image', 'The receipt of a first package must be an image: PNG, JPEG or WebP.');
    end if;
    return v_object.metadata ->> 'eTag';
end
$$;
comment on function private.check_receipt(uuid, text, boolean) is
'Validates an uploaded receipt: existing, the member''s own, unused, an image for a first package. Returns its etag. Errors: invalid_receipt, receipt_used, receipt_must_be_image.';

create function jobs.unused_receipts(p_max integer) returns table (name text)
language sql stable security definer set search_path = '' as $$
    select o.name from storage.objects as o
    where o.bucket_id = 'receipts' and o.created_at < pg_catalog.clock_timestamp() - interval '24 hours'
        and not exists (select 1 from private.deposit_receipts as d where d.name = o.name)
    order by o.created_at
    limit p_max
$$;
comment on function jobs.unused_receipts(integer) is 'Receipts uploaded more than a day ago that no deposit uses, oldest first.';
grant execute on function jobs.unused_receipts(integer) to worker;

create function public.find_receipt(p_receipt_url text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_receipt private.deposit_receipts;
begin
    select * into v_receipt from private.deposit_receipts as d where d.name = private.receipt_name(p_receipt_url);
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no deposit with this receipt.');
    end if;
    perform private.audit('admin:' || v_admin.id, 'deposit.receipt_opened', 'deposit', v_receipt.deposit_id);
    return pg_catalog.jsonb_build_object('bucket', 'receipts', 'name', v_receipt.name);
end
$$;
comment on function public.find_receipt(text) is
'Finance and super administrators: the stored object of a deposit''s receipt. The URL is parsed, never opened. Errors: forbidden, not_found.';
grant execute on function public.find_receipt(text) to platform_admin;
