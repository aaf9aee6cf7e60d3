-- The register of transfers. A hash is one movement, whichever table names it: a deposit says that it came in, a payout
-- that it went out. A person types both, so what looks like a hash is compared as a hash; a reference that is none, like an
-- exchange's number, is compared by its letters and digits. Keys are written once, with the row: a decision only reads.
-- Rules: specification S5.1 to S5.5.

create table private.transfer_keys (
    request_id uuid not null,
    key text not null check (length(key) between 1 and 200),
    kind text not null check (kind in ('hash', 'text', 'look_alike')),
    is_payout boolean not null,
    primary key (request_id, key)
);
comment on table private.transfer_keys is
'The keys of the references of deposits and of payouts. Who share a hash or a text name the same transfer; look-alikes are only flagged.';
comment on column private.transfer_keys.request_id is
'The deposit, or the withdrawal that was paid. No foreign key: only their triggers write here, and requests are never deleted.';
alter table private.transfer_keys enable row level security;
-- Finds the others that name a transfer.
create index transfer_keys_key_idx on private.transfer_keys (key);
-- Find hashes that are nearly the same: four places are different at most, or 32 digits in a row the same.
create index transfer_keys_first_idx on private.transfer_keys (left(key, 16)) where kind = 'hash';
create index transfer_keys_second_idx on private.transfer_keys (substr(key, 17, 16)) where kind = 'hash';
create index transfer_keys_third_idx on private.transfer_keys (substr(key, 33, 16)) where kind = 'hash';
create index transfer_keys_fourth_idx on private.transfer_keys (right(key, 16)) where kind = 'hash';
create trigger _100_reject_change before update or delete or truncate on private.transfer_keys
for each statement execute function private.reject_change();

create function private.alphanumeric_text(p_text text) returns text
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
    -- Two letters are blank (those of half and full width become the second).
    return pg_catalog.regexp_replace(pg_catalog.lower(p_text), '[^[:alnum:]]|[\u115f\u1160]', '', 'g');
end
$$;
comment on function private.alphanumeric_text(text) is 'The letters and digits of a text, in lower case.';

create function private.hexadecimal_text(p_reference text) returns text
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
    -- The single characters that Unicode's confusables.txt (15.0) leads to a hexadecimal digit, with their other case,
    -- less those that normalisation replaces itself. Letters l, i and o stand for the digits that they look like.
    return private.alphanumeric_text(pg_catalog.translate(
        normalize(p_reference, nfkc),
        'ILOilo|ƄƅƖƧƨƷƼƽǀȜȝȢȣɑɜɩʒΑΒΕΙΟΣαβειοςσϜϝϨϩІАБВЕЗОСЬабвезосьіҼҽӀӏӠӡԀԁՔՕքօ۱০৪৭੧੪ଃଠ୦୨൭ዐᎠᎪᎬᏎᏏᏟᏧᏮᏴᏼᑯᑲᒿᖯᖴᗅᗞᗪᗷᛁᴄẝ℮∣⋿⍺⏽│ⱭⲒⲓⲞⲟⲤⲥⳊⳋⳌⳍⳒⳓⴹⵏⵔ〇ꓐꓒꓓꓚꓝꓮꓰꓲꓳꙄꙅꛯꝚꝛꝪꝫꝮꝯꞘꞙꞫꞴꞵꬲꬵꭰꭺꭼꮞꮟꮯꮷꮾ𐊂𐊆𐊇𐊊𐊒𐊠𐊡𐊢𐊥𐊫𐌁𐌂𐌉𐌚𐌠𐐄𐐕𐐬𐐽𐓂𐓒𐓪𐓺𐔖𐔜𐔥𑓐𑢢𑢪𑢬𑢮𑢯𑢶𑢻𑣂𑣊𑣌𑣎𑣏𑣖𑣛𑣠𑣩𑣲𖼨𖼻𖽀𝈆𝈒𝈓🝌',
        '1101101bb12235513388a313abe10cabe10ccff221a6be30cba6be30cb1ee1133ddf0f0108998800990dae4bcd6bbdb2bfaddb1cfe1ea11a1100cc993366e100bddcfae10222223399ff3bbefdae4bcd6bef10abcf0bc1810c0c07070cf0f39e495f39e4950cc13a37fc'
    ));
end
$$;
comment on function private.hexadecimal_text(text) is
'The letters and digits of a reference, each that looks like a hexadecimal digit replaced by that digit: only to find hashes.';

create function private.hashes_in(p_reference text) returns text[]
language plpgsql immutable strict parallel safe set search_path = '' as $$
declare
    v_text text := private.hexadecimal_text(p_reference);
    v_digits text := pg_catalog.regexp_replace(v_text, '[^0-9a-f]', '', 'g');
    v_run text;
    v_hashes text[] := '{}'::text[];
