-- The only way to undo. One super administrator proposes, another administrator of finance or super confirms; the
-- effect is one transaction under the money lock. A deposit or withdrawal keeps its status but no longer counts;
-- the journal gets a row the other way, bonuses are worked out anew. Nothing is taken out of the books.

create table private.corrections (
    id uuid primary key default gen_random_uuid(),
    kind text not null check (kind in ('void_deposit', 'void_withdrawal', 'set_package')),
    target_id uuid not null,
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    value public.usd,
    reason text not null check (length(reason) between 1 and 1000),
    proposed_by uuid not null references private.admin_users (id) on delete restrict,
    proposed_at timestamptz not null,
    confirmed_by uuid references private.admin_users (id) on delete restrict,
    confirmed_at timestamptz,
    confirmed_in xid8,
    constraint two_people_correct check (confirmed_by is distinct from proposed_by),
    constraint only_packages_have_a_value check ((kind = 'set_package') = (value is not null)),
    constraint confirmed_at_once check ((confirmed_by is null) = (confirmed_at is null) and (confirmed_by is null) = (confirmed_in is null))
);
alter table private.corrections enable row level security;
create index corrections_user_idx on private.corrections (user_id);
create index corrections_proposed_idx on private.corrections (proposed_at desc);
create index corrections_proposed_by_idx on private.corrections (proposed_by);
create index corrections_confirmed_by_idx on private.corrections (confirmed_by) where confirmed_by is not null;
create unique index corrections_waiting_key on private.corrections (kind, target_id) where confirmed_by is null;
create trigger _100_keep before delete or truncate on private.corrections for each statement execute function private.refuse_change();
comment on table private.corrections is 'Proposed and confirmed corrections. target_id: the deposit, the withdrawal, or the member''s profile.';

create function private.correction_of(p_user_id uuid) returns boolean
language sql stable set search_path = '' as $$
    select exists (
        select 1 from private.corrections as c
        where c.user_id = p_user_id and c.confirmed_in = pg_catalog.pg_current_xact_id_if_assigned()
    )
$$;
comment on function private.correction_of(uuid) is 'True only inside the transaction that confirms a correction of this member.';

create function private.correction_target(p_kind text, p_target_id uuid) returns uuid
language plpgsql stable set search_path = '' as $$
declare
    v_user_id uuid;
begin
    case p_kind
        when 'void_deposit' then
            select d.user_id into v_user_id from public.deposits as d where d.id = p_target_id and d.status = 'approved' and d.voided_at is null;
        when 'void_withdrawal' then
            select w.user_id into v_user_id from public.withdrawals as w
            where w.id = p_target_id and w.status = 'approved' and w.voided_at is null and w.payout_reference is null;
        when 'set_package' then
            select p.user_id into v_user_id from private.profiles as p where p.id = p_target_id and p.closed_at is null;
        else
            perform private.refuse(400, 'invalid_input', 'The kind must be void_deposit, void_withdrawal or set_package.');
    end case;
    if v_user_id is null then
        perform private.refuse(
            409, 'not_correctable', case p_kind
                when 'void_deposit' then 'Only an approved deposit that still counts can be voided.'
                when 'void_withdrawal' then 'Only an approved withdrawal that was not paid can be voided.'
                else 'There is no such member.'
            end
        );
    end if;
    return v_user_id;
end
$$;
comment on function private.correction_target(text, uuid) is 'Whose books a correction touches. Errors: invalid_input, not_correctable.';

