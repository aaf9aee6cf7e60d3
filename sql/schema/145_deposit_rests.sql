-- The rest of a deposit of which less arrived than was claimed. An administrator asks for it, once at a time; the member
-- adds one reference for each asking. The claim and its reference stay as they are, the register of transfers has the keys
-- of all references, and the approval needs the sum of what arrived.
-- Rule: specification S4.7.

create table private.deposit_rests (
    deposit_id uuid not null references public.deposits (id) on delete restrict,
    no integer not null check (no > 0),
    received_amount public.usd not null check (received_amount between 0.01 and private.largest_amount()),
    asked_by uuid not null references private.admin_users (id) on delete restrict,
    asked_at timestamptz not null,
    reference_number text check (length(reference_number) between 1 and 200),
    referenced_at timestamptz,
    ended_at timestamptz,
    primary key (deposit_id, no),
    constraint a_reference_has_its_time check ((reference_number is null) = (referenced_at is null))
);
comment on table private.deposit_rests is
'What members were asked to send where less arrived than they had claimed, and the reference that each sent then: one for each asking.';
comment on column private.deposit_rests.received_amount is 'What had arrived in all when the rest was asked for.';
comment on column private.deposit_rests.ended_at is 'When the deposit was decided, or the rest asked for anew; null while open.';
alter table private.deposit_rests enable row level security;
create unique index deposit_rests_open_key on private.deposit_rests (deposit_id) where ended_at is null;
-- The one that waits longest.
create index deposit_rests_waiting_idx on private.deposit_rests (coalesce(referenced_at, asked_at)) where ended_at is null;
create index deposit_rests_asked_by_idx on private.deposit_rests (asked_by);

create function private.deposit_rests_immutable() returns trigger
language plpgsql volatile set search_path = '' as $$
declare
    v_allowed private.deposit_rests := old;
begin
    if private.is_restoring_rows() then
        return new;
    end if;
    if coalesce(old.referenced_at, old.ended_at) is null then
        v_allowed.reference_number := new.reference_number;
        v_allowed.referenced_at := new.referenced_at;
    end if;
    if old.ended_at is null then
        v_allowed.ended_at := new.ended_at;
    end if;
    if new is distinct from v_allowed then
        perform private.raise_error(403, 'append_only', 'The rest of a deposit is asked for once and never changed.');
    end if;
    return new;
end
$$;
comment on function private.deposit_rests_immutable() is
'Trigger: an asking never changes; it gets one reference while it is open, and ends once. Errors: append_only.';
create trigger _100_immutable before update on private.deposit_rests for each row execute function private.deposit_rests_immutable();
create trigger _100_reject_change before delete or truncate on private.deposit_rests
for each statement execute function private.reject_change();

create function private.rest_json(p_rest private.deposit_rests, p_amount numeric) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return case when (p_rest).no is not null then pg_catalog.jsonb_build_object(
        'no', (p_rest).no,
        'received_amount', private.money((p_rest).received_amount),
        'missing', private.money(p_amount - (p_rest).received_amount),
        'asked_at', (p_rest).asked_at,
        'reference_number', (p_rest).reference_number,
        'referenced_at', (p_rest).referenced_at
    ) end;
end
$$;
comment on function private.rest_json(private.deposit_rests, numeric) is
'The rest of a deposit of this amount, as its member sees it: what had arrived, what is missing, the reference of the rest. Null of none.';

create function private.open_rest(p_deposit_id uuid, p_amount numeric) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (select private.rest_json(r, p_amount) from private.deposit_rests as r where r.deposit_id = p_deposit_id and r.ended_at is null);
end
$$;
comment on function private.open_rest(uuid, numeric) is 'The rest that a pending deposit of this amount waits for; null where none was asked for.';

