-- What everybody may do with the tables of the storage service, where row-level security decides; the product's
-- migrations bring the policies. Runs as their owner, after the service's own migrations.

grant select, insert, update, delete on storage.buckets, storage.objects to anon, authenticated, service_role;
