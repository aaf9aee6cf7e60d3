# PostgreSQL with what backs it up and restores it: the containers `database`, `backups` and `restore`.
FROM python:3.11.9-slim-bookworm AS launcher
RUN pip install --no-cache-dir uv==0.13.9
COPY requirements.lock ./
# What these commands of the launcher import, in the versions of the lock, for the other stage's Python: 3.11 too.
RUN printf 'joserfc\npsycopg[binary]\n' \
    | uv pip compile - --constraint requirements.lock --generate-hashes --quiet --output-file run.lock \
    && uv pip install --no-cache --require-hashes --target /packages --requirements run.lock

FROM postgres:15.18-bookworm
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates pgbackrest python3 restic \
    && rm -rf /var/lib/apt/lists/*
COPY --from=launcher /packages /packages
COPY supabase/stack/launcher /app/supabase/stack/launcher
ENV PYTHONPATH=/packages:/app/supabase/stack PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 STATE=/state
# A new volume takes its owner from the folder that it is mounted on.
RUN install -d -o postgres -g postgres -m 0700 \
        /state /state/cluster /state/objects /state/run /state-drill /app/.stack-tools
USER postgres
