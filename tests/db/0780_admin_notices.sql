begin;
\ir ../support/actors.sql
select plan(8);
select private.tell_administrators('bot_subscribed', 'Scout: new subscription', 'freya subscribed to Scout.', '/admin/bots');

select act_as('sam');
select is(get_admin_notices() #>> '{items,0,title}', 'Scout: new subscription', 'every administrator reads the notices');
select is((get_admin_notices() #>> '{items,0,unread}')::boolean, true, 'a new one is unread');
select is(jsonb_array_length(get_admin_notices(1) -> 'items'), 1, 'as many as asked for');
select lives_ok($$ select mark_admin_notices_read() $$, 'Sam has read them');
select is((get_admin_notices() ->> 'unread')::integer, 0, 'and has none left');
select act_as('elin');
select ok((get_admin_notices() ->> 'unread')::integer >= 1, 'Elin still has hers');
select act_as('anonymous');
select throws_ok($$ select get_admin_notices() $$, '42501', null, 'a visitor reads none');
select throws_ok($$ select mark_admin_notices_read() $$, '42501', null, 'and marks none');

select * from finish();
rollback;
