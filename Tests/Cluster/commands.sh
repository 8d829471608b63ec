#!/bin/sh
# What each command and function says of a world's last night, into files of a folder, to be compared: one run of the world
# took place on plain PostgreSQL, the other on a cluster.
#
#   commands.sh PROGRAM WORLD HOST NOW FOLDER
#
# With ROWS=only the rows of tables and views are all.
set -eu
program=$1 world=$2 host=$3 now=$4 folder=$5
psql="$(scripts/postgresql-bin)/psql"
{
    sed "s|^\[database]|&\nsupport_conninfo = host=$host user=iap_support dbname=iap\nprivacy_conninfo = host=$host user=iap_privacy dbname=iap|" \
        "$world/iap-reconcile.conf"
    printf '\n[retention]\npayloads = 1d\ndevices = 1d\norders = 90d\n'
} >"$world/commands.conf"

# The clock on the wall and what is drawn by lot have no part in it, nor has where the database is reached.
number=0
said() {
    number=$((number + 1))
    name=$(printf '%02d %s' "$number" "$(echo "$1" | tr -c 'a-z0-9_.-' ' ' | tr -s ' ' | cut -c 1-60)")
    shift
    { "$@" || echo "ended with $?"; } 2>&1 | lasting >"$folder/said/$name"
}
today=$(date -u +%Y-%m-%d)
# The end of the chain, which holds when things happened.
trail='[0-9a-f]{64}'
lasting() {
    sed -E -e "s/${today}[T ][0-9:.]+(Z|\+00(:00)?)?/NOW/g; s/$today/TODAY/g" -e 's/[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]+/NOW/g' \
        -e 's/erased-[0-9a-f]{16}/erased-SOMEBODY/g' -e "s|$host|HOST|g" -e 's/[0-9.]+ (s|ms)\b/TIME/g' \
        -e 's/"(seconds|started_at|finished_at)" ?: ?[^,}]*//g' -e "s/($trail)/TRAIL/g" \
        -e 's/\{"details":\[\],"name":"cluster","text":"Citus [^"]*","verdict":"fine"\},//'
}
# The rows of all tables and views, with the hashes of what was handed in.
keep() {
    "$psql" -X -q -A -t -h "$host" -U postgres -d iap -v ON_ERROR_STOP=1 -f Tests/Cluster/content.sql | trail=nothing lasting >"$folder/$1"
}
job() {
    command=$*
    said "$command" "$program" "$@" --config "$world/commands.conf" --quiet
}
# A statement as a role.
sql() { said "$1 $2" "$psql" -X -q -A -t -h "$host" -U "$1" -d iap -v ON_ERROR_STOP=1 -c "$2"; }
# One value that the table holds, as the owner.
value() { "$psql" -X -q -A -t -h "$host" -U postgres -d iap -c "$1 LIMIT 1"; }

