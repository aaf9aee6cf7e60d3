-- Completed lessons and ticked checklist items of the trading school, as rows, so that progress is the same on every
-- device. The app knows what they say; here they are names, limited in number.

create table public.lesson_progress (
    user_id uuid not null references private.profiles (user_id) on delete restrict,
    lesson_id text not null check (lesson_id ~ '\A[a-z0-9-]{1,63}\Z'),
    done_at timestamptz not null default now(),
    primary key (user_id, lesson_id)
);
comment on table public.lesson_progress is 'Lessons that a member marked as done, and checklist items ticked. Unmarking deletes the row.';
alter table public.lesson_progress enable row level security;

create policy select_own on public.lesson_progress for select to authenticated using (user_id = (select auth.uid()));
create policy insert_own on public.lesson_progress for insert to authenticated with check (user_id = (select auth.uid()));
create policy delete_own on public.lesson_progress for delete to authenticated using (user_id = (select auth.uid()));
grant select, delete on public.lesson_progress to authenticated;
grant insert (user_id, lesson_id) on public.lesson_progress to authenticated;
-- Not granted: update, to any role.

create function private.lesson_progress_validate() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
    perform private.require_owner(new.user_id);
    if (select count(*) from public.lesson_progress as l where l.user_id = new.user_id) >= 200 then
        perform private.raise_error(409, 'too_many', 'There are not that many lessons.');
    end if;
    return new;
end
$$;
comment on function private.lesson_progress_validate() is 'Trigger: limits the number of rows. Errors: not_yours, too_many.';
create trigger _100_validate before insert on public.lesson_progress for each row execute function private.lesson_progress_validate();
