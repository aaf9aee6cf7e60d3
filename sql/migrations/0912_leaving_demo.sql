-- Whether demo mode left money behind was read while requests of that moment were not committed yet: one of them came
-- to stand with real money. Requests under way are waited for and new ones wait. They never take the money lock, so
-- none waits for this in turn.

create function private.requests_lock() returns void
language plpgsql volatile set search_path = '' as $$
begin
    lock table public.deposits, public.withdrawals in share mode;
exception when lock_not_available then
    perform private.refuse(503, 'try_again', 'The server is busy. Try again in a moment.');
end
$$;
comment on function private.requests_lock() is
'Nobody requests, decides or takes back a deposit or a withdrawal until the end of the transaction. After the money lock. Errors: try_again.';

create or replace function public.leave_demo() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_missing text;
begin
    perform private.money_lock();
    if not private.is_demo() then
        perform private.refuse(409, 'demo_is_over', 'Demo mode has ended already.');
    end if;
    perform private.requests_lock();
    select pg_catalog.string_agg(r.missing, ' ') into v_missing from private.readiness() as r where not r.ok;
    if v_missing is not null then
        perform private.refuse(409, 'not_ready', v_missing);
    end if;
    update private.settings as s set value = 'false', updated_at = pg_catalog.clock_timestamp(), updated_by = v_admin.id where s.key = 'demo';
    perform private.audit('admin:' || v_admin.id, 'demo.left', null, null);
    return '{"success": true}'::jsonb;
end
$$;
comment on function public.leave_demo() is
'Ends demo mode for good when nothing is missing. Super admin. Errors: forbidden, demo_is_over, not_ready, try_again.';