begin
    -- A transaction hash is 64 hexadecimal digits. In a longer run it may begin anywhere: words before and after it may
    -- end and begin with such digits too, like TXID. Where a text is little else, what stands between them is left out too.
    foreach v_run in array pg_catalog.regexp_split_to_array(v_text, '[^0-9a-f]+')
        || case when pg_catalog.length(v_digits) * 4 >= pg_catalog.length(v_text) * 3 then v_digits end
    loop
        for i in 1..coalesce(pg_catalog.length(v_run), 0) - 63 loop
            v_hashes := v_hashes || pg_catalog.substr(v_run, i, 64);
        end loop;
    end loop;
    return array(select h.hash from pg_catalog.unnest(v_hashes) with ordinality as h (hash, place) group by h.hash order by min(h.place));
end
$$;
comment on function private.hashes_in(text) is
'Every 64 consecutive hexadecimal digits of a reference, lower case, with look-alikes as the digits that they look like.';

create function private.is_nearly_a_hash(p_reference text) returns boolean
language plpgsql immutable strict parallel safe set search_path = '' as $$
declare
    v_text text := private.hexadecimal_text(p_reference);
    v_digits integer := pg_catalog.length(pg_catalog.regexp_replace(v_text, '[^0-9a-f]', '', 'g'));
begin
    return pg_catalog.length(v_text) between 60 and 70 and v_digits * 10 >= pg_catalog.length(v_text) * 9
        and private.hashes_in(p_reference) = '{}';
end
$$;
comment on function private.is_nearly_a_hash(text) is
'Whether a reference is a hash with a wrong or missing character: 60 to 70 letters and digits, nine tenths of them hexadecimal, and no 64 in a row.';

create function private.require_plausible_reference(p_reference text) returns void
language plpgsql immutable set search_path = '' as $$
begin
    if private.is_nearly_a_hash(p_reference) then
        perform private.raise_error(
            400, 'invalid_reference', 'This looks like a transaction hash with a wrong or missing character. Copy it again.'
        );
    end if;
end
$$;
comment on function private.require_plausible_reference(text) is 'Raises for what is nearly a hash. Errors: invalid_reference.';

create function private.due_transfer_keys(p_reference text) returns table (key text, kind text)
language plpgsql immutable strict parallel safe rows 1 set search_path = '' as $$
declare
    v_hashes text[] := private.hashes_in(p_reference);
    v_key text;
begin
    if v_hashes <> '{}' then
        return query select h.key, 'hash' from pg_catalog.unnest(v_hashes) as h (key);
        return;
    end if;
    v_key := pg_catalog.left(private.alphanumeric_text(normalize(p_reference, nfkc)), 200);
    return query
    select k.key, k.kind
    from (values (v_key, 'text'), (nullif(pg_catalog.left(private.hexadecimal_text(p_reference), 200), v_key), 'look_alike')) as k (key, kind)
    where k.key <> '';
end
$$;
comment on function private.due_transfer_keys(text) is
'The rows of the register that a reference must have: its hashes, and where there are none its letters and digits, as they are and as what they look like.';

create function private.reference_keys(p_reference text) returns text[]
language plpgsql immutable strict parallel safe set search_path = '' as $$
begin
    return array(select k.key from private.due_transfer_keys(p_reference) as k where k.kind <> 'look_alike');
end
$$;
comment on function private.reference_keys(text) is
'Keys of a reference without what it only looks like: who shares one names the same transfer. Empty when it has no letter and no digit.';

create function private.register_transfer(p_request_id uuid, p_reference text, p_is_payout boolean) returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into private.transfer_keys (request_id, key, kind, is_payout)
    select p_request_id, k.key, k.kind, p_is_payout from private.due_transfer_keys(p_reference) as k
    -- By the runbook, where some are gone.
    on conflict (request_id, key) do nothing;
end
$$;
comment on function private.register_transfer(uuid, text, boolean) is
'Writes the keys of the reference of a deposit, of its rest or of a payout, as far as they are not there.';

create function private.validate_reference(p_reference text) returns text
language plpgsql immutable set search_path = '' as $$
declare
    v_key text := case when pg_catalog.length(p_reference) <= 200 then (private.reference_keys(p_reference))[1] end;
begin
    if v_key is null or not private.is_readable(p_reference) then
        perform private.raise_error(400, 'invalid_reference', 'Enter the transaction hash or reference number of your transfer.');
    end if;
    perform private.require_plausible_reference(p_reference);
    return v_key;
end
$$;
comment on function private.validate_reference(text) is
'The first key of a reference that a member sends, without blanks around it. Errors: invalid_reference.';

