-- Reserved usernames are also refused with digits or beside other words; settings of one line hold no line break.

SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.check_setting (
  p_key   text,
  p_value jsonb
)
  RETURNS void
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
    v_row private.settings;
    v_size bigint;
    v_ok boolean;
begin
    select * into v_row from private.settings as s where s.key = p_key;
    if not found then
        perform private.raise_error(404, 'not_found', 'There is no such setting.');
    end if;
    v_ok := p_value is not null and case v_row.kind
        when 'text' then pg_catalog.jsonb_typeof(p_value) in ('string', 'null')
        when 'time' then pg_catalog.jsonb_typeof(p_value) in ('string', 'null')
        when 'integer' then pg_catalog.jsonb_typeof(p_value) = 'number' and p_value #>> '{}' ~ '\A-?[0-9]{1,15}\Z'
        when 'boolean' then pg_catalog.jsonb_typeof(p_value) = 'boolean'
        when 'list' then pg_catalog.jsonb_typeof(p_value) = 'array'
    end;
    if not v_ok then
        perform private.raise_error(400, 'invalid_setting', pg_catalog.format('%s must be of type %s.', p_key, v_row.kind));
    end if;
    v_size := case
        when pg_catalog.jsonb_typeof(p_value) = 'null' then null
        when v_row.kind = 'integer' then (p_value #>> '{}')::bigint
        when v_row.kind = 'text' then pg_catalog.length(p_value #>> '{}')
        when v_row.kind = 'list' then pg_catalog.jsonb_array_length(p_value)
    end;
    if v_size < v_row.minimum or v_size > v_row.maximum then
        perform private.raise_error(400, 'invalid_setting', pg_catalog.format('%s must be from %s to %s.', p_key, v_row.minimum, v_row.maximum));
    end if;
    if p_key = 'deposit.address' and not private.is_trc20_address(p_value #>> '{}') then
        perform private.raise_error(400, 'invalid_setting', 'This is not a TRC20 address. Check it character by character.');
    end if;
    -- A line break in a name would begin another header of a mail, or another line of a log.
    if v_row.kind = 'text' and p_key not in ('terms.text', 'risk.text', 'operator.address') and p_value #>> '{}' ~ '[\u0001-\u001f\u007f-\u009f\u2028\u2029]' then
        perform private.raise_error(400, 'invalid_setting', pg_catalog.format('%s must be one line.', p_key));
    end if;
    -- Shown as links: nothing that could close an attribute or begin another scheme, and one place for the hash.
    if p_key = 'support.url' and not p_value #>> '{}' ~ '\A(https://[a-zA-Z0-9.-]+(:[0-9]+)?(/[^\s"''<>{}\\]*)?)?\Z' then
        perform private.raise_error(400, 'invalid_setting', 'Enter an https address.');
    end if;
    if p_key = 'explorer.url' and not p_value #>> '{}' ~ '\Ahttps://[a-zA-Z0-9.-]+(:[0-9]+)?/[^\s"''<>{}\\]*\{hash\}[^\s"''<>{}\\]*\Z' then
        perform private.raise_error(400, 'invalid_setting', 'Enter an https address with {hash} in place of the transaction hash.');
    end if;
    -- Where the address leads is looked at by the worker, whenever it sends.
    if p_key = 'alarm.webhook_url' and not (
        p_value #>> '{}' ~ '\Ahttps://[a-zA-Z0-9.-]+(:[0-9]{1,5})?(/\S*)?\Z'
        or private.is_demo() and p_value #>> '{}' ~ '\Ahttp://(127\.0\.0\.1|localhost)(:[0-9]{1,5})?(/\S*)?\Z'
    ) then
        perform private.raise_error(400, 'invalid_setting', 'Enter an https address. In demo mode http on this machine is taken too.');
    end if;
end
$function$;

CREATE OR REPLACE FUNCTION private.username_error (
  p_username text
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
    select case
        when p_username is null or p_username = '' then 'Please fill in all required fields'
        when p_username !~ '\A[A-Za-z0-9_]{3,30}\Z'
            then 'A username has 3 to 30 characters: letters, digits and underscores only.'
        when pg_catalog.lower(p_username) ~ '\A(closed_.*|_+)\Z'
            or pg_catalog.regexp_replace(pg_catalog.lower(p_username), '[0-9]', '', 'g')
            ~ '(\A|_)(admin(istrator)?s?|root|support|help|staff|team|moderator|operator|owner|system|security|official|finance|billing|payments?|service|company|null|undefined|anonymous|unknown|me|api|harborline)(_|\Z)'
            then 'This username is reserved. Please choose a different username.'
    end
$function$;
