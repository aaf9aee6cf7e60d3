-- Coverage of each day of the story, as a worker that was away computes it: from the times of all rows, a month at a
-- time. Run after demo.sql; days that are there stay as they are.
do $$
begin
    while jobs.snapshot_coverage() > 0 loop
    end loop;
end
$$;
