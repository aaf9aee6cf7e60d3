-- Guards of rows deny by default: a column that was added later is guarded like those that its guard was written for,
-- and a retry compares it. Each guarded table gets such a column here, and every column is changed once.
begin;
\ir ../support/actors.sql
select * from no_plan();
select fixture_members();

-- Another valid value of a column, as an expression.
create function pg_temp.other_value(p_column pg_attribute) returns text language sql as $$
    select case
        when (p_column).attname in ('user_id', 'source_user_id') then 'actors.user_id(''buri'')'
        when (p_column).attname = 'subject_no' then 'actors.position_no(''buri'')'
        when t.typtype = 'e' then format('(select e from unnest(enum_range(%1$I)) as e where e <> %1$I order by e desc limit 1)', (p_column).attname)
        when t.typname = 'uuid' then 'gen_random_uuid()'
        when t.typname = 'bool' then format('not %I', (p_column).attname)
        when t.typname = 'timestamptz' then format('coalesce(%I, now()) + interval ''1 day''', (p_column).attname)
        when t.typname = 'jsonb' then '''{"other": 1}'''
        when t.typname = 'text' then format('coalesce(%I, '''') || ''x''', (p_column).attname)
        else format('coalesce(%I, 0) + 1', (p_column).attname)
    end
    from pg_type as t where t.oid = (p_column).atttypid
$$;

-- Nobody gets an override of Loke's pair.
select join_as(n, 'loke') from unnest(array['vidar', 'vali']) as n;
select complete(n) from unnest(array['vidar', 'vali']) as n;
select pays(n, 1000) from unnest(array['loke', 'vidar', 'vali', 'freya', 'ask', 'embla']) as n;
select act_as('freya');
insert into public.withdrawals (user_id, amount, wallet_address) select user_id('freya'), 100, wallets.of('freya') from generate_series(1, 2);
select act_as_owner();
create temporary table request as
select claims_deposit('freya', 75.50) as deposit, claims_deposit('freya', 90) as asked, (select min(w.id::text)::uuid from public.withdrawals as w) as withdrawal;
grant select on request to public;
select act_as('elin');
select decide_withdrawal(withdrawal, 'approve', null, 'paid') from request;
select act_as_owner();
insert into private.deposit_rests (deposit_id, no, received_amount, asked_by, asked_at, ended_at)
select asked, 1, 40, user_id('elin'), now(), now() from request union all select asked, 2, 50, user_id('elin'), now(), null from request;

-- A row of each guarded table in each of its states, with the columns that may change then.
create temporary table guarded (relation regclass, code text, place text, may_change text[]);
insert into guarded values
('public.deposits', 'append_only', 'status = ''approved''', '{}'),
('public.deposits', 'append_only', 'status = ''pending''', '{status,admin_notes,decided_at,decided_by,decision_no,received_amount}'),
('public.withdrawals', 'append_only', 'status = ''approved''', '{}'),
('public.withdrawals', 'append_only', 'status = ''pending''', '{status,admin_notes,decided_at,decided_by,decision_no,payout_reference,payout_at}'),
('public.transactions', 'append_only', 'status = ''completed''', '{}'),
('public.transactions', 'append_only', 'status = ''pending''', '{status,decision_no,balance_after}'),
('private.deposit_rests', 'append_only', 'ended_at is not null', '{}'),
('private.deposit_rests', 'append_only', 'ended_at is null', '{reference_number,referenced_at,ended_at}'),
('public.bonuses', 'append_only', 'bonus_type = ''pairing'' and user_id = actors.user_id(''loke'')', '{amount,rate,volume}'),
('private.profiles', 'immutable', 'user_id = actors.user_id(''ask'')',
    '{username,display_name,email,trc20_wallet_address,account_status,admin_notes,hold_until,hold_reason,closed_at,revision,cash_in_amount,package_value}'),
('private.settings', 'forbidden', 'key = ''site.url''', '{value,description,updated_at,updated_by,revision}'),
('storage.objects', null, 'bucket_id = ''receipts''', '{owner,version,created_at,updated_at,last_accessed_at,metadata,user_metadata}');
select bag_eq(
    $$ select distinct t.tgrelid::regclass from pg_trigger as t inner join pg_proc as p on t.tgfoid = p.oid
    where p.proname in ('settings_validate', 'receipts_validate') or p.proname like '%\_immutable' $$,
    $$ select distinct relation from guarded $$, 'every guarded table is here'
);
select lives_ok(format('alter table %s add column added_later text', relation), format('%s gets a column', relation)) from (select distinct relation from guarded) as g;
select case
    when g.code is null then throws_ok(c.statement, '42501', 'Receipts are kept as they are.', c.what)
    else raises(c.statement, 403, g.code, null, c.what)
end
from guarded as g
inner join pg_attribute as a on g.relation = a.attrelid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.attname <> all(g.may_change)
cross join lateral (
    select
        format('update %s set %I = %s where %s', g.relation, a.attname, pg_temp.other_value(a), g.place) as statement,
        format('%s of %s stays where %s', a.attname, g.relation, g.place) as what
) as c
order by g.relation::text, g.place, a.attnum;

-- A retry is compared in every column that a member may write: not by whom and which request, and a status is ignored.
grant insert (added_later) on public.deposits, public.withdrawals to authenticated;
create temporary table retried as
select 'public.deposits'::regclass as relation, d.id, to_jsonb(d) as stored from public.deposits as d where d.status = 'pending' and d.user_id = user_id('freya')
union all select 'public.withdrawals', w.id, to_jsonb(w) from public.withdrawals as w where w.status = 'pending' and w.user_id = user_id('freya');
create function pg_temp.retry(p_relation regclass, p_row jsonb) returns text language sql as $$
    select format('insert into %s (%s) select %2$s from jsonb_populate_record(null::%1$s, %3$L)', p_relation, string_agg(quote_ident(c.column_name), ', '), p_row)
    from information_schema.column_privileges as c
    where format('%I.%I', c.table_schema, c.table_name)::regclass = p_relation and c.grantee = 'authenticated' and c.privilege_type = 'INSERT'
$$;
create temporary table retries as
select pg_temp.retry(r.relation, r.stored) as same, c.column_name, r.relation, pg_temp.retry(r.relation, r.stored || jsonb_build_object(
    c.column_name, case jsonb_typeof(r.stored -> c.column_name) when 'number' then to_jsonb((r.stored ->> c.column_name)::numeric + 1)
        else to_jsonb(concat(r.stored ->> c.column_name, 'x')) end
)) as other
from retried as r
inner join information_schema.column_privileges as c on format('%I.%I', c.table_schema, c.table_name)::regclass = r.relation
where c.grantee = 'authenticated' and c.privilege_type = 'INSERT' and c.column_name not in ('id', 'user_id', 'status');
grant select on retries to public;
select act_as('freya');
select lives_ok(same, format('a retry of %s is one', relation)) from (select distinct same, relation from retries) as r;
select raises(other, 409, 'duplicate_request', 'This request was already made with other values.', format('another %s is no retry of %s', column_name, relation)) from retries;
select act_as_owner();
select is((select count(*) from retried as r where r.stored is distinct from case r.relation
    when 'public.deposits'::regclass then (select to_jsonb(d) from public.deposits as d where d.id = r.id)
    else (select to_jsonb(w) from public.withdrawals as w where w.id = r.id) end), 0::bigint, 'and the rows are as they were');
select * from finish();
rollback;
