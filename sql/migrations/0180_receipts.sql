-- Receipts are files in a private bucket of the storage service. Its own limits are size and type; what is the
-- product's lies here: a member's file lies in the member's folder under a name made of digits, is never
-- overwritten, renamed or removed, and there are not too many of them. The final write of an upload runs as
-- service_role without a user: the trigger knows the member by owner_id.

insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types)
values ('receipts', 'receipts', false, 5242880, array['image/png', 'image/jpeg', 'image/webp', 'application/pdf'])
on conflict (id) do update set
    public = excluded.public, file_size_limit = excluded.file_size_limit, allowed_mime_types = excluded.allowed_mime_types;

create function private.receipt_guard() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_files integer;
    v_bytes bigint;
    v_hour integer;
begin
    if tg_op = 'UPDATE' and old.bucket_id = 'receipts' and (new.bucket_id, new.name, new.owner_id) is distinct from (old.bucket_id, old.name, old.owner_id) then
        perform private.refuse_storage('Receipts are kept as they are.');
    end if;
    if tg_op = 'UPDATE' or new.bucket_id is distinct from 'receipts' then
        return new;
    end if;
    -- Onto a name that is there: a plain upload ends as a duplicate, and an upsert in the branch above.
    if exists (select 1 from storage.objects as o where o.bucket_id = 'receipts' and o.name = new.name) then
        return new;
    end if;
    if new.owner_id is null or new.name !~ ('\A' || new.owner_id || '/[0-9]{10,16}\.(png|jpg|jpeg|webp|pdf)\Z') then
        perform private.refuse_storage('A receipt is named by your own id and the time.');
    end if;
    -- One upload of a member at a time counts; the lock ends with this short transaction.
    perform pg_catalog.pg_advisory_xact_lock(45, pg_catalog.hashtext(new.owner_id));
    select
        count(*), coalesce(sum((o.metadata ->> 'size')::bigint), 0),
        count(*) filter (where o.created_at > pg_catalog.clock_timestamp() - interval '1 hour')
    into v_files, v_bytes, v_hour
    from storage.objects as o
    where o.bucket_id = 'receipts' and o.name >= new.owner_id || '/' and o.name < new.owner_id || '0';
    if v_files >= 20 or v_bytes >= 52428800 then
        perform private.refuse_storage('You have stored 20 receipts or 50 MB. Contact support to add more.');
    end if;
    if v_hour >= 10 then
        perform private.refuse_storage('You have uploaded 10 receipts within an hour. Try again later.');
    end if;
    return new;
end
$$;
comment on function private.receipt_guard() is 'Name, owner and amount of receipts; a stored one stays as it is.';

create function private.refuse_storage(p_message text) returns void
language plpgsql volatile set search_path = '' as $$
begin
    raise insufficient_privilege using message = p_message;
end
$$;
comment on function private.refuse_storage(text) is 'A refusal that the storage service reports as access denied.';

create trigger harborline_receipts before insert or update on storage.objects for each row execute function private.receipt_guard();

create policy receipts_select_own on storage.objects for select to authenticated
using (bucket_id = 'receipts' and (storage.foldername(name))[1] = (select auth.uid())::text);
create policy receipts_insert_own on storage.objects for insert to authenticated
with check (
    bucket_id = 'receipts' and owner_id = (select auth.uid())::text
    and (storage.foldername(name))[1] = (select auth.uid())::text
    and name ~ '^[0-9a-f-]{36}/[0-9]{10,16}[.](png|jpg|jpeg|webp|pdf)$'
);
-- No update, no delete policy: a receipt is evidence.

create function public.find_receipt(p_receipt_url text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_deposit public.deposits;
begin
    select * into v_deposit from public.deposits as d where d.receipt_name = private.receipt_name(p_receipt_url);
    if not found then
        perform private.refuse(404, 'not_found', 'There is no deposit with this receipt.');
    end if;
    perform private.audit('admin:' || v_admin.id, 'deposit.receipt_opened', 'deposit', v_deposit.id);
    return pg_catalog.jsonb_build_object('bucket', 'receipts', 'name', v_deposit.receipt_name);
end
$$;
comment on function public.find_receipt(text) is 'Finance and super administrators: the stored object of a deposit''s receipt. The address is parsed, never opened. Errors: forbidden, not_found.';
grant execute on function public.find_receipt(text) to platform_admin;
