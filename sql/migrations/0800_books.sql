-- What must always be true of the books, as questions whose answer is no row. Asked every minute and after every
-- fault drill; a row is an alarm, not a repair. Each question has a test that plants the corruption it looks for.
-- What a confirmed correction explains is not a violation.

create view private.book_violations as
-- I01 The journal rows of a bonus add up to it.
select 'I01' as rule, b.id::text as object
from public.bonuses as b
left join (
    select t.reference_id, sum(t.amount) as amount from public.transactions as t
    where t.transaction_type = 'bonus' and t.status = 'completed' group by t.reference_id
) as j on b.id = j.reference_id
where coalesce(j.amount, 0) <> b.amount
union all
-- I02 The completed journal of a member is cash-in + bonuses - approved withdrawals.
select 'I02', p.user_id::text
from private.profiles as p
left join (select t.user_id, sum(t.amount) as amount from public.transactions as t where t.status = 'completed' group by t.user_id) as j
    on p.user_id = j.user_id
left join (select b.user_id, sum(b.amount) as amount from public.bonuses as b group by b.user_id) as b on p.user_id = b.user_id
left join (
    select w.user_id, sum(w.amount) as amount from public.withdrawals as w
    where w.status = 'approved' and w.voided_at is null group by w.user_id
) as w on p.user_id = w.user_id
where coalesce(j.amount, 0) <> p.cash_in_amount + coalesce(b.amount, 0) - coalesce(w.amount, 0)
union all
-- I03 An approved deposit has its completed journal row, a pending one a pending row, a rejected one a failed row.
select 'I03', d.id::text
from public.deposits as d
left join public.transactions as t on t.transaction_type = 'deposit' and d.id = t.reference_id
where (t.user_id, t.amount::numeric, t.status::text) is distinct from (
    d.user_id, d.amount::numeric, case d.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
)
union all
-- I04 The same of withdrawals, negative.
select 'I04', w.id::text
from public.withdrawals as w
left join public.transactions as t on t.transaction_type = 'withdrawal' and w.id = t.reference_id
where (t.user_id, t.amount::numeric, t.status::text) is distinct from (
    w.user_id, -w.amount::numeric, case w.status when 'approved' then 'completed' when 'rejected' then 'failed' else 'pending' end
)
union all
-- I05 No journal row without its source.
select 'I05', t.id::text
from public.transactions as t
left join public.deposits as d on t.transaction_type = 'deposit' and t.reference_id = d.id
left join public.withdrawals as w on t.transaction_type = 'withdrawal' and t.reference_id = w.id
left join public.bonuses as b on t.transaction_type = 'bonus' and t.reference_id = b.id
left join private.corrections as c on t.reference_id = c.id and c.confirmed_by is not null
where coalesce(d.id, w.id, b.id, c.id) is null
union all
-- I06 One journal row per deposit and withdrawal.
select 'I06', t.reference_id::text
from public.transactions as t where t.transaction_type <> 'bonus'
group by t.transaction_type, t.reference_id having count(*) > 1
union all
-- I07 The kept sums are the sums, so the balance is max(0, bonuses - approved withdrawals).
select 'I07', s.user_id::text
from private.totals as s
left join (
    select
        b.user_id,
        sum(b.amount) filter (where b.bonus_type = 'referral') as referral,
        sum(b.amount) filter (where b.bonus_type = 'pairing') as pairing,
        sum(b.amount) filter (where b.bonus_type = 'override') as override,
        count(*) as bonus_rows,
        sum(b.reentry_amount) as reentry
    from public.bonuses as b group by b.user_id
) as b on s.user_id = b.user_id
left join (
    select
        w.user_id,
        sum(w.amount) filter (where w.status = 'approved' and w.voided_at is null) as withdrawn,
        sum(w.amount) filter (where w.status = 'pending') as reserved
    from public.withdrawals as w group by w.user_id
) as w on s.user_id = w.user_id
where (s.referral_amount, s.pairing_amount, s.override_amount, s.reentry_amount, s.withdrawn_amount, s.reserved_amount)
    is distinct from (
        coalesce(b.referral, 0), coalesce(b.pairing, 0), coalesce(b.override, 0), coalesce(b.reentry, 0),
        coalesce(w.withdrawn, 0), coalesce(w.reserved, 0)
    )
    or s.referral_count + s.pairing_count + s.override_count <> coalesce(b.bonus_rows, 0)
union all
-- I08 The balance before the clamp is never negative: the clamp would hide a loss.
select 'I08', s.user_id::text
from private.totals as s
where s.bonus_amount - s.withdrawn_amount < 0
    and not exists (select 1 from private.corrections as c where c.confirmed_by is not null and s.user_id = any(private.line_of(c.user_id)))
