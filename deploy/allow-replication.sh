#!/bin/sh
# Runs once in the primary's container: creates a replication-only role and its line in pg_hba.conf ("all" excludes it).
set -eu
psql -v ON_ERROR_STOP=1 -v password="$REPLICATION_PASSWORD" -U "$POSTGRES_USER" -d postgres <<'SQL'
create role replicator login replication password :'password';
SQL
echo 'host replication replicator samenet scram-sha-256' >>"$PGDATA/pg_hba.conf"
