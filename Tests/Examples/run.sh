#!/bin/sh
# The examples of an app's server, each in its language against a real database: of eight claims at once one credits,
# what can't be credited or committed stays owed, a login delivers what is owed beside it, and what Apple posts is taken;
# and the blocks of docs/integrate.md. A language that is not installed is skipped, and said so.
set -eu
cd "$(dirname "$0")/../.."
bin=$(scripts/with-swift swift build --show-bin-path)
work=$(mktemp -d)
cluster=$(scripts/private-cluster start)
trap 'scripts/private-cluster stop "$cluster"; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
psql="$(scripts/postgresql-bin)/psql -X -q -A -t -v ON_ERROR_STOP=1 -h $cluster -U postgres"
$psql -d postgres -c "CREATE DATABASE shop"
printf '[database]\nconninfo = host=%s user=postgres dbname=shop\n' "$cluster" >"$work/conf"
"$bin/iap-reconcile" migrate --config "$work/conf" --quiet >/dev/null
$psql -d shop -f sql/roles.sql -c "CREATE TABLE wallets (user_id text PRIMARY KEY, gems integer NOT NULL DEFAULT 0)" \
    -c "CREATE TABLE goods (user_id text, product_id text, units integer NOT NULL, PRIMARY KEY (user_id, product_id))" \
    -c "ALTER TABLE goods ADD CONSTRAINT still_sold CHECK (product_id <> 'gone.1')" \
    -c "CREATE FUNCTION lose_the_race() RETURNS trigger LANGUAGE plpgsql AS \$\$
        BEGIN RAISE EXCEPTION 'another was faster' USING ERRCODE = 'serialization_failure'; END \$\$" \
    -c "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON goods DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
        WHEN (NEW.product_id = 'late.1') EXECUTE FUNCTION lose_the_race()" \
    -c "GRANT SELECT, UPDATE ON wallets TO iap_app" -c "GRANT SELECT, INSERT, UPDATE ON goods TO iap_app"
export PGHOST="$cluster" PGDATABASE=shop PGUSER=iap_app
app=com.example.game
tried=""

# admit USER ID PRODUCT QUANTITY
admit() {
    $psql -d shop -c "SELECT iap.admit('$app', 'Production', '$2', '$2', '$3', $4, now() - interval '1 hour', '$1')" >/dev/null
}
units() {
    $psql -d shop -c "SELECT string_agg(units || ' ' || product_id, ', ' ORDER BY product_id) FROM goods
        WHERE user_id = '$1'"
}
fail() { echo "Examples: $1" >&2; exit 1; }

# refused USER ID PRODUCT WHY COMMAND…
refused() {
    user=$1 id=$2 product=$3 why=$4
    shift 4
    admit "$user" "$id" "$product" 1
    "$@" claim "$app" "$id" "$user" "" "$product" 1 >"$work/refused" 2>&1 && fail "$language: hides that it could not credit"
    grep -q "$why" "$work/refused" || { cat "$work/refused" >&2; fail "$language: hides why it could not credit"; }
    ! grep -qx delivered "$work/refused" || fail "$language: says delivered of what it could not credit"
    [ "$($psql -d shop -c "SELECT place FROM iap.transactions WHERE transaction_id = '$id'")" = white ] ||
        fail "$language: claims what it does not credit"
}

