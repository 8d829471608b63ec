// An app's server beside iap-reconcile, in Node.js with pg.
const { Client } = require('pg')

/** Credits a purchase in the transaction that claims it: both happen, or neither. Gives the claim's outcome. */
async function claimAndCredit(db, app, transactionID, user, orderID, productID, quantity) {
  await db.query('BEGIN')
  try {
    const { rows } = await db.query('SELECT iap.claim($1, $2, $3, $4) AS outcome', [app, transactionID, user, orderID])
    if (rows[0].outcome === 'delivered') {
      await db.query(
        'INSERT INTO goods AS had VALUES ($1, $2, $3)' +
          ' ON CONFLICT (user_id, product_id) DO UPDATE SET units = had.units + excluded.units',
        [user, productID, quantity])
    }
    await db.query('COMMIT')
    return rows[0].outcome
  } catch (error) {
    // The first error says whether to try again; a lost connection has rolled back.
    await db.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** At login: what was lost on the way, each in a transaction of its own. One that fails keeps up no other. */
async function deliverWhatIsOwed(db, app, user) {
  const { rows } = await db.query(
    'SELECT transaction_id, order_ids[1] AS order_id, product_id, quantity FROM iap.owed($1, $2) WHERE is_certain',
    [app, user])
  for (const { transaction_id, order_id, product_id, quantity } of rows) {
    try {
      await claimAndCredit(db, app, transaction_id, user, order_id, product_id, quantity)
    } catch (error) {
      console.error(`${transaction_id} is still owed:`, error)
    }
  }
}

/** For the URL to which Apple posts: nothing else needs to be done. Answer 200. */
async function takeNotification(db, app, signedPayload) {
  await db.query('SELECT iap.submit_notification($1, $2)', [app, signedPayload])
}

async function main([action, ...given]) {
  const db = new Client()
  await db.connect()
  try {
    if (action === 'claim') {
      const [app, transactionID, user, orderID, productID, quantity] = given
      console.log(await claimAndCredit(db, app, transactionID, user, orderID || null, productID, Number(quantity)))
    }
    if (action === 'login') await deliverWhatIsOwed(db, ...given)
    if (action === 'notification') await takeNotification(db, ...given)
  } finally {
    await db.end()
  }
}

main(process.argv.slice(2)).catch((error) => { console.error(error); process.exitCode = 1 })