create function private.are_near(p_one text, p_other text) returns boolean
language plpgsql immutable strict parallel safe set search_path = '' as $$
declare
    v_run integer := 0;
    v_different integer := 0;
begin
    for i in 1..64 loop
        if pg_catalog.substr(p_one, i, 1) = pg_catalog.substr(p_other, i, 1) then
            v_run := v_run + 1;
            if v_run = 32 then
                return true;
            end if;
        else
            v_run := 0;
            v_different := v_different + 1;
        end if;
    end loop;
    return v_different <= 4;
end
$$;
comment on function private.are_near(text, text) is 'Whether two hashes have 32 digits in a row in common, or differ in four places at most.';

create function private.transfer_matches(p_request_id uuid) returns table (request_id uuid, is_payout boolean, kind text)
language plpgsql stable set plan_cache_mode = 'force_generic_plan' set search_path = '' as $$
begin
    return query
    select f.request_id, f.is_payout, case when bool_or(f.kind = 'hash') then 'hash' when bool_or(f.kind = 'text') then 'text' else 'near' end
    from (
        select
            o.request_id,
            o.is_payout,
            case
                when m.kind = 'hash' and o.kind = 'hash' then 'hash'
                when m.kind = 'look_alike' or o.kind = 'look_alike' then 'near'
                else 'text'
            end as kind
        from private.transfer_keys as m
        inner join private.transfer_keys as o on m.key = o.key and m.request_id <> o.request_id
        where m.request_id = p_request_id
        union all
        select o.request_id, o.is_payout, 'near'
        from private.transfer_keys as m
        cross join lateral (
            select c.request_id, c.is_payout, c.key from private.transfer_keys as c
            where c.kind = 'hash' and pg_catalog.left(c.key, 16) = pg_catalog.left(m.key, 16)
            union all
            select c.request_id, c.is_payout, c.key from private.transfer_keys as c
            where c.kind = 'hash' and pg_catalog.substr(c.key, 17, 16) = pg_catalog.substr(m.key, 17, 16)
            union all
            select c.request_id, c.is_payout, c.key from private.transfer_keys as c
            where c.kind = 'hash' and pg_catalog.substr(c.key, 33, 16) = pg_catalog.substr(m.key, 33, 16)
            union all
            select c.request_id, c.is_payout, c.key from private.transfer_keys as c
            where c.kind = 'hash' and pg_catalog.right(c.key, 16) = pg_catalog.right(m.key, 16)
        ) as o
        where m.request_id = p_request_id and m.kind = 'hash' and o.request_id <> p_request_id and o.key <> m.key
            and private.are_near(m.key, o.key)
    ) as f
    group by f.request_id, f.is_payout;
end
$$;
comment on function private.transfer_matches(uuid) is
'Who else names the transfer of this deposit or payout: by the same hash, the same text, or one that is nearly the same (near).';

-- One rule for the approval and for what is said before it. The money lock makes the other decisions visible.
create function private.transfer_error(p_deposit_id uuid) returns text
language plpgsql volatile set search_path = '' as $$
begin
    if exists (
        select 1
        from private.transfer_keys as m
        inner join private.transfer_keys as o on m.key = o.key and m.request_id <> o.request_id
        inner join public.deposits as d on o.request_id = d.id
        where m.request_id = p_deposit_id and m.kind <> 'look_alike' and o.kind <> 'look_alike' and d.status = 'approved' and d.voided_at is null
    ) then
        return 'This reference was already approved with another deposit.';
    end if;
    if exists (
        select 1
        from private.transfer_keys as m
        inner join private.transfer_keys as o on m.key = o.key
        where m.request_id = p_deposit_id and m.kind = 'hash' and o.kind = 'hash' and o.is_payout
    ) then
        return 'This is the hash of a payout of ours, not of a transfer to us.';
    end if;
    return null;
end
$$;
comment on function private.transfer_error(uuid) is
'Why the transfer of this deposit cannot be credited: it was approved with another deposit, or went out; null when it can.';

create function private.are_keys_wrong(p_request_id uuid, p_reference text, p_is_payout boolean) returns boolean
language plpgsql stable set search_path = '' as $$
begin
    return array(
        select k.key || ' ' || k.kind from private.transfer_keys as k
        where k.request_id = p_request_id and k.is_payout = p_is_payout order by k.key
    ) is distinct from array(
        select d.key || ' ' || d.kind
        from (
            select p_reference as reference
            union all
            select r.reference_number from private.deposit_rests as r
            where r.deposit_id = p_request_id and r.reference_number is not null and not p_is_payout
        ) as n
        cross join lateral private.due_transfer_keys(n.reference) as d
        order by d.key
    );
end
$$;
comment on function private.are_keys_wrong(uuid, text, boolean) is
'Whether the register has other keys of a deposit or a payout than its reference has, of a deposit also those of its rests.';
