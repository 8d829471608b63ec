#!/bin/sh
# Lets systemd judge the units as `make install` puts them: what it would only warn of in its log fails here.
set -eu
cd "$(dirname "$0")/../.."
if ! command -v systemd-analyze >/dev/null 2>&1; then
    echo "systemd is not installed: the units are not judged." >&2
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp cron/iap-reconcile.service cron/iap-reconcile.timer "$folder"
# The program need not be installed for its unit to be judged.
program=$(command -v true)
sed -i "s,/usr/local/bin/iap-reconcile,$program," "$folder/iap-reconcile.service"
found=$(systemd-analyze verify --man=no "$folder/iap-reconcile.service" "$folder/iap-reconcile.timer" 2>&1) || true
# Of other units on this machine it tells, too.
found=$(printf '%s\n' "$found" | grep iap-reconcile || true)
[ -z "$found" ] || {
    echo "systemd does not like the units:" >&2
    echo "$found" >&2
    exit 1
}
