#!/bin/sh
# The Debian package in a root of its own: installed by the very commands of docs/operate.md, a night beside the
# simulated App Store, an upgrade over a changed configuration, removed, purged. Needs root and mmdebstrap.
set -eu
cd "$(dirname "$0")/../.."
if [ "$(id -u)" -ne 0 ] || ! command -v mmdebstrap >/dev/null; then
    echo "Deb: skipped, it needs root and mmdebstrap" >&2
    exit 0
fi
deb=$(find .build/deb -maxdepth 1 -name '*.deb' ! -name '*dbgsym*' | sort | tail -n 1)
[ -n "$deb" ] || { echo "Deb: no package; make deb builds it" >&2; exit 65; }
scripts/with-swift swift build -c release --product appstore-simulator >/dev/null

root=$(mktemp -d)
store=""
stop() {
    trap - EXIT INT TERM HUP
    [ -z "$store" ] || kill "$store" 2>/dev/null || true
    chroot "$root" pg_ctlcluster 15 main stop -m immediate >/dev/null 2>&1 || true
    umount "$root/proc" 2>/dev/null || true
    rm -rf --one-file-system "$root"
}
trap stop EXIT
trap 'stop; exit 130' INT TERM HUP
fail() { echo "Deb: $1" >&2; exit 1; }
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }

echo "== A clean root"
# With PostgreSQL, as it would be there already, and the lists of packages from which apt takes what ours needs.
mmdebstrap --quiet --variant=apt --include=postgresql --skip=cleanup/apt/lists bookworm "$root"
mount -t proc proc "$root/proc"
chmod 755 "$root"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
install -d -m 1777 "$root/dev/shm"
# A root without systemd starts nothing by itself.
inside pg_ctlcluster 15 main start
cp "$deb" "$root/tmp/"

# What a page shows in a block of shell that holds this word.
shown() {
    awk -v word="$1" '/^```sh$/ { block = ""; inside = 1; next } /^```$/ { if (inside && index(block, word)) printf "%s", block; inside = 0 }
        inside { block = block $0 "\n" }' docs/operate.md
}
run_shown() {
    shown "$1" >"$root/root/shown.sh"
    [ -s "$root/root/shown.sh" ] || fail "operate.md shows no $1"
    inside sh -euc 'cd /tmp && . /root/shown.sh'
}

echo "== Installed"
run_shown "apt-get install" >/dev/null 2>"$root/root/errors" || { cat "$root/root/errors" >&2; fail "not installed"; }
inside iap-reconcile --version
[ "$(inside stat -c '%a %U %G' /etc/iap-reconcile/iap-reconcile.conf)" = "640 root iap-reconcile" ] || fail "the configuration can be read"
[ "$(inside stat -c '%a %U' /var/lib/iap-reconcile/reports)" = "750 iap-reconcile" ] || fail "the reports' folder"
[ "$(inside stat -c '%a %U %G' /var/log/iap-reconcile)" = "750 iap-reconcile adm" ] || fail "the logs' folder"
[ ! -e "$root/etc/systemd/system/timers.target.wants/iap-reconcile.timer" ] || fail "the timer is on"
grep -q '^ExecStart=/usr/bin/iap-reconcile run' "$root/lib/systemd/system/iap-reconcile.service" || fail "no unit"
for file in man/man8/iap-reconcile.8.gz bash-completion/completions/iap-reconcile zsh/vendor-completions/_iap-reconcile \
    fish/vendor_completions.d/iap-reconcile.fish iap-reconcile/sql/roles.sql doc/iap-reconcile/docs/operate.md; do
    [ -e "$root/usr/share/$file" ] || [ -e "$root/usr/share/${file%.gz}" ] || fail "$file is missing"
