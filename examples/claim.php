<?php
// An app's server beside iap-reconcile, in PHP with PDO.
declare(strict_types=1);

/** Credits a purchase in the transaction that claims it: both happen, or neither. Gives the claim's outcome. */
function claimAndCredit(
    PDO $db, string $app, string $transactionId, string $user, ?string $orderId, string $productId, int $quantity
): string {
    $db->beginTransaction();
    try {
        $claim = $db->prepare('SELECT iap.claim(?, ?, ?, ?)');
        $claim->execute([$app, $transactionId, $user, $orderId]);
        $outcome = $claim->fetchColumn();
        if ($outcome === 'delivered') {
            $credit = $db->prepare(
                'INSERT INTO goods AS had VALUES (?, ?, ?)'
                . ' ON CONFLICT (user_id, product_id) DO UPDATE SET units = had.units + excluded.units');
            $credit->execute([$user, $productId, $quantity]);
        }
        $db->commit();
        return $outcome;
    } catch (Throwable $error) {
        try {
            $db->rollBack();
        } catch (PDOException) {
            // A commit that failed, or a lost connection, has rolled back. The first error says whether to try again.
        }
        throw $error;
    }
}

/** At login: what was lost on the way, each in a transaction of its own. One that fails keeps up no other. */
function deliverWhatIsOwed(PDO $db, string $app, string $user): void
{
    $owed = $db->prepare(
        'SELECT transaction_id, order_ids[1] AS order_id, product_id, quantity FROM iap.owed(?, ?) WHERE is_certain');
    $owed->execute([$app, $user]);
    foreach ($owed->fetchAll(PDO::FETCH_ASSOC) as $purchase) {
        try {
            claimAndCredit(
                $db, $app, $purchase['transaction_id'], $user, $purchase['order_id'], $purchase['product_id'],
                $purchase['quantity']);
        } catch (Throwable $error) {
            error_log("{$purchase['transaction_id']} is still owed: $error");
        }
    }
}

/** For the URL to which Apple posts: nothing else needs to be done. Answer 200. */
function takeNotification(PDO $db, string $app, string $signedPayload): void
{
    $db->prepare('SELECT iap.submit_notification(?, ?)')->execute([$app, $signedPayload]);
}

$db = new PDO('pgsql:');
$given = array_slice($argv, 2);
match ($argv[1]) {
    'claim' => print(
        claimAndCredit($db, $given[0], $given[1], $given[2], $given[3] ?: null, $given[4], (int) $given[5]) . "\n"),
    'login' => deliverWhatIsOwed($db, ...$given),
    'notification' => takeNotification($db, ...$given),
};
