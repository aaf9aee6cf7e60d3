-- threats: T48
begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
select pays('freya', 500);
select claims_deposit('freya', 1000);

select act_as('freya');
select results_eq($$ select transaction_type::text, status::text, amount::numeric from transactions order by amount $$,
    $$ values ('deposit', 'completed', 500.0), ('deposit', 'pending', 1000.0) $$, 'a member reads the own journal');
select throws_ok($$ insert into transactions (user_id, amount, transaction_type, status, reference_id) values (auth.uid(), 1, 'bonus', 'completed', auth.uid()) $$, '42501', null, 'and writes nothing');
select throws_ok($$ update transactions set amount = 9 $$, '42501', null, 'changes nothing');
select throws_ok($$ delete from transactions $$, '42501', null, 'deletes nothing');
select act_as('loke');
select is_empty($$ select 1 from transactions $$, 'a stranger sees none');

select act_as_owner();
select refuses($$ update public.transactions set amount = amount + 1 $$, 403, 'append_only', 'The journal is kept as it is.', 'an amount never changes');
select refuses($$ update public.transactions set status = 'failed' where status = 'completed' $$, 403, 'append_only', 'The journal is kept as it is.', 'a status moves once');
select refuses($$ delete from public.transactions $$, 403, 'append_only', 'Rows of transactions are kept as they are.', 'no row is deleted');
select refuses($$ truncate public.transactions $$, 403, 'append_only', 'Rows of transactions are kept as they are.', 'the journal is not emptied');
select throws_ok($$ insert into public.transactions (user_id, amount, transaction_type, status, reference_id)
    select user_id, amount, transaction_type, status, reference_id from public.transactions where transaction_type = 'deposit' limit 1 $$, '23505', null, 'a source has one row');
select * from finish();
rollback;
