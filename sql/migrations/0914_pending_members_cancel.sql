-- A member set to pending may neither deposit nor withdraw, and no more than that: the history offered to take a waiting
-- request back and the function refused it. Who asked before may take it back.

create or replace function public.cancel_request(p_id uuid) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_row jsonb;
    v_noun text;
begin
    -- Pending closes what is new only.
    perform private.status_refusal(nullif((private.lock_member(auth.uid())).account_status, 'pending'));
    update public.deposits as d set status = 'rejected', admin_notes = 'Cancelled by the member', decided_at = private.clock()
    where d.id = p_id and d.user_id = auth.uid() and d.status = 'pending';
    if found then
        v_noun := 'deposit';
    else
        update public.withdrawals as w set status = 'rejected', admin_notes = 'Cancelled by the member', decided_at = private.clock()
        where w.id = p_id and w.user_id = auth.uid() and w.status = 'pending';
        v_noun := case when found then 'withdrawal' end;
    end if;
    if v_noun is not null then
        perform private.audit('member:' || auth.uid(), v_noun || '.cancelled', v_noun, p_id);
        return pg_catalog.jsonb_build_object('success', true);
    end if;
    select pg_catalog.to_jsonb(r) into v_row from (
        select d.status, d.decided_at, d.decided_by, d.admin_notes from public.deposits as d where d.id = p_id and d.user_id = auth.uid()
        union all
        select w.status, w.decided_at, w.decided_by, w.admin_notes from public.withdrawals as w where w.id = p_id and w.user_id = auth.uid()
    ) as r;
    if v_row is null then
        perform private.refuse(404, 'not_found', 'There is no such request of yours.');
    end if;
    if v_row ->> 'admin_notes' is distinct from 'Cancelled by the member' then
        perform private.refuse(
            409, 'already_decided', pg_catalog.format('Already %s %s.', v_row ->> 'status', private.ago((v_row ->> 'decided_at')::timestamptz, private.clock()))
        );
    end if;
    return pg_catalog.jsonb_build_object('success', true, 'already', true);
end
$$;
comment on function public.cancel_request(uuid) is
'A member, also a pending one, takes back an own pending deposit or withdrawal; it counts as rejected, ''Cancelled by the member''. Errors: not_found, already_decided, account_disabled, account_suspended.';
