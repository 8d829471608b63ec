#!/bin/sh
# The demo: each line that it prints to be copied works, the next night is played, and nothing runs between them or is left
# in the end. With KEEP=1 it goes on running until it is stopped.
set -eu
cd "$(dirname "$0")/../.."
said=$(mktemp)
trap 'scripts/demo-stop --quiet; rm -f "$said" "$said.line"' EXIT
fail() {
    echo "Demo: $1" >&2
    cat "$said" >&2
    exit 1
}
of_state() { sed -n "s/^$1='\(.*\)'/\1/p" .build/demo/state; }
# Nobody may be there to bury a process whose parent is gone: its number is then still there, and no command line.
is_serving() { { tr '\0' ' ' <"/proc/$1/cmdline"; } 2>/dev/null | grep -q 'appstore-simulator serve'; }

CONFIGURATION=debug CUSTOMERS=300 scripts/demo >"$said" 2>&1 || fail "it did not run"
grep -q "^The page: file://$(pwd)/.build/demo/reports/latest/index.html$" "$said" || fail "no page"
tail -n 1 "$said" | grep -q '^truly lost [1-9][0-9]*, found [1-9][0-9]*, false alarms 0$' ||
    fail "it does not end with how the report compares with the truth"
lines=$(sed -n '/From here on:/,$p' "$said" | sed -n 's/^    //p')
[ "$(echo "$lines" | wc -l)" -eq 5 ] || fail "not five lines to copy"
cluster=$(of_state cluster)
[ ! -e "$cluster" ] || fail "the database goes on running"
[ -z "$(of_state store)" ] || fail "the App Store goes on running"
echo "$lines" | while read -r line; do
    sh -euc "$line" </dev/null >"$said.line" 2>&1 || { mv "$said.line" "$said"; fail "this line failed: $line"; }
    case "$line" in
    *" check "*) grep -q '^paid, not delivered: ' "$said.line" || fail "check of no lost order" ;;
    *" resolve "*) grep -q ' is delivered$' "$said.line" || fail "nothing was resolved" ;;
    *"/sql "*) grep -q 'rows)$' "$said.line" || fail "no rows of finance's" ;;
    "make play"*) grep -q '^  2  ' "$said.line" || fail "no second night in the history" ;;
    esac
    [ ! -e "$cluster" ] || fail "the database runs after: $line"
done
# What was resolved by one line is known to another.
.build/demo/sql "SELECT count(*) AS nights FROM finance.control_totals_by_day" | grep -q '^ *[12]$' || fail "the second night is not booked"

CONFIGURATION=debug KEEP=1 CUSTOMERS=300 scripts/demo >"$said" 2>&1 || fail "it did not start"
cluster=$(of_state cluster) store=$(of_state store)
is_serving "$store" || fail "no App Store"
.build/demo/job verify --quiet >/dev/null || fail "it can't be used"
is_serving "$store" || fail "using it ended the App Store"
make demo-stop >"$said" 2>&1 || fail "it can't be stopped"
[ ! -d "$cluster" ] || fail "the database's folder is left"
! is_serving "$store" || fail "the App Store still runs"
[ "$(scripts/demo-stop)" = "There is no demo." ] || fail "it is not stopped"
