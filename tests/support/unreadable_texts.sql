-- Texts that are not what they look like, for the fields that people read: included by the tests of the nouns that have
-- such a field, after actors.sql.

-- What is not seen, or turns the direction: refused everywhere.
create table actors.hidden as
select n as name, 'a' || chr(code) || 'b' as text from (values
    ('a tab', 9), ('a line''s end', 10), ('escape', 27), ('delete', 127), ('a control character of C1', 133), ('a soft hyphen', 173),
    ('the Arabic mark', 1564), ('zero width space', 8203), ('the mark to the right', 8206), ('the mark to the left', 8207),
    ('the separator of lines', 8232), ('the separator of paragraphs', 8233), ('embedding to the right', 8234), ('override to the left', 8238),
    ('the word joiner', 8288), ('invisible plus', 8292), ('isolate to the left', 8295), ('the end of an isolate', 8297), ('the byte order mark', 65279)
) as v (n, code);
-- Joiners belong to names, and to nothing that is compared.
create table actors.joiners as select 'a' || chr(code) || 'b' as text from (values (8204), (8205)) as v (code);
-- Names that show nothing.
create table actors.blanks as
select string_agg(chr(code::integer), '') as text
from unnest(array['160', '8204 8205', '10240', '12288 32 12288', '12644', '8195 65039', '4447 4448']) as codes, unnest(string_to_array(codes, ' ')) as code
group by codes;
grant select on actors.hidden, actors.joiners, actors.blanks to public;
