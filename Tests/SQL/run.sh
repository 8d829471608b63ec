#!/bin/bash
# The database's own tests: runs every Tests/SQL/*.sql by pg_prove in a database of its own, in a private cluster that
# is stopped at the end, also when interrupted; and compares the schema after all migrations with Tests/SQL/schema.sql.
#
#   Tests/SQL/run.sh [FILE.sql ...]     all tests, or these
#   Tests/SQL/run.sh --record-schema    writes Tests/SQL/schema.sql anew, to be looked at and committed
#   CITUS=1 Tests/SQL/run.sh            the same on a cluster, over whose servers the inbox is distributed
#
# Ends with 0 when all is well, 1 when a test fails, 69 when something that it needs is missing.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

bin=$("$root/scripts/postgresql-bin") || exit 69
PATH="$bin:$PATH"
for program in psql pg_prove; do
    command -v "$program" >/dev/null && continue
    echo "run.sh: $program is missing: install postgresql and pgtap" >&2
    exit 69
done

cluster=
servers=private-cluster
[ "${CITUS:-0}" = 0 ] || servers=citus-cluster
finish() {
    status=$?
    trap '' INT TERM HUP
    if [ -n "$cluster" ]; then
        "$root/scripts/$servers" stop "$cluster"
        rm -f "$cluster.schema"
    fi
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

cluster=$("$root/scripts/$servers" start)
unset PGPORT PGDATABASE PGSERVICE PGSERVICEFILE PGPASSWORD PGHOSTADDR PGSSLMODE
# Plans that a test forces upon the planner cost so much in its eyes that it compiles them, for seconds each.
export PGHOST=$cluster PGUSER=postgres PGOPTIONS='-c client_min_messages=warning -c timezone=UTC -c jit=off'
# Citus warns of what stays on the coordinator.
[ "$servers" != citus-cluster ] || PGOPTIONS='-c client_min_messages=error -c timezone=UTC -c jit=off'

sql() { psql -X -q -v ON_ERROR_STOP=1 "$@"; }

# Made by plain psql, so that the files are good without the program too.
migrate() {
    local file
    if [ "$servers" = citus-cluster ]; then export PGOPTIONS="$PGOPTIONS -c citus.enable_ddl_propagation=off"; fi
    while read -r file; do sql -1 -d "$1" -f - <"$file"; done \
        < <(find "$root/sql/migrations" -name '*.sql' | LC_ALL=C sort)
}
# Runs roles.sql and citus.sql twice: they must bear that.
set_up() {
    local file
    for _ in 1 2; do
        sql -1 -d "$1" -f - <"$root/sql/roles.sql"
        [ "$servers" != citus-cluster ] || sql -o /dev/null -d "$1" -f - <"$root/sql/citus.sql"
    done
    for file in "$root"/Tests/SQL/setup/*.sql; do
        sql -1 -d "$1" -v citus="$(cat "$root/sql/citus.sql")" -v roles="$(cat "$root/sql/roles.sql")" \
            -v signed="$(cat "$root/Tests/SQL/signed_transactions.json")" -f - <"$file"
    done
}
# A database for one test.
make_database() {
    if [ "$servers" = citus-cluster ]; then
        "$root/scripts/citus-cluster" database "$cluster" "$1"
        (migrate "$1")
        set_up "$1"
    else
        createdb -T iap "$1"
    fi
}

if [ "$servers" = citus-cluster ]; then
    PGPORT=$(cat "$cluster/port")
    export PGPORT
    "$root/scripts/citus-cluster" database "$cluster" iap
else
    createdb -T template0 iap
fi
(migrate iap)
"$root/Tests/SQL/dump-schema.sh" iap >"$cluster.schema"
set_up iap

if [ "${1:-}" = --record-schema ]; then
    mv "$cluster.schema" "$root/Tests/SQL/schema.sql"
    # What iap-reconcile migrate writes beside each: the parts of a folder are joined by an empty line.
    for migration in "$root"/sql/migrations/*; do
        name=$(basename "$migration" .sql)
        number=$((10#${name%%_*}))
        if [ -d "$migration" ]; then parts=("$migration"/*.sql); else parts=("$migration"); fi
        sum=$(for part in "${parts[@]}"; do [ "$part" = "${parts[0]}" ] || echo; cat "$part"; done | sha256sum | cut -d ' ' -f 1)
        echo "$number ${name#*_} $sum"
    done >"$root/Tests/SQL/migrations.sha256"
    echo "Tests/SQL/schema.sql and migrations.sha256 are written: look at it with git diff, and commit it."
    exit 0
fi

failed=()
major=$(sql -A -t -d iap -c "SELECT current_setting('server_version_num')::integer / 10000")
if [ "$major" -ne 15 ]; then
    echo "Tests/SQL/schema.sql is PostgreSQL 15's word: not compared on PostgreSQL $major."
elif ! diff -u "$root/Tests/SQL/schema.sql" "$cluster.schema"; then
    echo "The schema differs from Tests/SQL/schema.sql: look, then run Tests/SQL/run.sh --record-schema." >&2
    failed+=(schema.sql)
fi
if [ $# -eq 0 ]; then
    for file in "$root"/Tests/SQL/*.sql; do
        [ "${file##*/}" = schema.sql ] || set -- "$@" "$file"
    done
fi
number=0
for file in "$@"; do
    number=$((number + 1))
    make_database "test_$number"
    name=$(basename "$file")
    if output=$(pg_prove -v -d "test_$number" "$file" 2>&1); then
        echo "$name: $(grep -c '^ok [0-9]' <<<"$output") passed"
    else
        echo "$name:" >&2
        grep -v '^ok [0-9]' <<<"$output" >&2
        failed+=("$name")
    fi
done

if [ ${#failed[@]} -gt 0 ]; then
    echo "SQL: ${#failed[@]} of $((number + 1)) failed: ${failed[*]}" >&2
    exit 1
fi
echo "SQL: the schema and $number test files passed."
