"""An app's server beside iap-reconcile, in Python with psycopg 3."""
import logging
import sys

import psycopg


def claim_and_credit(connection, app, transaction_id, user, order_id, product_id, quantity):
    """Credits a purchase in the transaction that claims it: both happen, or neither. Gives the claim's outcome."""
    with connection.transaction():
        outcome = connection.execute(
            "SELECT iap.claim(%s, %s, %s, %s)", (app, transaction_id, user, order_id)).fetchone()[0]
        if outcome == "delivered":
            connection.execute(
                "INSERT INTO goods AS had VALUES (%s, %s, %s)"
                " ON CONFLICT (user_id, product_id) DO UPDATE SET units = had.units + excluded.units",
                (user, product_id, quantity))
    return outcome


def deliver_what_is_owed(connection, app, user):
    """At login: what was lost on the way, each in a transaction of its own. One that fails keeps up no other."""
    with connection.transaction():
        owed = connection.execute(
            "SELECT transaction_id, order_ids, product_id, quantity FROM iap.owed(%s, %s) WHERE is_certain",
            (app, user)).fetchall()
    for transaction_id, order_ids, product_id, quantity in owed:
        try:
            claim_and_credit(connection, app, transaction_id, user, next(iter(order_ids), None), product_id, quantity)
        except Exception:
            logging.exception("%s is still owed", transaction_id)


def take_notification(connection, app, signed_payload):
    """For the URL to which Apple posts: nothing else needs to be done. Answer 200."""
    with connection.transaction():
        connection.execute("SELECT iap.submit_notification(%s, %s)", (app, signed_payload))


if __name__ == "__main__":
    with psycopg.connect("") as connection:
        match sys.argv[1:]:
            case ["claim", app, transaction_id, user, order_id, product_id, quantity]:
                print(claim_and_credit(
                    connection, app, transaction_id, user, order_id or None, product_id, int(quantity)))
            case ["login", app, user]:
                deliver_what_is_owed(connection, app, user)
            case ["notification", app, signed_payload]:
                take_notification(connection, app, signed_payload)
