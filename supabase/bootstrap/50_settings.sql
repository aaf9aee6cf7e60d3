-- What the product needs of a PostgreSQL whoever configured it; the stack's own has it for every database.

do $$
begin
    -- Compiling a check of the ledger takes seconds that nothing interrupts: a planned switch would wait for it.
    execute format('alter database %I set jit = off', current_database());
    -- A member's data never reaches the log through a statement's parameters or an error's detail.
    execute format('alter database %I set log_parameter_max_length = 0', current_database());
    execute format('alter database %I set log_parameter_max_length_on_error = 0', current_database());
    execute format('alter database %I set log_error_verbosity = terse', current_database());
end
$$;
