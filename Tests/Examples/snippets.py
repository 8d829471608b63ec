#!/usr/bin/env python3
"""Runs what docs/integrate.md shows, as it stands there: its SQL as role iap_app by psql, its Python by psycopg where that
is installed. Arguments: psql with its options for the superuser, in one word. PGHOST, PGDATABASE and PGUSER are the app's."""
import contextlib
import logging
import pathlib
import re
import select
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/integrate.md"
APP = "com.example.game"


class Done(BaseException):
    """Ends a loop that goes on for ever, and that no error of a purchase's ends."""


def blocks(language):
    """Each block of the page in a language, with the line where it begins."""
    text = PAGE.read_text(encoding="utf-8")
    for found in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.M | re.S):
        yield text[: found.start()].count("\n") + 1, found[1]


def run_sql(superuser):
    """Every block, in the order in which a server would come to need them."""
    psql = superuser.split()
    as_app = [word for word in psql[: psql.index("-U")]] + psql[psql.index("-U") + 2 :]
    count = 0
    for line, block in blocks("sql"):
        # A payload that the server got, and a purchase to be claimed.
        block = block.replace("$1", "'a receipt'")
        done = subprocess.run(as_app, input=block, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"docs/integrate.md:{line}: {done.stderr}")
        count += 1
    if ask(superuser, "SELECT gems FROM wallets WHERE user_id = 'user-7'") != "100":
        sys.exit("docs/integrate.md: the claim's transaction does not credit once")
    return count


def ask(superuser, sql):
    return subprocess.run(
        superuser.split() + ["-c", sql], capture_output=True, text=True, check=True).stdout.strip()


class Pool:
    """As psycopg_pool's, which is a package of its own."""

    def __init__(self, psycopg, limit=None):
        self.psycopg, self.limit = psycopg, limit

    @contextlib.contextmanager
    def connection(self):
        if self.limit == 0:
            raise Done
        self.limit = None if self.limit is None else self.limit - 1
        with self.psycopg.connect("") as connection:
            yield connection


def run_python(superuser, psycopg):
    def credit(connection, user, product_id, quantity):
        if product_id == "gone.1":
            raise KeyError(product_id)
        assert (product_id, quantity) == ("gems.100", 1), (product_id, quantity)
        connection.execute("UPDATE wallets SET gems = gems + 100 WHERE user_id = %s", (user,))

    def owe(transaction_id, product_id="gems.100"):
        ask(superuser, f"SELECT iap.admit('{APP}', 'Production', '{transaction_id}', '{transaction_id}', "
            f"'{product_id}', 1, now() - interval '1 hour', 'user-8')")

    def order(transaction_id):
        ask(superuser, "INSERT INTO iap.redeliveries (transaction_id, bundle_id, environment, user_id, ordered_at, "
            f"ordered_by, note, due_at) VALUES ('{transaction_id}', '{APP}', 'Production', 'user-8', now(), 'dana', "
            "'x', now())")

    def wake():
        ask(superuser, "NOTIFY iap_redeliveries")

    def gems():
        return int(ask(superuser, "SELECT gems FROM wallets WHERE user_id = 'user-8'"))

    names = {
        "psycopg": psycopg, "credit": credit, "DATABASE": "", "app": APP, "logging": logging, "select": select,
    }
    # What can't be credited comes first, and is told of.
    logging.disable()
    owe("8999", "gone.1")
    for line, block in blocks("python"):
        code = compile(block, f"docs/integrate.md:{line}", "exec")
        before = gems()
        if "def deliver_what_is_owed" in block:
            owe("9000")
            exec(code, names)  # pylint: disable=exec-used
            for _ in range(2):
                names["deliver_what_is_owed"](Pool(psycopg), APP, "user-8")
            assert gems() == before + 100, f"{PAGE}:{line}: not delivered once"
        elif "take_redeliveries" in block:
            owe("9001")
            order("8999")
            order("9001")
            # Taken, claimed by one each, and two rounds that find nothing until they are woken.
            began = time.monotonic()
            for seconds in (1, 3):
                threading.Timer(seconds, wake).start()
            with contextlib.suppress(Done):
                exec(code, names | {"pool": Pool(psycopg, limit=5)})  # pylint: disable=exec-used
            assert gems() == before + 100, f"{PAGE}:{line}: not delivered"
            assert 3 <= time.monotonic() - began < 30, f"{PAGE}:{line}: does not wait until it is woken"
        elif "submit_notification" in block:
            run_webhook(code, psycopg)
            assert ask(superuser, "SELECT count(*) FROM iap.handed_notices") == "1", f"{PAGE}:{line}: nothing handed on"
        else:
            sys.exit(f"{PAGE}:{line}: a block that nobody tries")
    return len(list(blocks("python")))


def run_webhook(code, psycopg):
    """A web framework, as far as the block needs one."""
    posted = {}

    class Server:
        def post(self, path):
            return lambda function: posted.setdefault(path, function)

    class Request:
        json = {"signedPayload": "not.apples.own"}

    exec(code, {"app": Server(), "pool": Pool(psycopg), "request": Request})  # pylint: disable=exec-used
    assert posted["/apple"]() == ("", 200)


def main():
    superuser = sys.argv[1]
    ask(superuser, "INSERT INTO wallets VALUES ('user-7'), ('user-8')")
    ran = f"{run_sql(superuser)} of SQL"
    try:
        import psycopg  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("Examples: integrate.md's Python skipped, python3-psycopg is not installed", file=sys.stderr)
    else:
        ran += f", {run_python(superuser, psycopg)} of Python"
    print(f"Examples: integrate.md's blocks, {ran}")


if __name__ == "__main__":
    main()
