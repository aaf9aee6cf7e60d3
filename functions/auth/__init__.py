"""Sign-in: GoTrue's wire and schema, so that stock Supabase clients and a real GoTrue fit unchanged."""