done
for page in "$root"/usr/share/doc/iap-reconcile/*.md "$root"/usr/share/doc/iap-reconcile/docs/*.md; do
    grep -o ']([^)#:]*[)#]' "$page" | sed 's/^](//; s/[)#]$//' | sort -u | while read -r link; do
        [ -e "$(dirname "$page")/$link" ] || fail "${page#"$root"} links to $link, which is missing"
    done
done

echo "== Set up"
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
conf="$root/etc/iap-reconcile/iap-reconcile.conf"
install -d -m 755 "$root/store"
world="--seed 3 --customers 200 --days 3 --now $now"
# shellcheck disable=SC2086
.build/release/appstore-simulator serve $world --clock "$now" --port-file "$root/store/port" \
    --secrets-dir "$root/store/secrets" --root-out "$root/store/roots.pem" >"$root/store/log" 2>&1 &
store=$!
scripts/await-store "$root/store/port" "$root/store/log"
port=$(cat "$root/store/port")
chmod -R o+rX "$root/store"
sed -i "s,^\[apple\]\$,&\\nverify_receipt_production = http://127.0.0.1:$port/production/verifyReceipt\\
verify_receipt_sandbox = http://127.0.0.1:$port/sandbox/verifyReceipt\\nroot_certificates = /store/roots.pem," "$conf"
# As replays are for rehearsals, this database is one: the first migration marks it.
inside runuser -u postgres -- createdb -T template0 -E UTF8 shop
sed 's/^conninfo = .*/conninfo = host=\/var\/run\/postgresql dbname=shop user=postgres/' "$conf" >"$root/tmp/rehearsal.conf"
inside runuser -u postgres -- iap-reconcile migrate --rehearsal --quiet --config /tmp/rehearsal.conf >/dev/null
cp "$root/store/secrets/com.example.game" "$root/root/game.secret"
run_shown "--secret-file" >"$root/root/setup" || { cat "$root/root/setup"; fail "not set up"; }
grep -q "^Nothing of this was done" "$root/root/setup" || fail "the dry run did something"
inside iap-reconcile setup --database shop --yes >"$root/root/again" || fail "it is not set up: $(cat "$root/root/again")"
if grep -q "^ *done$" "$root/root/again"; then fail "set up twice: $(cat "$root/root/again")"; fi
run_shown "iap-reconcile migrate" >/dev/null
postgres=$(inside id -u postgres)
admin="host=$root/run/postgresql user=postgres dbname=shop"
# shellcheck disable=SC2086
as_postgres() { setpriv --reuid="$postgres" --clear-groups "$@"; }
cp .build/release/appstore-simulator "$root/store/"
as_postgres "$root/store/appstore-simulator" world --seed 3 --customers 200 --days 3 --now "$now" --database "$admin" --play-to 3
# What setup wrote of the first app is all of it; the world's others come behind it.
# shellcheck disable=SC2086
.build/release/appstore-simulator world $world --apps /store/secrets >"$root/root/apps"
sed -i '/^\[app /,$d' "$conf"
cat "$root/root/apps" >>"$conf"
chown -R "$(inside id -u iap-reconcile)" "$root/store/secrets"
chmod -R go-rwx "$root/store/secrets"

echo "== A night"
inside runuser -u iap-reconcile -- iap-reconcile doctor >"$root/root/doctor" || true
grep -q "^fine *schema\|^fine *database" "$root/root/doctor" || { cat "$root/root/doctor"; fail "the doctor finds no database"; }
inside runuser -u iap-reconcile -- iap-reconcile run --now "$now" --replay --quiet >"$root/root/night" || fail "the night failed: $(cat "$root/root/night")"
grep "^likely lost orders" "$root/root/night"
report="$root/var/lib/iap-reconcile/reports/latest"
[ -e "$root/var/lib/iap-reconcile/reports/$(readlink "$report")/index.html" ] || fail "no page"

echo "== Moved to another server"
before=$(inside runuser -u postgres -- psql -X -A -t -d shop -c "SELECT md5(string_agg(t::text, '' ORDER BY transaction_id)) FROM iap.transactions t")
run_shown "pg_dump"
# Another server, as far as PostgreSQL goes: with a cluster that has neither roles nor logins.
inside pg_dropcluster --stop 15 main
inside pg_createcluster --locale C.UTF-8 15 main >/dev/null
inside pg_ctlcluster 15 main start
run_shown "pg_restore" >"$root/root/moved" || { cat "$root/root/moved"; fail "not moved"; }
[ "$(inside runuser -u postgres -- psql -X -A -t -d shop -c "SELECT md5(string_agg(t::text, '' ORDER BY transaction_id)) FROM iap.transactions t")" = "$before" ] || fail "moving lost something"

echo "== Played back"
printf 'bundle_id,transaction_id,product_id,purchased_at,delivered_at,environment,user_id\n' >"$root/var/tmp/delivered.csv"
printf 'com.example.game,7,com.example.game.gems.60,2026-10-01T12:00:00Z,2026-10-01T12:00:05Z,Production,u1\n' >>"$root/var/tmp/delivered.csv"
printf 'bundle_id,original_transaction_id,user_id,entitled_until\ncom.example.game,8,u1,2026-11-01T12:00:00Z\n' >"$root/var/tmp/entitlements.csv"
run_shown "import delivered" >"$root/root/restored" 2>&1 || { cat "$root/root/restored"; fail "not as operate.md says after a restore"; }
[ "$(inside runuser -u postgres -- psql -X -A -t -d shop -c "SELECT has_function_privilege('iap_app', 'iap.claim'::regproc, 'EXECUTE') AND has_function_privilege('iap_app', 'iap.take_redeliveries'::regproc, 'EXECUTE')")" = t ] || fail "the app's server stays out"

