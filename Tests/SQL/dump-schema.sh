#!/bin/sh
# Writes the schemas of a database to standard output, as Tests/SQL/schema.sql holds them: without owners, and without what
# differs between versions of pg_dump.
#
#   PGHOST=... dump-schema.sh DATABASE
set -eu
echo "-- The schema after all migrations, as pg_dump shows it. Made by Tests/SQL/run.sh --record-schema."
pg_dump --schema-only --no-owner -n iap -n finance -n audit "$1" |
    sed -e '/^--/d' -e '/^SET /d' -e '/^SELECT pg_catalog.set_config/d' -e '/^\\/d' | cat -s
