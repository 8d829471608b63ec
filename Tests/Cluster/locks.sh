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

# What works with the owner's rights, whom the worker lets wait for ever.
bucket=$("$psql" -X -q -A -t -U postgres -d iap -c "SELECT bucket FROM generate_series(0, 63) AS bucket
    WHERE shard_name('iap.receipts', get_shard_id_for_distribution_column('iap.receipts', bucket::smallint)) = '$shard' LIMIT 1")
white=$("$psql" -X -q -A -t -U postgres -d iap -c "SELECT transaction_id FROM iap.white LIMIT 1")
while read -r role asked; do
    "$psql" -X -q -U "$role" -d iap -v ON_ERROR_STOP=1 -o /dev/null -c "SET statement_timeout = '10s'" \
        -c "SET lock_timeout = '500ms'" -c "BEGIN" -c "SELECT $asked" </dev/null 2>"$folder/said" &&
        fail "nothing is locked: $asked"
    grep -q 'canceling statement due to lock timeout' "$folder/said" || { cat "$folder/said" >&2; fail "it waited on: $asked"; }
done <<END
iap_job iap.purgeable_buckets('-infinity', '-infinity')
iap_job max(iap.purge_payloads(bucket::smallint, '-infinity', 1)) FROM generate_series(0, 63) AS bucket
iap_job max(iap.purge_devices(bucket::smallint, '-infinity', 1)) FROM generate_series(0, 63) AS bucket
iap_job iap.purge_orders('-infinity', 'infinity', 1)
iap_job iap.count_unpaid_orders('infinity')
iap_job iap.count_purgeable('infinity', 'infinity')
iap_app count(iap.submit_receipt('com.example.game', 'somebody', 'no. ' || i)) FROM generate_series(1, 500) AS i
iap_app iap.admit('com.example.game', 'Production', '77', '77', 'gems', 1, '2026-10-01Z', 'somebody', $bucket)
iap_app * FROM iap.owed('com.example.game', 'somebody')
iap_app * FROM iap.status('com.example.game', '78')
iap_support iap.resolve('$white', 'delivered', 'sue', 'by hand', user_id => 'a stranger')
iap_privacy iap.erase_user('somebody', 'sue')
iap_finance count(*) FROM finance.unpaid_orders
END
sed 's/^\[database\]/&\nsupport_conninfo = dbname=iap user=iap_support/' "$configuration" >"$folder/locks.conf"
for command in verify "check somebody" purge "purge --dry-run"; do
    code=0
    # shellcheck disable=SC2086
    timeout 60 "$program" $command --config "$folder/locks.conf" >"$folder/said" 2>&1 || code=$?
    [ "$code" -eq 75 ] || { cat "$folder/said" >&2; fail "$command ended with $code, not with 75"; }
    grep -q "lock timeout (on the worker localhost:$((PGPORT + 1)))" "$folder/said" ||
        { cat "$folder/said" >&2; fail "$command does not say where a lock is in the way"; }
done
