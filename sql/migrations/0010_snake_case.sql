-- The JSON that the program keeps has its keys in snake case and its times in words, as all else that it writes.

UPDATE iap.cases
SET candidates = (
    SELECT jsonb_agg(
        candidate - 'userID' || jsonb_build_object('user_id', candidate -> 'userID') ORDER BY place)
    FROM jsonb_array_elements(cases.candidates) WITH ORDINALITY AS each (candidate, place))
WHERE candidates @> '[{}]' AND candidates -> 0 ? 'userID';

-- A time was kept in seconds since 2001.
UPDATE iap.runs
SET cases = cases - 'byLikelihood' - 'oldestPurchase'
    || jsonb_build_object('by_likelihood', cases -> 'byLikelihood')
    || CASE WHEN cases ? 'oldestPurchase' THEN jsonb_build_object(
        'oldest_purchase',
        to_char(
            to_timestamp((cases ->> 'oldestPurchase')::double precision + 978307200) AT TIME ZONE 'UTC',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
        ELSE '{}' END
WHERE cases ? 'byLikelihood';
