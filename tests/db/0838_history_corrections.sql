-- Corrections in a member's history are found by their reference.
begin;
\ir ../support/actors.sql
select plan(1);
select matches(
    pg_get_functiondef('private.history'::regproc), 'private.corrections as c where c.user_id = p_user_id\)\)\s+offset 0',
    'before they are put in order'
);
select * from finish();
rollback;
