-- A member's inbox and the notices to administrators: each reads the own ones, and marks them as read.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();
savepoint fixture_members;

-- =====================================================================================================================
-- Who reads a notification
-- =====================================================================================================================
select private.notify_member(user_id('ask'), 'greeting', 'Hello', 'Welcome.', 12.5, '/dashboard');

select act_as('ask');
select is((select title from notifications where kind = 'greeting'), 'Hello', 'a member reads the own notifications');
select throws_ok($$ update notifications set read_at = now() $$, '42501', null, 'and changes them through the function only');
select act_as('freya');
select is_empty($$ select 1 from notifications where kind = 'greeting' $$, 'no other member reads them');
select act_as('anonymous');
select throws_ok($$ select 1 from notifications $$, '42501', null, 'an anonymous client reads nothing');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- The inbox
-- =====================================================================================================================
select join_as('rita');
select join_as('mia', 'rita');
select join_as('tom', 'rita');
select private.notify_member(user_id('mia'), 'deposit_approved', 'Deposit approved', 'Your deposit was approved.', 50, '/transactions')
from generate_series(1, 3);
select private.notify_member(user_id('tom'), 'deposit_approved', 'Deposit approved', 'Your deposit was approved.', 50, '/transactions');

select act_as('mia');
select is(public.get_notifications() -> 'unread', '3'::jsonb, 'Mia has three unread ones');
select is(
    (public.get_notifications() #> '{items,0}') - array['id', 'created_at'],
    '{
        "kind": "deposit_approved", "title": "Deposit approved", "body": "Your deposit was approved.", "amount": "50.00",
        "read_at": null, "link": "/transactions"
    }'::jsonb,
    'each says what happened'
);
select is(jsonb_array_length(public.get_notifications(null, 2) -> 'items'), 2, 'a page as long as asked');
select is(
    jsonb_array_length(public.get_notifications(public.get_notifications(null, 2) ->> 'next', 2) -> 'items'), 1, 'and the rest on the next'
);
select is(
    public.mark_notifications_read(array[(public.get_notifications() #>> '{items,0,id}')::uuid]), '{"unread": 2}'::jsonb, 'one is read'
);
select is(public.mark_notifications_read(), '{"unread": 0}'::jsonb, 'then all');
select act_as_owner();
insert into public.notifications (user_id, kind, title, body, created_at)
select user_id('mia'), 'many', 'Many', 'Many', now() - i * interval '1 minute' from generate_series(1, 1003) as i;
select act_as('mia');
select is(public.get_notifications() -> 'unread', '997'::jsonb, 'counted among the newest thousand');
select is(public.mark_notifications_read(), '{"unread": 0}'::jsonb, 'all are marked at once');
select act_as_owner();
select is_empty($$ select 1 from public.notifications as n where n.user_id = user_id('mia') and n.read_at is null $$, 'those further down too');
delete from public.notifications as n where n.user_id = user_id('mia') and n.kind = 'many';

-- Tom tries to read for Mia.
select act_as_owner();
update public.notifications set read_at = null where user_id = user_id('mia');
create temporary table hers as select array_agg(n.id) as ids from public.notifications as n where n.user_id = user_id('mia');
grant select on hers to public;
select act_as('tom');
select public.mark_notifications_read(h.ids) from hers as h;
select public.mark_notifications_read();
select act_as_owner();
select is(
    (select count(*) from public.notifications as n where n.user_id = user_id('mia') and n.read_at is null), 3::bigint,
    'another member''s ids change nothing'
);
select act_as('mia');
select throws_ok($$ update public.notifications set body = 'x' $$, '42501', null, 'a notification cannot be rewritten');
select act_as('anonymous');
select throws_ok($$ select public.get_notifications() $$, '42501', null, 'an anonymous client is rejected');

select act_as('mia');
select raises(
    $$ select public.mark_notifications_read((select array_agg(gen_random_uuid()) from generate_series(1, 1001))) $$,
    400, 'too_many', 'Mark at most 1,000 notifications at once.', 'a list of ids has an end'
);
-- An account that confirmed nothing yet has no member
select act_as_owner();
insert into actors.people (name, user_id, session_id, role) values ('nobody', gen_random_uuid(), gen_random_uuid(), 'authenticated');
select act_as('nobody');
select raises('select public.get_notifications()', 404, 'profile_not_found', 'Failed to load profile data', 'an account without a member reads nothing');
rollback to savepoint fixture_members;

-- =====================================================================================================================
-- Notices to administrators
-- =====================================================================================================================
select private.notify_administrators('bot_subscribed', 'Scout: new subscription', 'freya subscribed to Scout.', '/admin/bots');

select act_as('sam');
select is(get_admin_notices() #>> '{items,0,title}', 'Scout: new subscription', 'every administrator reads the notices');
select is((get_admin_notices() #>> '{items,0,unread}')::boolean, true, 'a new one is unread');
select is(jsonb_array_length(get_admin_notices(1) -> 'items'), 1, 'as many as asked for');
select lives_ok($$ select mark_admin_notices_read() $$, 'Sam has read them');
select is((get_admin_notices() ->> 'unread')::integer, 0, 'and has none left');
select act_as('elin');
select ok((get_admin_notices() ->> 'unread')::integer >= 1, 'Elin still has hers');
select act_as('anonymous');
select throws_ok($$ select get_admin_notices() $$, '42501', null, 'an anonymous client reads none');
select throws_ok($$ select mark_admin_notices_read() $$, '42501', null, 'and marks none');
select * from finish();
rollback;
