import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** An app's server beside iap-reconcile, in Java with JDBC. */
public final class Claim {
    /** Credits a purchase in the transaction that claims it: both happen, or neither. Gives the claim's outcome. */
    static String claimAndCredit(Connection db, String app, String transactionId, String user, String orderId)
            throws SQLException {
        db.setAutoCommit(false);
        try {
            String outcome;
            try (PreparedStatement claim = prepare(db, "SELECT iap.claim(?, ?, ?, ?)", app, transactionId, user, orderId);
                    var rows = claim.executeQuery()) {
                rows.next();
                outcome = rows.getString(1);
            }
            if (outcome.equals("delivered")) {
                try (PreparedStatement credit =
                        prepare(db, "UPDATE wallets SET gems = gems + 100 WHERE user_id = ?", user)) {
                    credit.executeUpdate();
                }
            }
            db.commit();
            return outcome;
        } catch (SQLException error) {
            db.rollback();
            throw error;
        } finally {
            db.setAutoCommit(true);
        }
    }

    /** At login: what was lost on the way, each in a transaction of its own. */
    static void deliverWhatIsOwed(Connection db, String app, String user) throws SQLException {
        List<String[]> owed = new ArrayList<>();
        try (PreparedStatement asked = prepare(
                        db, "SELECT transaction_id, order_ids[1] FROM iap.owed(?, ?) WHERE is_certain", app, user);
                var rows = asked.executeQuery()) {
            while (rows.next()) owed.add(new String[] {rows.getString(1), rows.getString(2)});
        }
        for (String[] one : owed) claimAndCredit(db, app, one[0], user, one[1]);
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
                case "claim" -> System.out.println(
                        claimAndCredit(db, given[1], given[2], given[3], given[4].isEmpty() ? null : given[4]));
                case "login" -> deliverWhatIsOwed(db, given[1], given[2]);
                default -> takeNotification(db, given[1], given[2]);
            }
        }
    }
}
