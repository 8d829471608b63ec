#!/bin/sh
# What the commands do while somebody on a worker holds a lock on a shard, of which the coordinator knows nothing: they
# wait for it no longer than on one server, and end with 75.
#
#   locks.sh PROGRAM CONFIGURATION FOLDER
set -eu
program=$1 configuration=$2 folder=$3
psql="$(scripts/postgresql-bin)/psql"
at_worker() { PGPORT=$((PGPORT + 1)) "$psql" -X -q -A -t -U postgres -d iap -v ON_ERROR_STOP=1 "$@"; }
holders="FROM pg_stat_activity WHERE application_name = 'holder'"
let_go() { at_worker -o /dev/null -c "SELECT pg_terminate_backend(pid, 5000) $holders"; }
trap let_go EXIT
fail() {
    echo "locks: $1" >&2
    exit 1
}

shard=$("$psql" -X -q -A -t -U postgres -d iap -c "SELECT shard_name(logicalrelid, shardid)
    FROM pg_dist_shard JOIN pg_dist_shard_placement USING (shardid)
    WHERE logicalrelid = 'iap.receipts'::regclass AND nodeport = $((PGPORT + 1)) ORDER BY shardid LIMIT 1")
PGAPPNAME=holder at_worker -c "SET citus.enable_manual_changes_to_shards TO on" -c "BEGIN" -c "LOCK TABLE $shard" \
    -c "SELECT pg_sleep(300)" >"$folder/holder" 2>&1 &
tries=0
until [ "$(at_worker -c "SELECT count(*) $holders AND wait_event = 'PgSleep'")" = 1 ]; do
    tries=$((tries + 1))
    [ "$tries" -le 100 ] || { cat "$folder/holder" >&2; fail "the shard can't be locked"; }
    sleep 0.1
done

# As the job asks, whose rights are the owner's there.
for asked in "purgeable_buckets('-infinity', '-infinity')" \
    "max(iap.purge_payloads(bucket::smallint, '-infinity', 1)) FROM generate_series(0, 63) AS bucket" \
    "max(iap.purge_devices(bucket::smallint, '-infinity', 1)) FROM generate_series(0, 63) AS bucket" \
    "purge_orders('-infinity', 'infinity', 1)" "count_unpaid_orders('infinity')" "count_purgeable('infinity', 'infinity')"; do
    "$psql" -X -q -U iap_job -d iap -v ON_ERROR_STOP=1 -o /dev/null -c "SET statement_timeout = '10s'" \
        -c "SET lock_timeout = '500ms'" -c "SET search_path = iap, pg_temp" -c "BEGIN" -c "SELECT $asked" 2>"$folder/said" &&
        fail "nothing is locked: $asked"
    grep -q 'canceling statement due to lock timeout' "$folder/said" || { cat "$folder/said" >&2; fail "it waited on: $asked"; }
done
sed 's/^\[database\]/&\nsupport_conninfo = dbname=iap user=iap_support/' "$configuration" >"$folder/locks.conf"
for command in verify "check somebody" purge "purge --dry-run"; do
    code=0
    # shellcheck disable=SC2086
    timeout 60 "$program" $command --config "$folder/locks.conf" >"$folder/said" 2>&1 || code=$?
    [ "$code" -eq 75 ] || { cat "$folder/said" >&2; fail "$command ended with $code, not with 75"; }
    grep -q 'lock timeout' "$folder/said" || { cat "$folder/said" >&2; fail "$command does not say that a lock is in the way"; }
done