echo "== Upgraded"
echo "# mine" >>"$conf"
dpkg-deb -R "$deb" "$root/newer"
sed -i 's/^Version: .*/Version: 0.1.1/' "$root/newer/DEBIAN/control"
echo "# theirs" >>"$root/newer/etc/iap-reconcile/iap-reconcile.conf"
(cd "$root/newer" && find . -type f ! -path './DEBIAN/*' -printf '%P\n' | LC_ALL=C sort | xargs md5sum >DEBIAN/md5sums)
dpkg-deb --root-owner-group -b "$root/newer" "$root/root/newer.deb" >/dev/null
inside dpkg --force-confold -i /root/newer.deb >/dev/null 2>&1 || fail "not upgraded"
grep -q '^# mine$' "$conf" || fail "the upgrade changed the configuration"
[ "$(inside stat -c '%a %G' /etc/iap-reconcile/iap-reconcile.conf)" = "640 iap-reconcile" ] || fail "the configuration can be read"
inside runuser -u iap-reconcile -- iap-reconcile verify --quiet >/dev/null || fail "the newer version does not verify"

echo "== Removed and purged"
inside dpkg -r iap-reconcile >/dev/null 2>&1
for path in "$conf" "$root/var/lib/iap-reconcile/reports/index.html"; do
    [ -e "$path" ] || fail "remove took $path away"
done
[ ! -e "$root/usr/bin/iap-reconcile" ] || fail "remove left the program"
inside dpkg -P iap-reconcile >/dev/null 2>&1
for path in /etc/iap-reconcile/iap-reconcile.conf /var/lib/iap-reconcile /var/log/iap-reconcile /usr/share/iap-reconcile; do
    [ ! -e "$root$path" ] || fail "purge left $path"
done
[ "$(inside runuser -u postgres -- psql -X -A -t -d shop -c 'SELECT count(*) > 0 FROM iap.runs')" = t ] || fail "the database is gone"
run_shown "DROP SCHEMA" >/dev/null 2>&1
[ "$(inside runuser -u postgres -- psql -X -A -t -d shop -c "SELECT count(*) FROM pg_namespace WHERE nspname IN ('iap', 'finance', 'audit')")" = 0 ] || fail "the ledger is left"
# With the libraries that the package brought.
tarball=$(find .build/tarball -maxdepth 1 -name '*.tar.gz' 2>/dev/null | sort | tail -n 1)
if [ -n "$tarball" ]; then
    echo "== The tarball"
    tar xzf "$tarball" -C "$root/root"
    folder=$(basename "$tarball" .tar.gz)
    (umask 077 && inside "/root/$folder/install.sh") >/dev/null || fail "the tarball is not installed"
    inside runuser -u iap-reconcile -- /usr/local/bin/iap-reconcile --version >/dev/null || fail "the job's user can't start it"
    echo "# mine" >>"$conf"
    # Over a program that is running: it reads until its input ends.
    mkfifo "$root/root/input"
    chroot "$root" /usr/local/bin/iap-reconcile inspect - <"$root/root/input" >/dev/null 2>&1 &
    exec 9>"$root/root/input"
    until readlink "/proc/$!/exe" | grep -q '/iap-reconcile$'; do sleep 0.1; done
    inside "/root/$folder/install.sh" | grep -q '^iap-reconcile ' || fail "the tarball is not installed again"
    exec 9>&-
    grep -q '^# mine$' "$conf" || fail "the tarball changed the configuration"
    [ "$(inside stat -c '%a %G' /etc/iap-reconcile/iap-reconcile.conf)" = "640 iap-reconcile" ] || fail "the configuration can be read"
    inside sh -c 'echo x >/root/x; /usr/local/bin/iap-reconcile inspect /root/x >/dev/null 2>&1; [ $? -eq 65 ]' || fail "the program does not run"
    inside "/root/$folder/install.sh" --uninstall >/dev/null
    [ ! -e "$root/usr/local/bin/iap-reconcile" ] || fail "uninstalling leaves the program"
    [ -e "$conf" ] || fail "uninstalling takes the configuration away"
fi
echo "Deb: the package installs, runs, upgrades, and goes."
