-- Mail about money and security is always sent. Of the rest a member may switch topics off: the notice in the app
-- stays, the mail does not leave, and what does leave says where to switch it off.

create table private.mail_topics (
    topic text primary key check (topic ~ '\A[a-z][a-z_]{1,30}\Z'),
    kinds text not null,
    label text not null check (length(label) between 1 and 80)
);
alter table private.mail_topics enable row level security;
comment on table private.mail_topics is 'What members may switch off; kinds is the pattern that the kinds of its notices match.';
insert into private.mail_topics (topic, kinds, label) values ('bots', '\Abot_', 'Changes to my bot subscriptions');

create table private.mail_refusals (
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    topic text not null references private.mail_topics (topic) on delete cascade,
    at timestamptz not null default now(),
    primary key (user_id, topic)
);
alter table private.mail_refusals enable row level security;
create index mail_refusals_topic_idx on private.mail_refusals (topic);
comment on table private.mail_refusals is 'Topics that a member does not want by mail. Without a row it is sent.';

create or replace function private.tell(p_user_id uuid, p_kind text, p_title text, p_body text, p_amount numeric, p_link text) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_member private.profiles;
    v_topic text := (select t.topic from private.mail_topics as t where p_kind ~ t.kinds);
begin
    select * into v_member from private.profiles as p where p.user_id = p_user_id;
    insert into public.notifications (user_id, kind, title, body, amount, link, created_at)
    values (p_user_id, p_kind, p_title, p_body, p_amount, p_link, private.clock());
    if exists (select 1 from private.mail_refusals as r where r.user_id = p_user_id and r.topic = v_topic) then
        return;
    end if;
    if v_member.email ~ '\A[^\s@]+@[^\s@]+\Z' then
        insert into private.outbox (template, recipient, data, created_at)
        values (
            p_kind, v_member.email, pg_catalog.jsonb_build_object(
                'username', v_member.username, 'display_name', v_member.display_name, 'title', p_title, 'body', p_body,
                'amount', private.money(p_amount), 'link', p_link, 'topic', v_topic
            ), private.clock()
        );
    end if;
end
$$;

create function public.get_mail_choices() returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.reading_member()).user_id;
begin
    return (
        select pg_catalog.jsonb_agg(
            pg_catalog.jsonb_build_object(
                'topic', t.topic, 'label', t.label,
                'wanted', not exists (select 1 from private.mail_refusals as r where r.user_id = v_user_id and r.topic = t.topic)
            ) order by t.topic
        )
        from private.mail_topics as t
    );
end
$$;
comment on function public.get_mail_choices() is
'Which mail the caller may switch off, and what is wanted now; mail about money and security is not among it.';

create function public.set_mail_choice(p_topic text, p_wanted boolean) returns jsonb
language plpgsql volatile security definer set search_path = '' as $$
declare
    v_user_id uuid := (private.reading_member()).user_id;
begin
    if p_wanted is null or not exists (select 1 from private.mail_topics as t where t.topic = p_topic) then
        perform private.refuse(400, 'invalid_input', 'This mail cannot be switched off.');
    end if;
    if p_wanted then
        delete from private.mail_refusals as r where r.user_id = v_user_id and r.topic = p_topic;
    else
        insert into private.mail_refusals (user_id, topic) values (v_user_id, p_topic) on conflict do nothing;
    end if;
    return public.get_mail_choices();
end
$$;
comment on function public.set_mail_choice(text, boolean) is 'Switches one topic on or off; answers all choices. Errors: invalid_input.';
grant execute on function public.get_mail_choices(), public.set_mail_choice(text, boolean) to authenticated;
