-- Included at the start of a test's transaction, in a database that pgtap.sql has prepared: everything here ends
-- with its rollback.
set local client_min_messages = warning;
set local search_path = actors, public, extensions;

-- Elin decides about money, Sam answers members, Olga owns the installation. Their results are no test output.
do $$
begin
    perform actors.administrator('elin', 'finance_admin');
    perform actors.administrator('sam', 'support_admin');
    perform actors.administrator('olga', 'super_admin');
end
$$;
