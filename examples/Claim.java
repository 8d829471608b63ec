import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** An app's server beside iap-reconcile, in Java with JDBC. */
public final class Claim {
    record Purchase(String transactionId, String orderId, String productId, int quantity) {}

    /** Credits a purchase in the transaction that claims it: both happen, or neither. Gives the claim's outcome. */
    static String claimAndCredit(Connection db, String app, String user, Purchase one) throws SQLException {
        String outcome;
        db.setAutoCommit(false);
        try {
            try (PreparedStatement claim = prepare(
                            db, "SELECT iap.claim(?, ?, ?, ?)", app, one.transactionId(), user, one.orderId());
                    var rows = claim.executeQuery()) {
                rows.next();
                outcome = rows.getString(1);
            }
            if (outcome.equals("delivered")) {
                String statement = "INSERT INTO goods AS had VALUES (?, ?, ?)"
                        + " ON CONFLICT (user_id, product_id) DO UPDATE SET units = had.units + excluded.units";
                try (PreparedStatement credit = prepare(db, statement, user, one.productId())) {
                    credit.setInt(3, one.quantity());
                    credit.executeUpdate();
                }
            }
            db.commit();
        } catch (Throwable error) {
            // After whatever error: to switch autocommit on would commit what was claimed and is not credited.
            try {
                db.rollback();
                db.setAutoCommit(true);
            } catch (SQLException lost) {
                error.addSuppressed(lost);
            }
            throw error;
        }
        db.setAutoCommit(true);
        return outcome;
    }

    /** At login: what was lost on the way, each in a transaction of its own. One that fails keeps up no other. */
    static void deliverWhatIsOwed(Connection db, String app, String user) throws SQLException {
        List<Purchase> owed = new ArrayList<>();
        String question = "SELECT transaction_id, order_ids[1], product_id, quantity"
                + " FROM iap.owed(?, ?) WHERE is_certain";
        try (PreparedStatement asked = prepare(db, question, app, user);
                var rows = asked.executeQuery()) {
            while (rows.next()) {
                owed.add(new Purchase(rows.getString(1), rows.getString(2), rows.getString(3), rows.getInt(4)));
            }
        }
        for (Purchase one : owed) {
            try {
                claimAndCredit(db, app, user, one);
            } catch (SQLException | RuntimeException error) {
                System.err.println(one.transactionId() + " is still owed: " + error);
            }
        }
    }

    /** For the URL to which Apple posts: nothing else needs to be done. Answer 200. */
    static void takeNotification(Connection db, String app, String signedPayload) throws SQLException {
        try (PreparedStatement handOn = prepare(db, "SELECT iap.submit_notification(?, ?)", app, signedPayload)) {
            handOn.execute();
        }
    }

    private static PreparedStatement prepare(Connection db, String sql, String... values) throws SQLException {
        PreparedStatement statement = db.prepareStatement(sql);
        for (int index = 0; index < values.length; index++) statement.setString(index + 1, values[index]);
        return statement;
    }

    public static void main(String[] given) throws SQLException {
        try (Connection db = DriverManager.getConnection(System.getenv("JDBC_URL"))) {
            switch (given[0]) {
                case "claim" -> {
                    String orderId = given[4].isEmpty() ? null : given[4];
                    Purchase one = new Purchase(given[2], orderId, given[5], Integer.parseInt(given[6]));
                    System.out.println(claimAndCredit(db, given[1], given[3], one));
                }
                case "login" -> deliverWhatIsOwed(db, given[1], given[2]);
                default -> takeNotification(db, given[1], given[2]);
            }
        }
    }
}