union all
-- I09 Cash-in is the approved deposits that count.
select 'I09', p.user_id::text
from private.profiles as p
left join (
    select d.user_id, sum(d.amount) as amount from public.deposits as d
    where d.status = 'approved' and d.voided_at is null group by d.user_id
) as d on p.user_id = d.user_id
where p.cash_in_amount <> coalesce(d.amount, 0)
union all
-- I10 One row per reason.
select 'I10', min(b.id::text)
from public.bonuses as b
group by b.user_id, b.source_user_id, b.bonus_type, b.pair_number having count(*) > 1
union all
-- I11 The bonuses are what tree and packages say, paid to whom they say.
select 'I11', w.bonus_type || ' ' || w.subject_no || ' ' || coalesce(w.pair_number::text, '')
from private.wrong_bonuses as w
union all
select 'I11', b.id::text
from public.bonuses as b
inner join private.positions as s on b.subject_no = s.no
left join private.positions as u on s.referrer_no = u.no
where b.user_id is distinct from case when b.bonus_type = 'pairing' then s.user_id else u.user_id end
    or (b.bonus_type <> 'pairing' and b.source_user_id <> s.user_id)
    or (b.amount > 0 and b.rate <> case b.bonus_type
        when 'referral' then private.referral_percent()
        when 'override' then private.override_percent()
        else (select k.pairing_percent from private.packages as k where k.value_cents = s.package_cents)
    end)
union all
-- I12 Nobody earns from themselves.
select 'I12', b.id::text from public.bonuses as b where b.user_id = b.source_user_id
union all
-- I13 A package is what the approved deposits say.
select 'I13', p.user_id::text
from private.profiles as p
left join (
    select d.user_id, max(d.amount) as amount
    from public.deposits as d inner join private.packages as k on d.amount = k.value
    where d.status = 'approved' and d.voided_at is null group by d.user_id
) as d on p.user_id = d.user_id
where p.package_value <> coalesce(d.amount, 0)
    and not exists (select 1 from private.corrections as c where c.user_id = p.user_id and c.confirmed_by is not null)
union all
-- I14 Every member stands one below the sponsor, roots at 0: so there is no cycle.
select 'I14', p.id::text
from private.profiles as p
left join private.profiles as s on p.referrer_id = s.id
where p.depth <> coalesce(s.depth + 1, 0)
union all
-- I15 A sponsor is older than the child.
select 'I15', p.id::text
from private.profiles as p inner join private.profiles as s on p.referrer_id = s.id
where s.created_at >= p.created_at
union all
-- I16 Amounts are finite and in range.
select 'I16', d.id::text from public.deposits as d where d.amount not between 1 and 10000000
union all
select 'I16', w.id::text from public.withdrawals as w where w.amount not between 100 and 10000000
union all
select 'I16', b.id::text from public.bonuses as b
where b.amount not between 0.01 and 10000000
    and not (b.amount = 0 and exists (select 1 from private.corrections as c where c.confirmed_by is not null))
union all
-- I17 Decided rows say when and by whom; the member's own cancellation and the closing of the account have no decider.
select 'I17', r.id::text
from (
    select d.id, d.status, d.decided_at, d.decided_by, d.admin_notes from public.deposits as d
    union all
    select w.id, w.status, w.decided_at, w.decided_by, w.admin_notes from public.withdrawals as w
) as r
where (r.status = 'pending') <> (r.decided_at is null)
    or (r.status = 'pending' and r.decided_by is not null)
    or (r.status <> 'pending' and r.decided_by is null and coalesce(r.admin_notes, '') not in ('Cancelled by the member', 'Account closed'))
union all
-- I18 Usernames are unique ignoring case.
select 'I18', lower(p.username) from private.profiles as p group by lower(p.username) having count(*) > 1
union all
-- I19 A transfer is approved once.
select 'I19', d.reference_key
from public.deposits as d where d.status = 'approved' and d.voided_at is null
group by d.reference_key having count(*) > 1
union all
-- I20 The receipt is there, in the member's folder, and the member's own.
select 'I20', d.id::text
from public.deposits as d
left join storage.objects as o on o.bucket_id = 'receipts' and d.receipt_name = o.name
where o.owner_id is distinct from d.user_id::text or split_part(d.receipt_name, '/', 1) <> d.user_id::text
union all
-- I21 Bonuses never exceed 56% of funded packages.
select 'I21', 'all'
where (select coalesce(sum(b.amount), 0) from public.bonuses as b)
    > 0.56 * (select coalesce(sum(p.paid_cents), 0) * 0.01 from private.positions as p)
union all
-- I22 No more is paid out than came in, deposits that were voided later included: they were paid from while they counted.
select 'I22', 'all'
where (select coalesce(sum(w.amount), 0) from public.withdrawals as w where w.status = 'approved' and w.voided_at is null)
    > (select coalesce(sum(d.amount), 0) from public.deposits as d where d.status = 'approved')