create function private.further_references(p_deposit_id uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
    return (
        select coalesce(pg_catalog.jsonb_agg(r.reference_number order by r.no), '[]') from private.deposit_rests as r
        where r.deposit_id = p_deposit_id and r.reference_number is not null
    );
end
$$;
comment on function private.further_references(uuid) is 'The references of the rests of a deposit, in the order in which they were asked for.';

create function private.rest_facts(p_deposit public.deposits, p_rest private.deposit_rests) returns jsonb
language sql stable as $$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_deposit).user_id, 'amount', private.money((p_deposit).amount),
        'received_amount', private.money((p_rest).received_amount), 'rest_no', (p_rest).no
    )
$$;
comment on function private.rest_facts(public.deposits, private.deposit_rests) is 'Payload of deposit.rest_asked.';

create function private.rest_reference_facts(p_deposit public.deposits, p_rest private.deposit_rests) returns jsonb
language sql stable as $$
    select pg_catalog.jsonb_build_object(
        'user_id', (p_deposit).user_id, 'reference_number', (p_rest).reference_number, 'rest_no', (p_rest).no
    )
$$;
comment on function private.rest_reference_facts(public.deposits, private.deposit_rests) is 'Payload of deposit.reference_added.';

-- The deposit stays pending. A member may send several transfers for one claim; the register has the keys of all.
create function private.ask_rest(p_admin private.admin_users, p_deposit_id uuid, p_received numeric) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
    v_deposit public.deposits;
    v_rest private.deposit_rests;
    v_now timestamptz;
begin
    if p_received is null then
        perform private.raise_error(400, 'received_amount_required', 'Enter how much has arrived.');
    end if;
    v_deposit := private.lock_deposit(p_deposit_id, p_admin);
    if v_deposit.status <> 'pending' then
        perform private.raise_already_decided(pg_catalog.to_jsonb(v_deposit));
    end if;
    select * into v_rest from private.deposit_rests as r where r.deposit_id = p_deposit_id order by r.no desc limit 1;
    if v_rest.no is not null and v_rest.reference_number is null then
        if v_rest.asked_by <> (p_admin).id then
            perform private.raise_error(
                409, 'rest_asked', pg_catalog.format(
                    '%s asked for the rest %s: %s had arrived. Wait for the member''s reference, or decide the deposit.',
                    (select coalesce(a.full_name, a.email) from private.admin_users as a where a.id = v_rest.asked_by),
                    private.relative_time(v_rest.asked_at, private.clock()), private.dollars(v_rest.received_amount)
                )
            );
        end if;
        if v_rest.received_amount = p_received then
            return pg_catalog.jsonb_build_object(
                'success', true, 'already', true, 'deposit', private.request_json(pg_catalog.to_jsonb(v_deposit)),
                'rest', private.rest_json(v_rest, v_deposit.amount)
            );
        end if;
    end if;
    perform private.require_no_alarm(v_deposit.user_id, 'deposit');
    if p_received >= v_deposit.amount - private.deposit_tolerance(v_deposit.amount) then
        perform private.raise_error(
            409, 'nothing_missing', case
                when p_received > v_deposit.amount + private.deposit_tolerance(v_deposit.amount)
                    then 'More arrived than the member claimed: there is no rest to ask for. Reject the deposit with a reason that names both amounts.'
                else pg_catalog.format(
                    'The member claimed %s, and %s arrived: that can be approved as it is.', private.dollars(v_deposit.amount), private.dollars(p_received)
                )
            end
        );
    end if;
    v_now := private.clock();
    update private.deposit_rests as r set ended_at = v_now where r.deposit_id = p_deposit_id and r.ended_at is null;
    insert into private.deposit_rests (deposit_id, no, received_amount, asked_by, asked_at)
    values (p_deposit_id, coalesce(v_rest.no, 0) + 1, p_received, (p_admin).id, v_now)
    returning * into v_rest;
    perform private.notify_member(
        v_deposit.user_id, 'deposit_rest_asked', 'Part of your deposit is missing',
        pg_catalog.format(
            '%s of your deposit of %s arrived. Send the missing %s to the deposit address, then add the reference of that transfer to the deposit. It is credited once all has arrived.',
            private.dollars(p_received), private.dollars(v_deposit.amount), private.dollars(v_deposit.amount - p_received)
        ),
        v_deposit.amount - p_received, '/deposit'
    );
    perform private.audit(
        'admin:' || (p_admin).id, 'deposit.rest_asked', 'deposit', p_deposit_id, private.rest_facts(v_deposit, v_rest), v_now
    );
    return pg_catalog.jsonb_build_object(
        'success', true, 'deposit', private.request_json(pg_catalog.to_jsonb(v_deposit)), 'rest', private.rest_json(v_rest, v_deposit.amount)
    ) || private.audit_entries();
