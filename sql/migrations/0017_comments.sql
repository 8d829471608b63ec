-- Of the events of a hundred thousand cases, few are comments of the support desk: a page of the report looks for them.
CREATE INDEX events_of_the_desk ON iap.events (transaction_id) WHERE kind IN ('noted', 'adopted');