# try LANGUAGE FIRST-ID COMMAND…
try() {
    language=$1 first=$2
    shift 2
    user="user-$language"
    admit "$user" "$first" gems.100 1
    for number in 1 2 3 4 5 6 7 8; do
        "$@" claim "$app" "$first" "$user" "" gems.100 1 >"$work/$language-$number" 2>&1 &
    done
    wait
    [ "$(cat "$work/$language"-* | grep -cx delivered)" -eq 1 ] || { cat "$work/$language"-* >&2; fail "$language: not delivered once"; }
    [ "$(cat "$work/$language"-* | grep -cx already_delivered)" -eq 7 ] || { cat "$work/$language"-* >&2; fail "$language: what the others were told"; }
    [ "$(units "$user")" = "1 gems.100" ] || fail "$language: credited otherwise than once"
    # What the database refuses to credit, or to commit, is not claimed, and its error comes out.
    refused "$user" $((first + 3)) gone.1 still_sold "$@"
    refused "$user" $((first + 4)) late.1 "another was faster" "$@"
    admit "$user" $((first + 1)) gems.100 3
    admit "$user" $((first + 2)) gems.500 1
    "$@" login "$app" "$user" >"$work/login-$language" 2>&1 || fail "$language: a login ends at the first error"
    "$@" login "$app" "$user" >"$work/login-$language" 2>&1 || fail "$language: a login ends at the first error"
    grep -q "$((first + 3)) is still owed" "$work/login-$language" || fail "$language: a login hides what stays owed"
    [ "$(units "$user")" = "4 gems.100, 1 gems.500" ] || fail "$language: a login does not deliver what is owed, once"
    "$@" notification "$app" "not.apples.$language"
    [ "$($psql -d shop -c "SELECT count(*) FROM iap.handed_notices")" -gt 0 ] || fail "$language: no notification"
    $psql -d shop -c "DELETE FROM iap.handed_notices"
    tried="$tried $language"
}
skipped() { echo "Examples: $1 skipped, $2 is not installed" >&2; }

if /usr/bin/python3 -c "import psycopg" 2>/dev/null; then
    try python 1000 /usr/bin/python3 examples/claim.py
else
    skipped Python python3-psycopg
fi
if command -v php >/dev/null && php -m | grep -qx pdo_pgsql; then
    try php 2000 php examples/claim.php
else
    skipped PHP php-pgsql
fi
if command -v node >/dev/null && node -e "require('pg')" 2>/dev/null; then
    try node 3000 node examples/claim.js
else
    skipped Node.js node-pg
fi
if command -v go >/dev/null && [ -d /usr/share/gocode/src/github.com/jackc/pgx ]; then
    GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE="$work/cache" go build -o "$work/claim-go" examples/claim.go
    try go 4000 "$work/claim-go"
else
    skipped Go golang-github-jackc-pgx-v4-dev
fi
# Which is there, as the program was built; by the command that the example itself names.
build=$(sed -n 's,^// *\(swiftc .*\),\1,p' examples/claim.swift)
mkdir "$work/swift"
cp -R examples/claim.swift Sources/CLibraries/CPostgreSQL "$work/swift"
(cd "$work/swift" && "$OLDPWD/scripts/with-swift" sh -euc "$build")
try swift 6000 "$work/swift/claim"
/usr/bin/python3 Tests/Examples/snippets.py "$psql -d shop"
if command -v javac >/dev/null && [ -e /usr/share/java/postgresql.jar ]; then
    # Its driver knows no Unix sockets.
    port=$((20000 + $$ % 20000))
    $psql -d postgres -c "ALTER SYSTEM SET listen_addresses = '127.0.0.1'" -c "ALTER SYSTEM SET port = $port"
    javac -d "$work" examples/Claim.java Tests/Examples/Unchecked.java
    pg_ctl="$(scripts/postgresql-bin)/pg_ctl"
    as_server() { if [ "$(id -u)" -eq 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi; }
    as_server "$pg_ctl" -D "$cluster/data" -w -l "$cluster/log" -o "-k $cluster -c fsync=off" restart >/dev/null
    psql="$psql -p $port"
    export JDBC_URL="jdbc:postgresql://127.0.0.1:$port/shop?user=iap_app"
    try java 5000 java -cp "$work:/usr/share/java/postgresql.jar" Claim
    # An error that is not the database's, while the goods are credited.
    admit user-java 5005 gems.100 1
    java -cp "$work:/usr/share/java/postgresql.jar" Unchecked "$app" 5005 user-java
    [ "$($psql -d shop -c "SELECT place FROM iap.transactions WHERE transaction_id = '5005'")" = white ] ||
        fail "java: claims what it does not credit"
else
    skipped Java libpostgresql-jdbc-java
fi
echo "Examples:$tried"
