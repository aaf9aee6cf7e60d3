begin;
\ir ../support/actors.sql
select plan(14);
select family();

select act_as('anonymous');
select throws_ok('select get_mail_choices()', '42501', null, 'a visitor has no mail to choose');
select act_as('freya');
select is(get_mail_choices() -> 0 ->> 'topic', 'bots', 'Freya sees what can be switched off');
select is((get_mail_choices() #>> '{0,wanted}')::boolean, true, 'all of it is wanted until she says otherwise');
select refuses($$ select set_mail_choice('money', false) $$, 400, 'invalid_input', 'This mail cannot be switched off.', 'money is not among it');
select refuses($$ select set_mail_choice('bots', null) $$, 400, 'invalid_input', null, 'a choice is yes or no');
select is((set_mail_choice('bots', false) #>> '{0,wanted}')::boolean, false, 'she switches bots off');
select is((set_mail_choice('bots', false) #>> '{0,wanted}')::boolean, false, 'twice is once');
select act_as('ask');
select is((get_mail_choices() #>> '{0,wanted}')::boolean, true, 'for herself alone');

select act_as_owner();
delete from private.outbox;
delete from public.notifications;
select private.tell(user_id('freya'), 'bot_suspended', 'Scout is suspended', 'x', null, '/bots');
select is_empty('select 1 from private.outbox', 'no mail about bots leaves');
select isnt_empty('select 1 from public.notifications', 'the notice in the app is there');
select private.tell(user_id('freya'), 'withdrawal_approved', 'Approved', 'x', 100, '/transactions');
select results_eq(
    'select template, data ->> ''topic'' from private.outbox', $$ values ('withdrawal_approved', null::text) $$, 'mail about money does, without a switch'
);
select act_as('freya');
select is((set_mail_choice('bots', true) #>> '{0,wanted}')::boolean, true, 'she switches bots on again');
select act_as_owner();
delete from private.outbox;
select private.tell(user_id('freya'), 'bot_active', 'Scout is active', 'x', null, '/bots');
select results_eq('select template, data ->> ''topic'' from private.outbox', $$ values ('bot_active', 'bots') $$, 'and gets mail that says what switches it off');
select is((select count(*) from private.mail_refusals), 0::bigint, 'nothing is kept of what is wanted');

select * from finish();
rollback;
