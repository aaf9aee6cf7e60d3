begin;
\ir ../support/actors.sql
select * from no_plan();

select act_as('elin');
select refuses($$ select list_administrators() $$, 403, 'forbidden', 'A finance admin cannot do this.', 'accounts are the super admin''s');
select refuses(format($$ select update_administrator(%L, null, 'super_admin', null) $$, user_id('elin')), 403, 'forbidden', 'A finance admin cannot do this.', 'nobody makes herself more');
select act_as_owner();
select refuses(
    format($$ select edge.create_administrator(%L, 'x@admins.test', 'X', 'super_admin', '$argon2id$x') $$, user_id('elin')),
    403, 'forbidden', 'Only a super admin can do this.', 'nor anybody else'
);
select is(
    edge.create_administrator(user_id('olga'), 'New@Admins.test', 'New', 'support_admin', '$argon2id$x') #>> '{administrator,email}',
    'new@admins.test', 'Olga makes an account'
);
select refuses(
    format($$ select edge.create_administrator(%L, 'NEW@admins.test', 'New', 'support_admin', '$argon2id$x') $$, user_id('olga')),
    409, 'email_taken', 'There is an administrator with this e-mail.', 'once'
);
select act_as('olga');
select ok(not (list_administrators() -> 'administrators' -> 0 ? 'password_hash'), 'lists carry no hash');
select is(update_administrator(user_id('sam'), null, 'finance_admin', null) #>> '{administrator,role}', 'finance_admin', 'another role');
select refuses(
    format($$ select update_administrator(%L, null, 'support_admin', null) $$, user_id('olga')),
    403, 'forbidden', 'You cannot change your own role or switch your own account off.', 'not for oneself'
);
select refuses(format($$ select update_administrator(%L, null, null, false) $$, user_id('olga')), 403, 'forbidden', 'You cannot change your own role or switch your own account off.', 'nor off');
select lives_ok(format($$ select update_administrator(%L, 'Olga P.', null, null) $$, user_id('olga')), 'but a name');
select refuses($$ select update_administrator(gen_random_uuid(), 'x', null, null) $$, 404, 'not_found', 'There is no such administrator.', 'an unknown one is unknown');
select refuses(format($$ select update_administrator(%L, null, 'owner', null) $$, user_id('sam')), 400, 'invalid_input', 'There is no such role.', 'so is an unknown role');
select refuses(format($$ select reset_two_step(%L, ' ') $$, user_id('sam')), 400, 'reason_required', 'Give a reason.', 'a lost device needs a reason');
select lives_ok(format($$ select reset_two_step(%L, 'Called back') $$, user_id('elin')), 'and is removed');
select act_as_owner();
select is_empty(
    format('select 1 from public.admin_sessions where admin_id in (%L, %L)', user_id('sam'), user_id('elin')), 'with the sessions of both'
);
select refuses(
    format($$ select edge.reset_admin_password(%L, %L, '$argon2id$x') $$, user_id('olga'), user_id('olga')),
    403, 'forbidden', 'Change your own password with the current one.', 'one''s own password is changed, not reset'
);
select is(
    (select action from private.audit_log where object_id = user_id('elin') order by seq desc limit 1), 'admin.two_step_reset', 'the trail knows'
);

select act_as('olga');
select refuses(format($$ select reset_two_step(%L, 'Lost') $$, user_id('olga')), 403, 'forbidden', 'Turn your own two-step sign-in off with a code.', 'nobody takes off the own second step like this');
select refuses($$ select reset_two_step(gen_random_uuid(), 'Lost') $$, 404, 'not_found', 'There is no such administrator.', 'nor that of nobody');
select act_as_owner();
select refuses(
    format($$ select edge.reset_admin_password(%L, %L, '$argon2id$x') $$, user_id('olga'), gen_random_uuid()),
    404, 'not_found', 'There is no such administrator.', 'nobody has no password'
);
select edge.start_admin_session(user_id('sam'), '127.0.0.1', 'test');
select is(
    edge.reset_admin_password(user_id('olga'), user_id('sam'), '$argon2id$reset') #>> '{administrator,email}', 'sam@admins.test', 'another one''s password is reset'
);
select is((select password_hash from private.admin_users where id = user_id('sam')), '$argon2id$reset', 'to the new hash');
select is_empty(format('select 1 from public.admin_sessions where admin_id = %L', user_id('sam')), 'and the sessions end');
select audited(a, 'what a super admin does to an account') from unnest(array['admin.created', 'admin.updated', 'admin.password_reset']) as a;
select act_as('elin');
select refuses(format($$ select reset_two_step(%L, 'x') $$, user_id('sam')), 403, 'forbidden', 'A finance admin cannot do this.', 'finance helps nobody there');
select * from finish();
rollback;