create function public.propose_correction(p_kind text, p_target_id uuid, p_value numeric, p_reason text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin']::public.admin_role[]);
    v_reason text := nullif(pg_catalog.btrim(p_reason), '');
    v_correction private.corrections;
begin
    if v_reason is null or pg_catalog.length(v_reason) > 1000 then
        perform private.refuse(400, 'invalid_reason', 'Give a reason of at most 1,000 characters.');
    end if;
    if p_kind = 'set_package' and (
        p_value is null or not (p_value = 0 or exists (select 1 from private.packages as k where k.value = p_value))
    ) then
        perform private.refuse(400, 'invalid_input', 'The package must be 0 or one of the package sizes.');
    end if;
    begin
        insert into private.corrections (kind, target_id, user_id, value, reason, proposed_by, proposed_at)
        values (
            p_kind, p_target_id, private.correction_target(p_kind, p_target_id),
            case when p_kind = 'set_package' then p_value end, v_reason, v_admin.id, private.clock()
        )
        returning * into v_correction;
    exception when unique_violation then
        perform private.refuse(409, 'already_proposed', 'This correction is already waiting for its confirmation.');
    end;
    perform private.audit(
        'admin:' || v_admin.id, 'correction.proposed', 'correction', v_correction.id,
        pg_catalog.jsonb_build_object('kind', p_kind, 'target_id', p_target_id, 'value', private.money(p_value), 'reason', v_reason)
    );
    return pg_catalog.jsonb_build_object('success', true, 'correction', pg_catalog.to_jsonb(v_correction) - 'confirmed_in');
end
$$;
comment on function public.propose_correction(text, uuid, numeric, text) is
'Super administrators: proposes to void a deposit or an unpaid withdrawal, or to set a package. Changes nothing yet. Errors: forbidden, invalid_reason, invalid_input, not_correctable, already_proposed.';

create function private.package_due(p_user_id uuid) returns numeric
language sql stable set search_path = '' as $$
    select greatest(
        coalesce((
            select max(d.amount) from public.deposits as d inner join private.packages as k on k.value = d.amount
            where d.user_id = p_user_id and d.status = 'approved' and d.voided_at is null
        ), 0),
        coalesce((
            select c.value from private.corrections as c
            where c.user_id = p_user_id and c.kind = 'set_package' and c.confirmed_by is not null
            order by c.confirmed_at desc limit 1
        ), 0)
    )
$$;
comment on function private.package_due(uuid) is 'Package of a member worked out anew: the largest approved package deposit that counts, or what a correction set.';

create function private.apply_correction(p_correction private.corrections) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_amount numeric;
    v_position integer;
begin
    if (p_correction).kind = 'void_withdrawal' then
        update public.withdrawals as w set voided_at = (p_correction).confirmed_at where w.id = (p_correction).target_id returning w.amount into v_amount;
        update private.totals as t set withdrawn_amount = t.withdrawn_amount - v_amount where t.user_id = (p_correction).user_id;
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
        values ((p_correction).user_id, v_amount, 'withdrawal', 'completed', (p_correction).id, (p_correction).confirmed_at);
        perform private.count_up('withdrawals_approved', -v_amount);
        return;
    end if;
    if (p_correction).kind = 'void_deposit' then
        update public.deposits as d set voided_at = (p_correction).confirmed_at where d.id = (p_correction).target_id returning d.amount into v_amount;
        insert into public.transactions (user_id, amount, transaction_type, status, reference_id, created_at)
        values ((p_correction).user_id, -v_amount, 'deposit', 'completed', (p_correction).id, (p_correction).confirmed_at);
        perform private.count_up('deposits_approved', -v_amount);
    end if;
    update private.profiles as p set
        cash_in_amount = p.cash_in_amount - coalesce(v_amount, 0),
        package_value = case when (p_correction).kind = 'set_package' then (p_correction).value else private.package_due(p.user_id) end
    where p.user_id = (p_correction).user_id;
    select o.no into v_position from private.positions as o where o.user_id = (p_correction).user_id;
    perform private.post_bonuses(v_position, (p_correction).confirmed_at);
    perform private.write_bonuses(array(select l from private.lapsed_around(v_position) as l), (p_correction).confirmed_at);
end
$$;
comment on function private.apply_correction(private.corrections) is 'The effect of a confirmed correction, under the locks.';

create function public.confirm_correction(p_correction_id uuid) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_admin private.admin_users := private.require_admin(array['super_admin', 'finance_admin']::public.admin_role[]);
    v_correction private.corrections;
begin
    perform private.money_lock();
    select * into v_correction from private.corrections as c where c.id = p_correction_id for no key update;
    if not found then
        perform private.refuse(404, 'not_found', 'There is no such correction.');
    end if;
    if v_correction.confirmed_by is not null then
        perform private.refuse(409, 'already_decided', 'This correction was already confirmed.');
    end if;
    if v_correction.proposed_by = v_admin.id then
        perform private.refuse(403, 'two_people', 'Another administrator must confirm a correction.');
    end if;
    perform private.check_not_own(v_admin, v_correction.user_id);
    perform private.correction_target(v_correction.kind, v_correction.target_id);
    perform private.lock_members(private.line_of(v_correction.user_id));
    update private.corrections as c set
        confirmed_by = v_admin.id, confirmed_at = private.clock(), confirmed_in = pg_catalog.pg_current_xact_id()
    where c.id = p_correction_id
    returning * into v_correction;
    perform pg_catalog.set_config('app.lowering', 'on', true);
    perform private.apply_correction(v_correction);
    perform pg_catalog.set_config('app.lowering', '', true);
    perform private.tell(
        v_correction.user_id, 'correction', 'Your account was corrected',
        pg_catalog.format('%s Reason: %s', case v_correction.kind
            when 'void_deposit' then 'A deposit no longer counts.'
            when 'void_withdrawal' then 'A withdrawal that was not paid counts as available again.'
            else 'Your package was set to ' || private.dollars(v_correction.value) || '.'
        end, v_correction.reason), v_correction.value, '/transactions'
    );
    perform private.audit(
        'admin:' || v_admin.id, 'correction.confirmed', 'correction', v_correction.id,
        pg_catalog.jsonb_build_object('kind', v_correction.kind, 'target_id', v_correction.target_id, 'proposed_by', v_correction.proposed_by)
    );
    return pg_catalog.jsonb_build_object('success', true, 'correction', pg_catalog.to_jsonb(v_correction) - 'confirmed_in');
end
$$;
comment on function public.confirm_correction(uuid) is
'Finance and super administrators, never the one who proposed: makes a correction take effect. Errors: forbidden, not_found, already_decided, two_people, own_account, not_correctable, try_again.';
grant execute on function public.propose_correction(text, uuid, numeric, text), public.confirm_correction(uuid) to platform_admin;
