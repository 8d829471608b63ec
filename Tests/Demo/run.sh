#!/bin/sh
# The demo that goes on running: each line that it prints to be copied works, the next night is played, and nothing of it
# is left once it is stopped.
set -eu
cd "$(dirname "$0")/../.."
said=$(mktemp)
trap 'scripts/demo-stop --quiet; rm -f "$said"' EXIT
fail() {
    echo "Demo: $1" >&2
    cat "$said" >&2
    exit 1
}
# Nobody may be there to bury a process whose parent is gone: its number is then still there, and no command line.
is_serving() { tr '\0' ' ' <"/proc/$store/cmdline" 2>/dev/null | grep -q 'appstore-simulator serve'; }

CONFIGURATION=debug KEEP=1 CUSTOMERS=300 scripts/demo >"$said" 2>&1 || fail "it did not start"
grep -q "^The page: file://$(pwd)/.build/demo/reports/latest/index.html$" "$said" || fail "no page"
lines=$(sed -n '/From here on:/,$p' "$said" | sed -n 's/^    //p')
[ "$(echo "$lines" | wc -l)" -eq 6 ] || fail "not six lines to copy"
store=$(sed -n "s/^store='\(.*\)'/\1/p" .build/demo/running)
is_serving || fail "no App Store"
cluster=$(sed -n "s/^cluster='\(.*\)'/\1/p" .build/demo/running)
echo "$lines" | while read -r line; do
    PATH="$PATH:$(scripts/postgresql-bin)" \
        sh -euc "$line" </dev/null >"$said.line" 2>&1 || { mv "$said.line" "$said"; fail "this line failed: $line"; }
    case "$line" in
    *" check "*) grep -q '^paid, not delivered: ' "$said.line" || fail "check of no lost order" ;;
    *" resolve "*) grep -q ' is delivered$' "$said.line" || fail "nothing was resolved" ;;
    "make play"*) grep -q '^  2  ' "$said.line" || fail "no second night in the history" ;;
    esac
done
rm -f "$said.line"
[ ! -d "$cluster" ] || fail "the database's folder is left"
! is_serving || fail "the App Store still runs"
[ "$(scripts/demo-stop)" = "No demo is running." ] || fail "it is not stopped"
