-- What a worker that was away computes and publishes of the story. Run after demo.sql.
-- Coverage of each day, from the times of all rows; days that are there stay as they are.
do $$
begin
    while jobs.snapshot_coverage() > 0 loop
    end loop;
end
$$;
-- The income disclosure: the worker may have published one while nobody was there.
select private.publish_disclosure();
