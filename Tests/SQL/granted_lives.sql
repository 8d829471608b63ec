-- Lives of subscriptions, by chance: upgrades, billing graces, words that are said again, a company's table that tells
-- each night what it grants, in a row for each customer or for each period, and periods that Apple tells of some nights
-- late, in any order. In the end what nobody granted, or somebody took back, is owed, and nothing else is.
BEGIN;
SELECT plan(4);
SET LOCAL search_path = public, iap;
-- More by hand: psql -v seed=0.7 -v lives=1000.
\if :{?seed} \else
    \set seed 0.4
    \set lives 100
\endif
SELECT setseed(:seed);

CREATE FUNCTION test.at(day double precision) RETURNS timestamptz
LANGUAGE sql AS $$ SELECT '2026-06-01 00:00+00'::timestamptz + day * interval '1 day' $$;
CREATE TABLE test.lives (
    id text PRIMARY KEY, original text, tells text, product text, starts timestamptz, ends timestamptz,
    is_known boolean, heard date, revoked_at timestamptz
);
CREATE TABLE test.words (original text, until timestamptz, said_at timestamptz, revoked_at timestamptz);

-- What is sold: the kind of access, and days.
CREATE FUNCTION test.product(VARIADIC kinds text[]) RETURNS text
LANGUAGE sql VOLATILE AS $$
    SELECT kinds[1 + floor(random() * cardinality(kinds))::integer] || '.'
        || (ARRAY[3, 7, 30, 365])[1 + floor(random() * 4)::integer]
$$;
CREATE FUNCTION test.live(original text, tells text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    product text := test.product('basic');
    day     double precision := random() * 10;
    ends    double precision;
    next    double precision;
    known   boolean;
    number  integer := 0;
BEGIN
    WHILE day < 50 LOOP
        ends := day + split_part(product, '.', 2)::integer;
        next := CASE WHEN random() < 0.35 THEN day + random() * least(ends - day, 20) ELSE ends END;
        known := random() < 0.7;
        number := number + 1;
        INSERT INTO test.lives
        VALUES (
            original || '-' || number, original, tells, product, test.at(day), test.at(ends), known,
            test.at(day + random() * 5)::date,
            CASE WHEN tells = 'rows' AND random() < 0.15 THEN test.at(day + random() * (least(ends, 58) - day)) END);
        IF known AND tells IN ('server', 'both') THEN
            INSERT INTO test.words
            SELECT original, test.at(ends + said.grace), test.at(day + said.after)
            FROM (
                VALUES (floor(random() * 2) * ((ARRAY[1, 3, 16])[1 + floor(random() * 3)::integer] + random()), 0.01)
            ) AS said (grace, after)
            UNION ALL
            -- Its own end again, as long as it is what the customer has.
            SELECT original, test.at(ends), test.at(day + 0.01 + random() * (least(ends, next) - day - 0.01))
            WHERE random() < 0.3 AND least(ends, next) > day + 0.02;
        END IF;
        IF next < ends THEN
            product := test.product('premium', 'gold');
        END IF;
        day := next;
    END LOOP;
END
$$;
SELECT test.live('l' || life, (ARRAY['server', 'rows', 'table', 'both'])[1 + life % 4])
FROM generate_series(1, :lives) AS life;
-- The table tells each night what the customer has, as far as the company knows; some of all that was granted.
INSERT INTO test.words
SELECT original, ends, night, CASE WHEN revoked_at < night THEN revoked_at END
FROM generate_series(test.at(0.125), test.at(60.125), interval '1 day') AS night
JOIN test.lives ON is_known AND starts < night AND tells = 'rows'
ORDER BY random();
INSERT INTO test.words
SELECT held.original, held.ends, night
FROM generate_series(test.at(0.125), test.at(60.125), interval '1 day') AS night
CROSS JOIN LATERAL (
    SELECT DISTINCT ON (original) original, ends
    FROM test.lives
    WHERE is_known AND starts < night AND tells IN ('table', 'both')
    ORDER BY original, starts DESC
) AS held;

CREATE FUNCTION test.play() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    night timestamptz;
    word  record;
BEGIN
    FOR night IN SELECT * FROM generate_series(test.at(0.125), test.at(60.125), interval '1 day') LOOP
        FOR word IN
            SELECT * FROM test.words WHERE said_at > night - interval '1 day' AND said_at < night ORDER BY said_at
        LOOP
            PERFORM set_config('iap.present', word.said_at::text, true);
            PERFORM iap.entitle('com.example.a', word.original, 'ann', word.until);
        END LOOP;
        PERFORM set_config('iap.present', night::text, true);
        PERFORM iap.import_entitlements((
            SELECT array_agg(
                ROW(original, 'com.example.a', 'ann', until, night, night, revoked_at, '{}', NULL)::iap.entitlements)
            FROM test.words
            WHERE said_at = night));
        PERFORM iap.enter(
            ARRAY[jsonb_populate_record(
                test.heard(
                    id, product_id => product, product_type => 'auto_renewable', original_transaction_id => original,
                    purchased_at => starts, verified_at => night),
                jsonb_build_object('expires_at', ends))], 1, night)
        FROM test.lives
        WHERE heard = night::date - 1;
        WHILE iap.uncover(7, night, 100) > 0 LOOP NULL; END LOOP;
        WHILE iap.cover_entitled(7, night, 100) > 0 LOOP NULL; END LOOP;
        PERFORM test.close_books(night);
    END LOOP;
END
$$;
SELECT test.play();

-- What was granted: by the first word that tells of an end, for each end that is told. An upgrade is granted by what
-- was said after it was bought. What took another's place within a day, a table does not tell.
CREATE TABLE test.first_words AS
SELECT original, least(until, max(revoked_at)) AS until, min(said_at) AS said_at
FROM test.words
GROUP BY original, until;
CREATE VIEW test.granted AS
SELECT
    life.*, (life.is_known AND life.tells IN ('server', 'both')) OR EXISTS (
        SELECT FROM test.first_words AS word
        WHERE word.original = life.original AND until > said_at AND iap.reaches(until, ends)
            AND (
                said_at >= starts
                OR NOT EXISTS (
                    SELECT FROM test.lives AS replaced
                    WHERE replaced.original = life.original AND replaced.product <> life.product
                        AND replaced.starts < life.starts AND replaced.ends > life.starts))
    ) AS is_granted
FROM test.lives AS life;

SELECT cmp_ok((SELECT count(*) FROM test.granted WHERE NOT is_granted), '>', 20::bigint, 'some are lost');
SELECT cmp_ok(
    (SELECT count(*) FROM test.granted WHERE is_granted AND NOT is_known), '>', 20::bigint,
    'some that the company does not know have access by what it granted since');
SELECT is_empty(
    $$SELECT id, is_granted, place FROM test.granted JOIN iap.transactions ON transaction_id = id
    WHERE place <> CASE WHEN is_granted THEN 'black' ELSE 'white' END$$,
    'each is owed or delivered as it was granted');
SELECT is_empty('SELECT FROM iap.entitlements AS e WHERE seal <> audit.seal(e)', 'each row is sealed');

SELECT * FROM finish();
ROLLBACK;