union all
-- I23 Every place is taken once and without a gap, and carries the member's package.
select 'I23', o.no::text
from private.positions as o
inner join private.profiles as p on o.profile_id = p.id
left join private.positions as r on o.referrer_no = r.no
left join (
    select c.referrer_no, count(*) as children, max(c.child_no) as last from private.positions as c
    where c.referrer_no is not null group by c.referrer_no
) as c on o.no = c.referrer_no
where o.user_id <> p.user_id
    or r.profile_id is distinct from p.referrer_id
    or o.package_cents <> p.package_value * 100
    or o.paid_cents <> case when p.cash_in_amount >= p.package_value then p.package_value * 100 else 0 end
    or (o.children, o.children) is distinct from (coalesce(c.children, 0)::integer, coalesce(c.last, 0))
union all
select 'I23', p.id::text
from private.profiles as p
where not exists (select 1 from private.positions as o where o.profile_id = p.id)
union all
-- I24 One running subscription per member and bot.
select 'I24', min(s.id::text)
from public.bot_subscriptions as s where s.status <> 'cancelled'
group by s.user_id, s.bot_name having count(*) > 1
union all
-- I25 No administrator session beyond eight hours.
select 'I25', s.session_token::text
from public.admin_sessions as s
left join private.admin_session_activity as a on s.session_token = a.session_token
where a.session_token is null or s.expires_at > a.started_at + interval '8 hours 1 second'
union all
-- I26 The audit chain is whole.
select 'I26', a.seq::text
from (
    select
        l.seq,
        l.hash,
        l.prev,
        lag(l.hash) over w as before,
        lag(l.seq) over w as seq_before,
        private.audit_hash(l.prev, l.*) as expected
    from private.audit_log as l
    window w as (order by l.seq)
) as a
where a.hash <> a.expected or a.prev is distinct from a.before or a.seq <> coalesce(a.seq_before, 0) + 1
union all
-- I27 The kept figures are the figures.
select 'I27', c.name
from private.counted() as c
inner join (
    select 'profiles' as name, (select count(*) from private.profiles)::numeric as value
    union all
    select 'active_profiles', (select count(*) from private.profiles as p where p.package_value > 0)
    union all
    select 'package_investment', (select coalesce(sum(p.package_value), 0) from private.profiles as p)
    union all
    select 'pending_deposits', (select count(*) from public.deposits as d where d.status = 'pending')
    union all
    select 'pending_withdrawals', (select count(*) from public.withdrawals as w where w.status = 'pending')
    union all
    select
        'deposits_approved',
        (select coalesce(sum(d.amount), 0) from public.deposits as d where d.status = 'approved' and d.voided_at is null)
    union all
    select
        'withdrawals_approved',
        (select coalesce(sum(w.amount), 0) from public.withdrawals as w where w.status = 'approved' and w.voided_at is null)
    union all
    select 'deposits_approved_count', (select count(*) from public.deposits as d where d.status = 'approved')
    union all
    select 'deposits_rejected_count', (select count(*) from public.deposits as d where d.status = 'rejected')
    union all
    select 'withdrawals_approved_count', (select count(*) from public.withdrawals as w where w.status = 'approved')
    union all
    select 'withdrawals_rejected_count', (select count(*) from public.withdrawals as w where w.status = 'rejected')
    union all
    select 'bonuses', (select coalesce(sum(b.amount), 0) from public.bonuses as b)
    union all
    select 'bonus_rows', (select count(*) from public.bonuses)
) as f on c.name = f.name
where c.value <> f.value;
comment on view private.book_violations is 'What is wrong with the books: the rule and what breaks it. Empty when all is right.';

create function private.check_books() returns table (rule text, object text)
language sql stable set search_path = '' as $$
    select v.rule, v.object from private.book_violations as v
$$;
comment on function private.check_books() is 'Violations of the books, none when all is right.';

create table private.books_state (
    only_row boolean primary key default true check (only_row),
    checked_at timestamptz,
    violations integer not null default 0,
    rules jsonb not null default '{}'
);
alter table private.books_state enable row level security;
insert into private.books_state default values;
comment on table private.books_state is 'The last check: how many violations, by rule.';

create function jobs.check_books() returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_rules jsonb;
begin
    select coalesce(pg_catalog.jsonb_object_agg(r.rule, r.rows), '{}') into v_rules
    from (select c.rule, count(*) as rows from private.check_books() as c group by c.rule) as r;
    update private.books_state as s set
        checked_at = pg_catalog.clock_timestamp(),
        rules = v_rules,
        violations = (select coalesce(sum(e.value::integer), 0) from pg_catalog.jsonb_each_text(v_rules) as e);
    return v_rules;
end
$$;
comment on function jobs.check_books() is 'Checks the books, keeps the result, answers the violations by rule: {} when all is right.';
grant execute on function jobs.check_books() to worker;
