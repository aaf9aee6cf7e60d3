begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
select edge.subscribe_bot(user_id('freya'), '11111111-1111-4111-8111-111111111111', 'Scout', 'Demo-Server', '1001', 12, 'k1', '\x0102');

create function actors.wants_two_step(p_sql text, p_description text) returns text language sql as $$
    select refuses(p_sql, 403, 'two_step_required', 'Your role needs two-step sign-in. Set it up in your settings first.', p_description)
$$;
create function actors.reveal(p_name text) returns text language sql as $$
    select format('select edge.sealed_mt5_password(%L, %L)', user_id(p_name), '11111111-1111-4111-8111-111111111111')
$$;
create function actors.creation(p_name text) returns text language sql as $$
    select format('select edge.create_administrator(%L, %L, %L, %L, %L)', user_id(p_name), p_name || '2@admins.test', 'Two', 'super_admin', '$argon2id$x')
$$;
create function actors.reset(p_name text) returns text language sql as $$
    select format('select edge.reset_admin_password(%L, %L, %L)', user_id(p_name), user_id('sam'), '$argon2id$reset')
$$;
create function actors.disabling(p_name text) returns text language sql as $$
    select format('select update_member(%L, %L, null, %L)', profile_id(p_name), 'suspended', 'Reason')
$$;
grant execute on all functions in schema actors to public;

-- In demo mode nobody needs it.
select lives_ok(reveal('elin'), 'in demo mode Elin opens a password without the second step');
select lives_ok(creation('olga'), 'and Olga makes an account');
select act_as('olga');
select lives_ok(disabling('ask'), 'and suspends a member');

-- With real money Elin and Olga have not set it up.
select act_as_owner();
update private.settings set value = 'false' where key = 'demo';
create temporary table before as select
    (select count(*) from private.audit_log) as trail, (select count(*) from private.admin_users) as accounts;
select wants_two_step(reveal(n), n || ' opens no password without the second step') from unnest(array['elin', 'olga']) as n;
select wants_two_step(creation('olga'), 'nor does Olga make an account');
select wants_two_step(reset('olga'), 'or reset a password');
select refuses(creation('elin'), 403, 'forbidden', 'Only a super admin can do this.', 'who may not in any case is told so');
select refuses(reveal('sam'), 403, 'forbidden', 'Only finance and super administrators can see MT5 passwords.', 'in both places');
select act_as('olga');
select wants_two_step(disabling('embla'), 'or block a member');
select wants_two_step(format('select update_member(%L, null, %L, null)', profile_id('embla'), 'A note'), 'or write a note');
select act_as('elin');
select wants_two_step($$ select update_subscription('11111111-1111-4111-8111-111111111111', 'suspended', 'Reason') $$, 'Elin stops no bot');
select wants_two_step($$ select note_export('members', '{}') $$, 'and takes no list away');
select lives_ok($$ select list_deposits('{"page": 1}') $$, 'but reads');
select act_as_owner();
select is((select count(*) from private.audit_log), (select trail from before), 'nothing of it is on the record');
select is((select count(*) from private.admin_users), (select accounts from before), 'there is no new account');
select is((select password_hash from private.admin_users where id = user_id('sam')), '$argon2id$test', 'no other password');
select results_eq(
    $$ select account_status::text, admin_notes from private.profiles where user_id = user_id('embla') $$, $$ values ('active', null::text) $$,
    'no other member'
);
select is((select status::text from public.bot_subscriptions where id = '11111111-1111-4111-8111-111111111111'), 'active', 'and no other subscription');

-- Support may do without.
select act_as('sam');
select lives_ok(disabling('embla'), 'Sam suspends a member without it');
select lives_ok($$ select update_subscription('11111111-1111-4111-8111-111111111111', 'suspended', 'Reason') $$, 'and stops a bot');
select lives_ok($$ select note_export('audit', '{}') $$, 'and takes the own actions away');

-- Setting it up needs none, and so does the first account.
select act_as_owner();
set local role edge_functions;
select lives_ok(format('select * from edge.start_admin_session(%L, null, null)', user_id('olga')), 'Olga signs in');
select lives_ok(format('select edge.set_totp_secret(%L, %L, %L)', user_id('olga'), 'k', '\x00'), 'and sets the second step up');
reset role;
select wants_two_step(reveal('olga'), 'which counts');
set local role edge_functions;
select lives_ok(format('select edge.confirm_totp(%L)', user_id('olga')), 'once she showed a code');
reset role;
select lives_ok(reveal('olga'), 'then she opens a password');
select lives_ok(reset('olga'), 'and resets one');
select act_as('olga');
select lives_ok(disabling('buri'), 'and block a member');
select act_as_owner();
select isnt(private.create_administrator('first@admins.test', 'First', 'super_admin', '$argon2id$x'), null, 'an account is made on the machine itself as ever');
select * from finish();
rollback;
