-- The receipts that must lie in the storage service before demo.sql runs, in the session that ran story.sql: one
-- row for each deposit, with what the picture says. Each object belongs to its member (owner_id = user_id), as
-- if the member had uploaded it; an approved transfer cannot be claimed without one.

select
    r.user_id,
    r.name,
    r.amount,
    r.reference,
    r.sent_at,
    private.setting_text('deposit.address') as address,
    o.id is not null as is_stored
from (
    select
        d.no,
        m.user_id,
        m.user_id || '/' || (1767225600000 + d.no * 60000) || '.png' as name,
        to_char(d.amount, 'FM9,999,990.00') as amount,
        d.reference,
        clock_timestamp() - d.requested - interval '7 minutes' as sent_at
    from story_deposits as d
    inner join story_members as m on d.username = m.username
) as r
left join storage.objects as o on o.bucket_id = 'receipts' and r.name = o.name
order by r.no;