mkdir -p "$folder/said"
for report in "$folder"/night-*.json; do said "$(basename "$report")" cat "$report"; done
keep rows
[ "${ROWS:-all}" != only ] || exit 0
case=$(value "SELECT transaction_id FROM iap.cases WHERE state = 'open' AND cardinality(owner_user_ids) = 1 ORDER BY 1")
other=$(value "SELECT transaction_id FROM iap.cases WHERE state = 'open' AND transaction_id <> '$case' ORDER BY 1")
owner=$(value "SELECT owner_user_ids[1] FROM iap.cases WHERE state = 'open' AND transaction_id = '$case'")
app=$(value "SELECT bundle_id FROM iap.cases WHERE transaction_id = '$case'")
order=$(value "SELECT order_id FROM iap.orders JOIN iap.uploads USING (order_id) ORDER BY 1")
receipt=$(value "SELECT receipt_id FROM iap.receipts WHERE bundle_id = '$app' ORDER BY 1")
white=$(value "SELECT transaction_id FROM iap.white WHERE bundle_id = '$app' AND transaction_id NOT IN ('$case', '$other')
    AND product_type = 'consumable' ORDER BY 1")
user=$(value "SELECT user_id FROM iap.receipts WHERE user_id IS NOT NULL AND state = 'settled' ORDER BY receipt_id")

for id in "$case" "$order" "$owner" "$user" nobody; do job check "$id" --json; done
job history --json --days 400
job diff 1 2 --json
job verify --json
job products --suggest
job statement 2026-10 --as-of 2026-10-02 --format json
job report --report-dir "$world/again"
said "report.json" cat "$world/again/latest/report.json"
job run --dry-run --now "$now" --replay --report-dir "$world/dry"
said "dry run's report" sh -c "cat $world/dry/*/report.json"
job doctor --json

# The app's server.
sql iap_app "SELECT iap.submit_receipt('$app', 'somebody', 'a receipt', '77', 'order-77', '{\"os\": \"iOS 18\"}') & 63"
sql iap_app "SELECT iap.submit_receipt('$app', 'somebody', 'a receipt', '78') & 63"
sql iap_app "SELECT iap.submit_receipt('$app', NULL, '', NULL)  & 63"
job check 78 --json
sql iap_app "SELECT iap.register_order('$app', 'order-77', 'somebody', 'gems')"
sql iap_app "SELECT iap.register_user('$app', 'somebody', '00000000-0000-4000-8000-000000000077')"
sql iap_app "SELECT iap.admit('$app', 'Production', '77', '77', 'gems', 1, '2026-10-01Z', 'somebody', $receipt)"
sql iap_app "SELECT iap.admit('$app', 'Production', '77', '77', 'gems', 1, '2026-10-01Z', 'somebody', 1)"
sql iap_app "SELECT * FROM iap.owed('$app', 'somebody')"
sql iap_app "SELECT * FROM iap.owed('$app', '$owner')"
sql iap_app "SELECT * FROM iap.status('$app', '77') AS a, iap.status('$app', NULL, '$order') AS b, iap.status('$app', '78') AS c"
sql iap_app "SELECT iap.claim('$app', '77', 'somebody', 'order-77'), iap.claim('$app', '77', 'somebody', 'order-77')"
sql iap_app "SELECT iap.claim('$app', '$white', '$owner')"
sql iap_app "SELECT iap.delivery_status('$app', '77'), iap.delivery_status('$app', '$white')"
sql iap_app "SELECT iap.entitle('$app', '88', 'somebody', '2026-12-01Z'), iap.revoke_entitlement('$app', '88')"
sql iap_app "SELECT * FROM iap.take_redeliveries('$app')"
sql iap_app "SELECT * FROM iap.receipts"

# The support desk.
job take "$other" --by sue
job note "$other" --by sue --note "asked the customer"
job resolve "$case" --delivered --user "$owner" --by sue --note "by hand"
job resolve "$case" --reopen --by sue --note "was wrong"
job resolve "$case" --dismissed --by sue --note "nothing owed"
job resolve "$other" --delivered --user nobody --by sue --note "to a stranger"
job adopt "4000000000000000" --user "$owner" --app "$app" --by sue --note "unknown to Apple"

# A company's own history.
printf 'bundle_id,user_id,payload,transaction_id,order_id,submitted_at\n%s,u1,first,901,o1,2026-10-01T00:00:00Z\n%s,u1,first,902,o2,2026-09-01T00:00:00Z\n%s,u2,second,,,\n%s,u2,second,,,\n' \
    "$app" "$app" "$app" "$app" >"$world/receipts.csv"
printf 'bundle_id,order_id,user_id,product_id,quantity,created_at\n%s,o1,u1,gems,1,2026-10-01T00:00:00Z\n' "$app" >"$world/orders.csv"
printf 'transaction_id,bundle_id,environment,product_id,quantity,purchased_at,user_id,delivered_at\n901,%s,Production,gems,1,2026-10-01T00:00:00Z,u1,2026-10-01T00:00:01Z\n' \
    "$app" >"$world/delivered.csv"
for kind in receipts orders delivered; do
    job import "$kind" "$world/$kind.csv" --dry-run
    job import "$kind" "$world/$kind.csv"
    job import "$kind" "$world/$kind.csv"
done

# What is not kept.
job purge --dry-run
job purge
job erase "$user" --by sue --dry-run
job erase "$user" --by sue --even-open
job erase nobody --by sue

# What finance and the desk read with their own rights, and the night once more.
for view in $(value "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relnamespace = 'finance'::regnamespace AND relkind = 'v'"); do
    sql iap_finance "SELECT count(*) FROM finance.$view"
done
sql iap_support "SELECT count(*), count(device) FROM iap.receipts"
sql iap_support "SELECT payload FROM iap.receipts"
job run --now "$now" --replay
job verify --json
keep "rows afterwards"

# What both refused alike would pass as the same.
refused=$(grep -lx 'ended with 7[08]' "$folder"/said/*) || refused=""
[ -z "$refused" ] || { echo "Refused or failed: $refused" >&2; exit 1; }

# 64 clients at once, at each level, claim one transaction, and two of one non-consumable that was restored: one gets it.
storm() {
    said "claims at $1" sh -c "PGOPTIONS='-c default_transaction_isolation=$2' $(dirname "$psql")/pgbench -n -h $host -U iap_app \
        -c 64 -j 2 -t 1 -f '$world/claim.sql' iap >/dev/null 2>&1; $psql -X -A -t -h $host -U postgres -d iap -c \"
        SELECT count(*) FROM iap.claims WHERE outcome = 'delivered' AND transaction_id IN ('$3', '$4')\""
}
product=$(value "SELECT product_id FROM iap.products WHERE bundle_id = '$app' AND type = 'consumable' ORDER BY 1")
forever=$(value "SELECT product_id FROM iap.products WHERE bundle_id = 'com.example.reader' AND type = 'non_consumable' ORDER BY 1")
level_number=0
for level in 'read committed' 'repeatable read' 'serializable'; do
    level_number=$((level_number + 1))
    echo "SELECT iap.claim('$app', '55$level_number', 'u55')" >"$world/claim.sql"
    value "SELECT iap.admit('$app', 'Production', '55$level_number', '55$level_number', '$product', 1, '2026-10-01Z', 'u55')" >/dev/null
    storm "$level" "$(echo "$level" | sed 's/ /\\ /')" "55$level_number" "55$level_number"
    [ -n "$forever" ] || continue
    for id in "66$level_number" "77$level_number"; do
        value "SELECT iap.admit('com.example.reader', 'Production', '$id', '66$level_number', '$forever', 1, '2026-10-01Z', 'u66')" >/dev/null
    done
    printf '\\set one random(0, 1)\nSELECT iap.claim(%s, CASE :one WHEN 0 THEN %s ELSE %s END, %s)\n' \
        "'com.example.reader'" "'66$level_number'" "'77$level_number'" "'u66'" >"$world/claim.sql"
    storm "$level of what was restored" "$(echo "$level" | sed 's/ /\\ /')" "66$level_number" "77$level_number"
done

# To be restored on a cluster, with what it holds.
if [ "${CITUS:-0}" = 0 ]; then
    "$(dirname "$psql")/pg_dump" -h "$host" -U postgres -Fc -n iap -n finance -n audit -f "$folder/dump" iap
    "$psql" -X -q -A -t -h "$host" -U postgres -d iap -v ON_ERROR_STOP=1 -f Tests/Cluster/content.sql >"$folder/rows when dumped"
fi
