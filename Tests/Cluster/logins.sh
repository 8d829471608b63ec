#!/bin/sh
# What doctor and the commands say where a worker of a cluster does not let the coordinator in as one of the roles: by its
# pg_hba.conf, or for want of a password.
#
#   logins.sh PROGRAM CONFIGURATION FOLDER
set -eu
program=$1 configuration=$2 folder=$3
psql="$(scripts/postgresql-bin)/psql"
worker=localhost:$((PGPORT + 1))
hba=$PGHOST/node1/pg_hba.conf
fail() {
    echo "logins: $1" >&2
    exit 1
}
desks='support_conninfo = dbname=iap user=iap_support\nimport_conninfo = dbname=iap user=iap_import'
{
    sed "s/^\[database\]/&\n$desks/" "$configuration"
    printf '[app com.example.game]\n[source orders]\ndirectory = %s\n' "$folder/orders"
} >"$folder/logins.conf"
mkdir -p "$folder/orders"
cp "$hba" "$folder/hba"
# Lines before those that let everyone in.
hba() {
    { printf '%s\n' "$@"; cat "$folder/hba"; } >"$hba"
    PGPORT=$((PGPORT + 1)) "$psql" -X -q -U postgres -d postgres -o /dev/null -c "SELECT pg_reload_conf()"
    sleep 0.5
}
# What doctor says of the worker's logins.
refusals() {
    "$program" doctor --config "$folder/logins.conf" --json >"$folder/doctor.json" || true
    python3 - "$folder/doctor.json" <<'END'
import json, sys
for finding in json.load(open(sys.argv[1])):
    if finding["verdict"] == "wrong" and finding["name"].startswith("worker"):
        print(finding["name"], finding["text"].split(":")[0], end="")
END
}
says() {
    refusals >"$folder/refusals"
    printf '%s' "$1" | diff - "$folder/refusals" >&2 || fail "doctor says something else where refused is: $2"
}
ends_with() {
    code=0
    wanted=$1
    shift
    "$program" "$@" --config "$folder/logins.conf" >"$folder/said" 2>&1 || code=$?
    [ "$code" -eq "$wanted" ] || { cat "$folder/said" >&2; fail "$1 ended with $code, not with $wanted"; }
    [ "$wanted" -eq 0 ] && return
    grep -q "@$worker failed" "$folder/said" || { cat "$folder/said" >&2; fail "$1 does not name the worker"; }
}

says "" nobody
for method in reject scram-sha-256; do
    for role in iap_job postgres iap_support iap_import; do
        hba "host iap $role all $method"
        says "worker $worker it does not let the coordinator in as $role" "$role, by $method"
        case $role in
        iap_job) ends_with 77 verify ;;
        postgres) ends_with 77 purge ;;
        iap_support) ends_with 77 check "$("$psql" -X -q -A -t -U postgres -d iap -c \
            "SELECT user_id FROM iap.receipts WHERE user_id IS NOT NULL LIMIT 1")" ;;
        esac
    done
done
hba ""
says "" "nobody any more"
ends_with 0 purge
