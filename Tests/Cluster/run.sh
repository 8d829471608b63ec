#!/bin/sh
# The job on a cluster, beside the same on plain PostgreSQL: a world of customers through some nights, then every command,
# function and view, row by row and word by word; the same nights disturbed; a database that moves to the cluster; and the
# database's own tests. Wants a PostgreSQL with Citus, or the archive of one beside the clone (../shared/citus, or what
# IAP_CITUS names), which root may unpack.
#
#   SEED=3 CUSTOMERS=300 NIGHTS=6 Tests/Cluster/run.sh    the whole of it
#   SHORT=1 Tests/Cluster/run.sh                          a small world, once each; where there is no Citus it says so
#   SEED=1 POINTS=20 Tests/Cluster/run.sh                 each fault at so many points, and nothing else
set -eu
cd "$(dirname "$0")/../.."
short=${SHORT:-0}
seed=${SEED:-3}
customers=${CUSTOMERS:-300}
nights=${NIGHTS:-6}
[ "${POINTS:-0}" = 0 ] || customers=${CUSTOMERS:-100}
[ "$short" = 0 ] || { customers=${CUSTOMERS:-40} nights=${NIGHTS:-3}; }
# The batches of many customers are taken by several connections in the order in which these are free. What is found is
# the same; how often a purchase was seen, when Apple was asked of it again, and the numbers of the receipts that Apple's
# answers give are not, on plain PostgreSQL either.
[ "$customers" -lt 300 ] || export CONNECTIONS=1

