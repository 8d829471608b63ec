// An app's server beside iap-reconcile, in Go with pgx.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/jackc/pgx/v4"
)

type purchase struct {
	transactionID string
	orderID       *string
	productID     string
	quantity      int
}

// Credits a purchase in the transaction that claims it: both happen, or neither. Gives the claim's outcome.
func claimAndCredit(ctx context.Context, db *pgx.Conn, app, user string, one purchase) (outcome string, err error) {
	err = db.BeginFunc(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(
			ctx, "SELECT iap.claim($1, $2, $3, $4)", app, one.transactionID, user, one.orderID).Scan(&outcome)
		if err == nil && outcome == "delivered" {
			_, err = tx.Exec(
				ctx, `INSERT INTO goods AS had VALUES ($1, $2, $3)
				ON CONFLICT (user_id, product_id) DO UPDATE SET units = had.units + excluded.units`,
				user, one.productID, one.quantity)
		}
		return err
	})
	return
}

// At login: what was lost on the way, each in a transaction of its own. One that fails keeps up no other.
func deliverWhatIsOwed(ctx context.Context, db *pgx.Conn, app, user string) error {
	var owed []purchase
	rows, err := db.Query(
		ctx, "SELECT transaction_id, order_ids[1], product_id, quantity FROM iap.owed($1, $2) WHERE is_certain", app,
		user)
	if err != nil {
		return err
	}
	for rows.Next() {
		var one purchase
		if err := rows.Scan(&one.transactionID, &one.orderID, &one.productID, &one.quantity); err != nil {
			return err
		}
		owed = append(owed, one)
	}
	if rows.Err() != nil {
		return rows.Err()
	}
	for _, one := range owed {
		if _, err := claimAndCredit(ctx, db, app, user, one); err != nil {
			log.Printf("%s is still owed: %v", one.transactionID, err)
		}
	}
	return nil
}

// For the URL to which Apple posts: nothing else needs to be done. Answer 200.
func takeNotification(ctx context.Context, db *pgx.Conn, app, signedPayload string) error {
	_, err := db.Exec(ctx, "SELECT iap.submit_notification($1, $2)", app, signedPayload)
	return err
}

func main() {
	ctx := context.Background()
	db, err := pgx.Connect(ctx, "")
	if err == nil {
		defer db.Close(ctx)
		err = act(ctx, db, os.Args[1], os.Args[2:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func act(ctx context.Context, db *pgx.Conn, action string, given []string) error {
	switch action {
	case "claim":
		one := purchase{transactionID: given[1], productID: given[4]}
		if given[3] != "" {
			one.orderID = &given[3]
		}
		var err error
		if one.quantity, err = strconv.Atoi(given[5]); err != nil {
			return err
		}
		outcome, err := claimAndCredit(ctx, db, given[0], given[2], one)
		if err == nil {
			fmt.Println(outcome)
		}
		return err
	case "login":
		return deliverWhatIsOwed(ctx, db, given[0], given[1])
	default:
		return takeNotification(ctx, db, given[0], given[1])
	}
}