end
$$;
comment on function private.ask_rest(private.admin_users, uuid, numeric) is
'Asks a member for what is missing of a pending deposit; p_received is what has arrived in all. Errors: received_amount_required, not_found, own_account, already_decided, rest_asked, ledger_alarm, nothing_missing, try_again.';

-- The member's row is locked, as by decisions and cancellations. A pending account may, as it may cancel: the money was sent.
create function public.add_deposit_reference(p_id uuid, p_reference text) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_member private.profiles := private.lock_member(auth.uid());
    v_reference text := pg_catalog.btrim(p_reference, E' \t\r\n');
    v_deposit public.deposits;
    v_rest private.deposit_rests;
begin
    perform private.require_active_status(nullif(v_member.account_status, 'pending'));
    select * into v_deposit from public.deposits as d where d.id = p_id and d.user_id = auth.uid();
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such deposit of yours.');
    end if;
    select * into v_rest from private.deposit_rests as r where r.deposit_id = p_id order by r.no desc limit 1;
    if v_rest.reference_number = v_reference then
        return pg_catalog.jsonb_build_object('success', true, 'already', true, 'rest', private.rest_json(v_rest, v_deposit.amount));
    end if;
    if v_deposit.status <> 'pending' then
        perform private.raise_error(
            409, 'already_decided',
            pg_catalog.format('Already %s %s.', v_deposit.status, private.relative_time(v_deposit.decided_at, private.clock()))
        );
    end if;
    if v_rest.no is null or v_rest.reference_number is not null then
        perform private.raise_error(
            409, 'rest_not_asked', case
                when v_rest.no is null then 'Nothing is asked for with this deposit.'
                else 'The reference of the rest was received. Wait for the review.'
            end
        );
    end if;
    perform private.validate_reference(v_reference);
    if exists (
        select 1 from private.due_transfer_keys(v_reference) as n inner join private.transfer_keys as k on n.key = k.key where k.request_id = p_id
    ) then
        perform private.raise_error(
            409, 'reference_used', 'This deposit has this reference already. Enter that of the transfer of the rest.'
        );
    end if;
    update private.deposit_rests as r set reference_number = v_reference, referenced_at = private.clock()
    where r.deposit_id = p_id and r.no = v_rest.no
    returning * into v_rest;
    perform private.register_transfer(p_id, v_reference, false);
    insert into private.request_texts (request_id, text) values (p_id, pg_catalog.lower(v_reference));
    perform private.audit(
        'member:' || auth.uid(), 'deposit.reference_added', 'deposit', p_id, private.rest_reference_facts(v_deposit, v_rest), v_rest.referenced_at
    );
    return pg_catalog.jsonb_build_object('success', true, 'rest', private.rest_json(v_rest, v_deposit.amount));
end
$$;
comment on function public.add_deposit_reference(uuid, text) is
'A member, also a pending one, adds the reference of the rest of an own pending deposit, once for each time that it was asked for. Errors: account_disabled, account_suspended, not_found, already_decided, rest_not_asked, invalid_reference, reference_used.';
grant execute on function public.add_deposit_reference(uuid, text) to authenticated;