# Of those versions that Debian brings the newest may have none: the one that Citus was built for does.
[ -n "${IAP_POSTGRESQL:-}" ] || ! [ -x /usr/lib/postgresql/15/bin/postgres ] || IAP_POSTGRESQL=15
export IAP_POSTGRESQL
kept=$(mktemp -d "${TMPDIR:-/tmp}/iap-cluster-test.XXXXXX")
cluster=""
finish() {
    status=$?
    trap '' INT TERM HUP
    [ -z "$cluster" ] || scripts/citus-cluster stop "$cluster"
    [ "$status" -ne 0 ] || rm -rf "$kept"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
fail() {
    echo "Cluster: $1" >&2
    exit 1
}

archive=${IAP_CITUS:-../shared/citus}
if ! cluster=$(scripts/citus-cluster start 2>"$kept/why"); then
    cluster=""
    if [ "$(id -u)" -eq 0 ] && [ -x "$archive/cluster.sh" ]; then
        "$archive/cluster.sh" install
        cluster=$(scripts/citus-cluster start 2>"$kept/why") || cluster=""
    fi
fi
if [ -z "$cluster" ]; then
    echo "Cluster: skipped. $(head -n 1 "$kept/why") $(grep -m 1 -o 'FATAL:.*' "$kept/why" || true)"
    [ "$short" != 0 ] || exit 69
    exit 0
fi
scripts/citus-cluster stop "$cluster"
cluster=""

# A world's nights, into a folder of what they left.
play() {
    folder=$1
    shift
    env "$@" FAULTS=0 SEED="$seed" CUSTOMERS="$customers" NIGHTS="$nights" KEPT="$kept/$folder" scripts/world \
        >"$kept/$folder.log" 2>&1 || { cat "$kept/$folder.log" >&2; fail "the world of $folder did not hold"; }
    tail -n 1 "$kept/$folder.log"
}
# What is the ledger's, without the numbers that runs and receipts of nobody's are given in turn, and without what only the
# App Store Server API tells of a delivery: Apple is asked about those that no receipt has proved by then. A night that is
# done again is one more night for that: it finds delivered what it had entered the first time, and watches that receipt no
# longer; and it asks about the customers whom it had noted. So when Apple was asked of a receipt last, which later purchases
# it named in answer, whether one in which nothing is owed is settled yet, and what Apple answered to a question are the
# nights' and not the ledger's.
ledger() {
    tables='receipts|uploads|white|black|excluded|cases|sightings|claims|orders|notices|entitlements|delivered_originals'
    sed -n '/^iap.notices .*"heard_by": "question"/s/.*\("receipt_id": [0-9]*,\).*/\1/p' "$kept/$1/rows" >"$kept/$1/answers"
    rows=$kept/$1/rows
    awk -f Tests/Cluster/settled.awk pass=1 "$rows" pass=2 "$rows" pass=3 "$rows" |
        grep -E "^iap\.($tables) " | grep -v -F -f "$kept/$1/answers" |
        sed -E '/^iap.sightings .*"in_receipt": false/d
        s/"[a-z_]*run_id": [0-9a-z]+/RUN/g
        s/"closed_by": "run [0-9]+"/RUN/
        s/"([a-z_]*receipt_id)": [0-9]+/"\1": N/g
        /^iap.receipts/ s/"(verified_at|last_attempt_at|next_attempt_at)": ("[^"]*"|null)/ASKED/g
        /^iap.black/ s/"(source|price_milliunits|currency|storefront|booked_as)": ("[^"]*"|[0-9a-z]+)/TERMS/g' | LC_ALL=C sort >"$kept/$1/ledger"
}
same() {
    diff -r "$kept/$1" "$kept/$2" >"$kept/differences" || { cut -c 1-400 "$kept/differences" | head -n 20 >&2; fail "$3"; }
}

# Six nights meet all six, at moments that the seed gives.
if [ "${POINTS:-0}" -gt 0 ]; then
    point=1
    while [ "$point" -le "$POINTS" ]; do
        echo "Cluster: point $point of $POINTS, seed $seed"
        play plain CITUS=0 ROWS=only
        play disturbed CITUS=1 ROWS=only DISTURB=Tests/Cluster/disturb.sh
        grep -h '^night [0-9]*:' "$kept/disturbed.log" || fail "nothing was disturbed"
        ledger plain
        ledger disturbed
        same plain/ledger disturbed/ledger "the disturbed nights left another ledger"
        rm -rf "$kept/plain" "$kept/disturbed"
        seed=$((seed + 1)) point=$((point + 1))
    done
    echo "Cluster: each fault at $POINTS points left what undisturbed nights leave"
    exit 0
fi

echo "Cluster: seed $seed, $customers customers, $nights nights, on plain PostgreSQL and on a cluster"
play plain CITUS=0
play cluster CITUS=1
for folder in plain cluster; do
    ledger "$folder"
    mkdir "$kept/$folder/compared"
    mv "$kept/$folder/said" "$kept/$folder/rows" "$kept/$folder/rows afterwards" "$kept/$folder/compared"
done
same plain/compared cluster/compared "what the cluster says is another thing than what plain PostgreSQL says"
storms=$(find "$kept/plain/compared/said" -name '*claims at*' -exec grep -l '^1$' {} + | wc -l)
[ "$storms" -eq 6 ] || fail "of six storms of claims $storms ended with one delivery"
echo "Cluster: $(find "$kept/plain/compared/said" -type f | wc -l) answers and $(wc -l <"$kept/plain/compared/rows") rows are the same"

# What becomes of a batch's receipts is committed with the ledger, in two phases, though one worker alone writes it: a
# coordinator that crashes after the worker's commit would lose what was in them. So are receipts that come of what is heard.
awk '
    match($0, /\[[0-9]+\]/) { session = substr($0, RSTART, RLENGTH) }
    /issuing .*UPDATE iap\.receipts_[0-9]+ .*SET state = / { settling[session] = 1; batches++ }
    /issuing .*INSERT INTO iap\.receipts_[0-9]+ .*VALUES/ { settling[session] = 1; batches++ }
    /issuing PREPARE TRANSACTION/ { prepared += settling[session]; settling[session] = 0 }
    /issuing COMMIT *$/ && settling[session] { print; unprepared++ }
    END { print batches + 0 " writes of receipts, " prepared + 0 " transactions prepared"; exit unprepared > 0 || prepared == 0 }
' "$kept/cluster/coordinator.log" >"$kept/phases" || { tail -n 3 "$kept/phases" >&2; fail "receipts are settled in one phase"; }
echo "Cluster: $(tail -n 1 "$kept/phases")"

# Each of the faults once, beginning at the seed's.
play disturbed CITUS=1 DISTURB=Tests/Cluster/disturb.sh
grep -h '^night [0-9]*:' "$kept/disturbed.log" || fail "nothing was disturbed"
ledger disturbed
same plain/ledger disturbed/ledger "the disturbed nights left another ledger"
echo "Cluster: the disturbed nights left the same $(wc -l <"$kept/plain/ledger") rows"

# A database that outgrew its server (docs/scale.md).
bin=$(scripts/postgresql-bin)
cluster=$(scripts/citus-cluster start)
scripts/citus-cluster database "$cluster" iap
PGHOST=$cluster PGUSER=postgres PGPORT=$(cat "$cluster/port")
export PGHOST PGUSER PGPORT
PGOPTIONS='-c citus.enable_ddl_propagation=off' "$bin/pg_restore" --no-privileges -d iap "$kept/plain/dump"
"$bin/psql" -X -q -d iap -v ON_ERROR_STOP=1 -f sql/roles.sql -f sql/citus.sql -o /dev/null 2>"$kept/restored.log" ||
    { cat "$kept/restored.log" >&2; fail "the restored database can't be distributed"; }
mkdir "$kept/restored"
"$bin/psql" -X -q -A -t -d iap -v ON_ERROR_STOP=1 -f Tests/Cluster/content.sql >"$kept/restored/rows"
mkdir "$kept/dumped"
cp "$kept/plain/rows when dumped" "$kept/dumped/rows"
same dumped restored "the database that moved to a cluster holds another thing"
printf '[database]\nconninfo = dbname=iap user=iap_job\n[report]\ndirectory = %s\n' "$kept" >"$kept/iap-reconcile.conf"
.build/"${CONFIGURATION:-release}"/iap-reconcile verify --config "$kept/iap-reconcile.conf" --quiet >"$kept/verified" ||
    { cat "$kept/verified" >&2; fail "the database that moved to a cluster does not hold together"; }
echo "Cluster: a database that moved to it holds the same $(wc -l <"$kept/restored/rows") rows, and verify is content"
# What a cluster dumps is restored on a cluster in the same way.
"$bin/pg_dump" -Fc -f "$kept/dump of a cluster" iap
scripts/citus-cluster database "$cluster" again
PGOPTIONS='-c citus.enable_ddl_propagation=off' "$bin/pg_restore" --no-privileges -d again "$kept/dump of a cluster"
"$bin/psql" -X -q -d again -v ON_ERROR_STOP=1 -f sql/roles.sql -o /dev/null 2>"$kept/restored.log" ||
    { cat "$kept/restored.log" >&2; fail "what a cluster dumped takes no roles"; }
sed 's/dbname=iap/dbname=again/' "$kept/iap-reconcile.conf" >"$kept/again.conf"
.build/"${CONFIGURATION:-release}"/iap-reconcile doctor --config "$kept/again.conf" >"$kept/again.doctor" || true
grep -q 'the inbox lies on the coordinator alone' "$kept/again.doctor" ||
    { cat "$kept/again.doctor" >&2; fail "doctor does not say that citus.sql did not run"; }
"$bin/psql" -X -q -d again -v ON_ERROR_STOP=1 -f sql/citus.sql -o /dev/null 2>"$kept/restored.log" ||
    { cat "$kept/restored.log" >&2; fail "what a cluster dumped can't be distributed again"; }
mkdir "$kept/again"
"$bin/psql" -X -q -A -t -d again -v ON_ERROR_STOP=1 -f Tests/Cluster/content.sql >"$kept/again/rows"
same dumped again "what a cluster dumped holds another thing"
"$bin/psql" -X -q -d iap -U iap_app -v ON_ERROR_STOP=1 -o /dev/null 2>"$kept/upload" \
    -c "SELECT iap.submit_receipt('com.example.game', 'first', 'once', '1')" -c "SET citus.log_remote_commands = on" \
    -c "SELECT iap.submit_receipt('com.example.game', 'second', 'once', '2')"
sent=$(grep 'issuing ' "$kept/upload" | grep -vc -e 'issuing BEGIN' -e 'issuing COMMIT') || true
if [ "$sent" != 1 ] || ! grep -q 'issuing .*iap.store_upload' "$kept/upload"; then
    cut -c 1-200 "$kept/upload" >&2
    fail "an upload is $sent statements to its worker"
fi
Tests/Cluster/doctor.sh ".build/${CONFIGURATION:-release}/iap-reconcile" "$kept/iap-reconcile.conf" "$kept"
echo "Cluster: doctor says what is not as a night needs it"
Tests/Cluster/logins.sh ".build/${CONFIGURATION:-release}/iap-reconcile" "$kept/iap-reconcile.conf" "$kept"
echo "Cluster: doctor and commands say which worker refuses which role"
Tests/Cluster/locks.sh ".build/${CONFIGURATION:-release}/iap-reconcile" "$kept/iap-reconcile.conf" "$kept"
echo "Cluster: a lock on a worker is waited for no longer than on one server"
scripts/citus-cluster stop "$cluster"
cluster=""
unset PGHOST PGUSER PGPORT

[ "$short" != 0 ] || CITUS=1 Tests/SQL/run.sh
