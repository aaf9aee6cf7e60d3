-- How a member leaves. Profiles are closed, never deleted: the place in the tree, the money rows and the bonuses
-- of others rest on them. Rows of schema auth are locked before the member's row, here and when sign-ins are
-- ended; the other order would deadlock with a deletion, whose cascade takes the sessions first.

create function private.end_sign_ins(p_user_id uuid) returns void
language sql volatile set search_path = '' as $$
    delete from auth.sessions as s where s.user_id = p_user_id
$$;
comment on function private.end_sign_ins(uuid) is 'Ends every sign-in of a member, whichever service gave it; the next request is refused. First of all locks.';

create function private.close_profile(p_user_id uuid) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_member private.profiles := private.lock_member(p_user_id);
    v_now timestamptz := private.clock();
begin
    if v_member.id is null or v_member.closed_at is not null then
        return;
    end if;
    update public.deposits as d set status = 'rejected', admin_notes = 'Account closed', decided_at = v_now
    where d.user_id = p_user_id and d.status = 'pending';
    update public.withdrawals as w set status = 'rejected', admin_notes = 'Account closed', decided_at = v_now
    where w.user_id = p_user_id and w.status = 'pending';
    delete from private.bot_secrets as b using public.bot_subscriptions as s
    where s.id = b.subscription_id and s.user_id = p_user_id;
    update public.bot_subscriptions as s set status = 'cancelled', mt5_password_length = null, updated_at = v_now
    where s.user_id = p_user_id and s.status <> 'cancelled';
    update private.profiles as p set
        account_status = 'disabled',
        username = private.closed_name(p.id),
        display_name = 'Closed account',
        email = null,
        trc20_wallet_address = null,
        hold_until = null,
        hold_reason = null,
        closed_at = v_now
    where p.id = v_member.id;
    perform private.audit('member:' || p_user_id, 'member.closed', 'profile', v_member.id);
end
$$;
comment on function private.close_profile(uuid) is
'Closes a member: name, e-mail and wallet go, pending requests are rejected with ''Account closed'', MT5 secrets are erased. Place, money and bonuses stay.';

create function private.closed_name(p_id uuid) returns text
language sql stable set search_path = '' as $$
    -- Eight digits of the id; more of them in the unlikely case that another closed account begins alike.
    select 'closed_' || pg_catalog.left(hex.digits, n.digits)
    from (select pg_catalog.replace(p_id::text, '-', '') as digits) as hex
    cross join pg_catalog.generate_series(8, 23) as n (digits)
    where not exists (
        select 1 from private.profiles as p
        where pg_catalog.lower(p.username) = 'closed_' || pg_catalog.left(hex.digits, n.digits)
    )
    order by n.digits
    limit 1
$$;
comment on function private.closed_name(uuid) is 'Username of a closed account.';

create function private.user_deleted() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    if tg_op = 'UPDATE' then
        perform private.end_sign_ins(old.id);
    end if;
    perform private.close_profile(old.id);
    return null;
end
$$;
comment on function private.user_deleted() is 'A deleted account closes its member, in the same transaction.';
create trigger harborline_deleted after delete on auth.users for each row execute function private.user_deleted();
create trigger harborline_soft_deleted after update of deleted_at on auth.users
for each row when (old.deleted_at is null and new.deleted_at is not null) execute function private.user_deleted();
