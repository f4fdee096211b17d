-- name: insert_delivery_events(message_ids, now, state, reason, evidence)!
-- The same change of state of some deliveries, in the transaction that makes it.
-- params: message_ids list[int], now str, state DeliveryState, reason str | None, evidence str | None
INSERT INTO delivery_events (message_id, at, state, reason, evidence)
SELECT
    asked.value AS message_id,
    :now AS at,
    :state AS state,
    :reason AS reason,
    :evidence AS evidence
FROM json_each(:message_ids) AS asked;

-- name: list_delivery_events(message_ids)
-- The life of some deliveries after their first state, oldest change first.
-- params: message_ids list[int]
-- returns: DeliveryEventRow
-- plan: idx_delivery_events_message
-- sort: the few events of the messages asked for
SELECT
    delivery_events.event_id,
    delivery_events.message_id,
    delivery_events.at,
    delivery_events.state,
    delivery_events.reason,
    delivery_events.evidence
FROM json_each(:message_ids) AS asked
INNER JOIN delivery_events ON asked.value = delivery_events.message_id
ORDER BY delivery_events.message_id, delivery_events.event_id;

-- name: list_stored_delivery_events(after_id, until_id, limit)
-- Every row with every column, a page at a time: what `cafleet db check` decodes.
-- params: after_id int = delivery_events.event_id, until_id int = delivery_events.event_id, limit int
-- returns: DeliveryEventRow
-- plan: primary key
SELECT
    delivery_events.event_id,
    delivery_events.message_id,
    delivery_events.at,
    delivery_events.state,
    delivery_events.reason,
    delivery_events.evidence
FROM delivery_events
WHERE delivery_events.event_id > :after_id AND delivery_events.event_id <= :until_id
ORDER BY delivery_events.event_id
LIMIT :limit;
