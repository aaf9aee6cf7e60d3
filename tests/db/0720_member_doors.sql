begin;
\ir ../support/actors.sql
select * from no_plan();
select family();

-- Sam looks after members.
select act_as('sam');
select is(
    update_member(profile_id('freya'), null, 'Called on Monday', null) #>> '{profile,admin_notes}', 'Called on Monday', 'support edits notes without a reason'
);
select refuses(
    format($$ select update_member(%L, 'suspended', null, ' ') $$, profile_id('freya')), 400, 'reason_required', 'Give a reason.', 'a status needs one'
);
select is(
    update_member(profile_id('freya'), 'suspended', null, 'Shared password') #>> '{profile,account_status}', 'suspended', 'support suspends'
);
select refuses(
    format($$ select update_member(%L, 'disabled', null, 'x') $$, profile_id('ask')),
    403, 'forbidden', 'Only a super admin can disable an account or lift a disable.', 'and does not disable'
);
select refuses(format($$ select update_member(%L, 'pending', null, 'x') $$, profile_id('ask')), 403, 'forbidden', 'Only a super admin can set this status.', 'nor set to pending');
select refuses(format($$ select update_member(%L, 'gone', null, 'x') $$, profile_id('ask')), 400, 'invalid_input', 'There is no such account status.', 'an unknown status is refused');
select refuses($$ select update_member(gen_random_uuid(), 'active', null, 'x') $$, 404, 'not_found', 'There is no such member.', 'an unknown member is unknown');
select act_as_owner();
select is_empty(format('select 1 from auth.sessions where user_id = %L', user_id('freya')), 'the sign-ins of who is suspended end');
select is((select body from public.notifications where kind = 'account_suspended' and user_id = user_id('freya')), 'Shared password', 'the member reads why');
select is(
    (select payload - 'reason' from private.audit_log where action = 'member.updated' order by seq desc limit 1),
    '{"status_before": "active", "status_after": "suspended", "actor_role": "support_admin"}'::jsonb, 'the audit row names both'
);
select is((select account_status from private.profiles where id = profile_id('ask')), 'active', 'what was refused changed nothing');

-- Olga disables, Sam cannot lift it.
select act_as('olga');
select is(update_member(profile_id('ask'), 'disabled', null, 'Second account') #>> '{profile,account_status}', 'disabled', 'a super admin disables');
select act_as('sam');
select refuses(format($$ select update_member(%L, 'active', null, 'x') $$, profile_id('ask')), 403, 'forbidden', 'Only a super admin can disable an account or lift a disable.', 'support does not lift it');
select is(update_member(profile_id('freya'), 'active', null, 'Cleared up') #>> '{profile,account_status}', 'active', 'support reactivates');

-- A member without a device.
select refuses(
    format($$ select start_factor_removal(%L, 'x') $$, profile_id('embla')), 403, 'forbidden', 'A support admin cannot do this.', 'only a super admin helps there'
);
select act_as('olga');
select refuses(format($$ select start_factor_removal(%L, '') $$, profile_id('embla')), 400, 'reason_required', 'Give a reason.', 'with a reason');
select is(
    start_factor_removal(profile_id('embla'), 'Passport seen') ->> 'user_id', user_id('embla')::text, 'the removal names the account to the auth service'
);
select act_as_owner();
select is_empty(format('select 1 from auth.sessions where user_id = %L', user_id('embla')), 'the sign-ins end');
select is((select hold_reason from private.profiles where id = profile_id('embla')), 'factor', 'withdrawals wait a day');

-- Members have no such doors.
select act_as('freya');
select throws_ok(format($$ select update_member(%L, 'active', null, 'x') $$, profile_id('freya')), '42501', null, 'a member cannot call them');
select throws_ok(format($$ select start_factor_removal(%L, 'x') $$, profile_id('freya')), '42501', null, 'neither the other');

select act_as_owner();
select audited('member.factors_removed', 'the removal of a factor');
select act_as('olga');
select refuses($$ select start_factor_removal(gen_random_uuid(), 'x') $$, 404, 'not_found', 'There is no such member.', 'nobody has no device');
select act_as_owner();
delete from auth.users where id = user_id('buri');
select act_as('olga');
select refuses(format($$ select update_member(%L, 'active', null, 'x') $$, profile_id('buri')), 409, 'account_closed', 'This account is closed.', 'a closed account stays closed');
select refuses(format($$ select start_factor_removal(%L, 'x') $$, profile_id('buri')), 404, 'not_found', 'There is no such member.', 'and has no device either');
select * from finish();
rollback;
