begin;
\ir ../support/actors.sql
select * from no_plan();
select family();
select pays('freya', 500);
select pays('ask', 100);

-- A member
select act_as('freya');
select is((select amount from bonuses where bonus_type = 'referral' and user_id = auth.uid())::numeric, 5.00, 'a member sees what others earned her');
select is((select reentry_amount from bonuses where user_id = auth.uid())::numeric, 0.50, 'a tenth of it re-enters, as a memo');
select is((select amount from bonuses where source_user_id = auth.uid())::numeric, 25.00, 'and what she earned others');
select throws_ok($$ delete from bonuses where user_id = auth.uid() $$, '42501', null, 'a client''s delete is refused');
select throws_ok($$ insert into bonuses (user_id, bonus_type, amount) values (auth.uid(), 'referral', 1000) $$, '42501', null, 'a client''s insert is refused');
select throws_ok($$ update bonuses set amount = 1000 $$, '42501', null, 'a client''s update is refused');
select act_as('loke');
select is_empty($$ select 1 from bonuses $$, 'a stranger sees none');
select act_as('anonymous');
select throws_ok($$ select 1 from bonuses $$, '42501', null, 'a visitor has no table');

-- The owner of the database: keys and checks hold
select act_as_owner();
select throws_ok($$ insert into public.bonuses (user_id, source_user_id, bonus_type, amount, rate, volume, subject_no)
    select user_id, source_user_id, bonus_type, amount, rate, volume, subject_no from public.bonuses limit 1 $$, '23505', null, 'a bonus cannot be posted twice');
select throws_ok($$ update public.bonuses set amount = amount + 1 $$, '23514', null, 'an amount is rate of volume');
select throws_ok($$ insert into public.bonuses (user_id, source_user_id, bonus_type, amount, rate, volume, subject_no, pair_number)
    select user_id, user_id, 'pairing', 1, 1, 100, subject_no, 1 from public.bonuses limit 1 $$, '23514', null, 'nobody earns from themselves');
select refuses($$ update public.bonuses set amount = 0, volume = 0 $$, 403, 'append_only', 'A bonus only rises. A correction can lower it.', 'a bonus only rises');
select refuses($$ update public.bonuses set created_at = now() - interval '1 day' $$, 403, 'append_only', 'A bonus keeps its reason and its date.', 'a bonus keeps its date');
select refuses($$ delete from public.bonuses $$, 403, 'append_only', 'Rows of bonuses are kept as they are.', 'a bonus is never deleted');

-- Whatever bonuses are computed from moves the posting number, so that no reconcile is left out
create function actors.moves(p_sql text, p_description text) returns text language plpgsql as $$
declare
    v_before bigint := (select last_value from private.postings);
begin
    execute p_sql;
    return extensions.cmp_ok((select last_value from private.postings), '>', v_before, p_description);
end
$$;
select moves($$ update public.bonuses set volume = 200, amount = 10 where source_user_id = actors.user_id('ask') $$, 'a bonus that rises is a posting');
select moves($$ insert into public.bonuses (user_id, source_user_id, bonus_type, amount, rate, volume, subject_no)
    values (actors.user_id('ymir'), actors.user_id('buri'), 'referral', 5, 5, 100, actors.position_no('buri')) $$, 'so is a new one');
select moves($$ select actors.pays('ymir', 500) $$, 'and a package that earns nobody anything');

select refuses($$ update public.bonuses set user_id = user_id('loke') where source_user_id = user_id('ask') $$, 403, 'append_only', 'A bonus keeps its reason and its date.', 'a bonus keeps its member');
select * from finish();
rollback;
