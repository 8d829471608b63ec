#!/bin/sh
# What a night on a cluster may meet, one thing a night, by SEED: scripts/world starts it beside the run.
#
#   disturb.sh FOLDER NIGHT
set -eu
folder=$1 night=$2
psql="$(scripts/postgresql-bin)/psql"
sql() { "$psql" -X -q -A -t -h "$folder" -U postgres -v ON_ERROR_STOP=1 "$@"; }
chance=$((${SEED:-1} * 7919 + night * 104729))
worker=$((1 + chance % 2))
sleep "$((chance % 4)).$((chance / 4 % 10))"
said="night $night:"
case $(((${SEED:-1} + night) % 6)) in
0)
    echo "$said worker $worker crashes" >&2
    scripts/citus-cluster crash "$folder" "$worker"
    ;;
1)
    echo "$said worker $worker stays away for five seconds" >&2
    scripts/citus-cluster halt "$folder" "$worker"
    sleep 5
    scripts/citus-cluster up "$folder" "$worker"
    ;;
2)
    echo "$said the coordinator crashes" >&2
    scripts/citus-cluster crash "$folder" 0
    ;;
3)
    # As a coordinator leaves it that dies between the two halves of a commit and never said that it commits.
    echo "$said a prepared transaction is left on worker $worker, with locks" >&2
    shard=$(sql -d iap -c "SELECT shard_name(logicalrelid, shardid) FROM pg_dist_shard JOIN pg_dist_shard_placement USING (shardid)
        WHERE logicalrelid = 'iap.receipts'::regclass AND nodeport = $((PGPORT + worker)) ORDER BY shardid LIMIT 1")
    PGPORT=$((PGPORT + worker)) sql -d iap -o /dev/null -c "BEGIN" -c "SELECT FROM $shard FOR UPDATE" \
        -c "PREPARE TRANSACTION 'citus_0_99999_${night}_1'"
    sleep 4
    sql -d iap -o /dev/null -c "SELECT recover_prepared_transactions()"
    [ "$(PGPORT=$((PGPORT + worker)) sql -d iap -c "SELECT count(*) FROM pg_prepared_xacts WHERE gid = 'citus_0_99999_${night}_1'")" = 0 ] ||
        { echo "$said it is still there" >&2; exit 1; }
    ;;
4)
    echo "$said shards of the inbox move to worker $worker" >&2
    sql -d iap -o /dev/null -c "
        SELECT citus_move_shard_placement(shardid, nodename, nodeport, 'localhost', $((PGPORT + worker)), 'block_writes')
        FROM pg_dist_shard JOIN pg_dist_shard_placement USING (shardid)
        WHERE logicalrelid = 'iap.receipts'::regclass AND nodeport = $((PGPORT + 3 - worker)) AND shardid % 4 = 0"
    ;;
5)
    echo "$said sessions on worker $worker are ended" >&2
    for _ in 1 2 3 4 5 6; do
        PGPORT=$((PGPORT + worker)) sql -d iap -o /dev/null -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE usename = 'iap_job' AND pid <> pg_backend_pid()"
        sleep 0.4
    done
    ;;
esac
