#!/bin/sh
# What doctor says of a cluster where something is not as a night needs it, one thing after the other, and that what it
# advises mends it.
#
#   doctor.sh PROGRAM CONFIGURATION FOLDER
set -eu
program=$1 configuration=$2 folder=$3
psql="$(scripts/postgresql-bin)/psql"
sql() { PGOPTIONS='-c client_min_messages=warning' "$psql" -X -q -A -t -U postgres -d iap -v ON_ERROR_STOP=1 -o /dev/null "$@"; }
at_worker() { PGPORT=$((PGPORT + 1)) sql "$@"; }
fail() {
    echo "doctor: $1" >&2
    exit 1
}
# Sets something on a server, or resets it, for all that begins from then on: `altered sql|at_worker "SET …"`.
altered() {
    "$1" -c "ALTER SYSTEM $2" -c "SELECT pg_reload_conf()"
    sleep 0.5
}
# What is wrong with the cluster, without where.
findings() {
    "$program" doctor --config "$configuration" --json >"$folder/doctor.json" || true
    python3 - "$folder/doctor.json" <<'END'
import json, sys
for finding in json.load(open(sys.argv[1])):
    if finding["name"].startswith(("cluster", "worker")) and finding["verdict"] != "fine":
        print(finding["verdict"], finding["text"])
END
}
says() {
    findings >"$folder/findings"
    grep -q -- "$1" "$folder/findings" || { cat "$folder/findings" >&2; fail "it does not say: $1"; }
}
content() {
    findings >"$folder/findings"
    [ ! -s "$folder/findings" ] || { cat "$folder/findings" >&2; fail "$1"; }
}

content "a cluster on which nothing is wrong"

shard=$(sql -o /dev/stdout -c "SELECT shard_name(logicalrelid, shardid) FROM pg_dist_shard JOIN pg_dist_shard_placement USING (shardid)
    WHERE logicalrelid = 'iap.receipts'::regclass AND nodeport = $((PGPORT + 1)) ORDER BY shardid LIMIT 1")
at_worker -c "SET citus.enable_ddl_propagation TO off" -c "REVOKE INSERT ON $shard FROM iap_job"
says '^wrong the role lacks rights on shards of iap.receipts'
at_worker -c "SET citus.enable_ddl_propagation TO off" -c "ALTER ROLE iap_job IN DATABASE iap RESET lock_timeout"
says '^wrong the role waits for a lock for ever there'
sql -f sql/roles.sql -f sql/citus.sql
content "citus.sql did not mend the rights on shards"

# A shard that is moved is made anew, and everyone reads and writes it as before.
sql -c "SELECT citus_move_shard_placement(shardid, nodename, nodeport, nodename, $((PGPORT + 2)), 'block_writes')
    FROM pg_dist_shard JOIN pg_dist_shard_placement USING (shardid)
    WHERE logicalrelid = 'iap.receipts'::regclass AND nodeport = $((PGPORT + 1)) ORDER BY shardid LIMIT 1"
content "a shard was moved"
for reads in 'iap_support SELECT count(device) FROM iap.receipts' 'iap_import SELECT count(seal) FROM iap.receipts' \
    'iap_import UPDATE iap.receipts SET device = device'; do
    sql -U "${reads%% *}" -c "${reads#* }" || fail "where a shard was moved, refused: $reads"
done
! sql -U iap_support -c "SELECT payload FROM iap.receipts" 2>/dev/null ||
    fail "where a shard was moved, support reads payloads"
sql -f sql/citus.sql

sql -c "CREATE TABLE iap.sales_distributed AS SELECT 1 AS bucket" \
    -c "SELECT create_distributed_table('iap.sales_distributed', 'bucket')"
says '^wrong iap.sales_distributed is distributed, and a night wants it on the coordinator'
sql -c "DROP TABLE iap.sales_distributed"
sql -c "CREATE TABLE audit.links_distributed AS SELECT 1 AS position" \
    -c "SELECT create_distributed_table('audit.links_distributed', 'position')"
says '^wrong audit.links_distributed is distributed, and a night wants it on the coordinator'
sql -c "DROP TABLE audit.links_distributed"

sql -c "SELECT create_distributed_function('iap.store_upload(smallint, bigint, text, text, text, bytea, integer, text, text,
    jsonb, timestamptz)', 'bucket', colocate_with => 'iap.receipts', force_delegation => false)"
says '^warning an upload is sent to its worker statement by statement'
sql -f sql/citus.sql
content "citus.sql did not have uploads written where they lie"

altered sql "SET citus.recover_2pc_interval = -1"
says '^warning what a crash leaves prepared is ended by nobody'
altered sql "RESET citus.recover_2pc_interval"
content "it recovers again"

altered at_worker "SET synchronous_commit = off"
says '^warning acknowledges commits before they are on its disk'
altered at_worker "RESET synchronous_commit"
content "it waits for its disk again"

# That a worker's host is gone Linux says after two hours.
altered sql "SET citus.node_conninfo = 'sslmode=disable'"
sql -f sql/citus.sql 2>"$folder/said"
grep -q 'gone from the network is noticed after two hours' "$folder/said" || fail "citus.sql does not warn of a host that is gone"
altered sql "RESET citus.node_conninfo"
sql -f sql/citus.sql 2>"$folder/said"
[ ! -s "$folder/said" ] || { cat "$folder/said" >&2; fail "citus.sql warns where nothing is wrong"; }

scripts/citus-cluster halt "$PGHOST" 1
says '^wrong the coordinator does not reach it'
scripts/citus-cluster up "$PGHOST" 1
content "the worker is back"
