-- name: get_message(message_id)^
-- One message of any type.
-- params: message_id int
-- returns: MessageRow
-- plan: primary key
SELECT
    messages.message_id,
    messages.owner_member_id,
    messages.from_member_id,
    messages.to_member_id,
    messages.type,
    messages.created_at,
    messages.status_state,
    messages.status_timestamp,
    messages.origin_message_id,
    messages.text
FROM messages
WHERE messages.message_id = :message_id;

-- name: list_pending(member_id, limit)
-- The deliveries that a member has not acknowledged, newest status first; a negative limit is none.
-- A state that nobody knows is among them, to be refused, not passed over.
-- params: member_id int = messages.owner_member_id, limit int
-- returns: MessageRow
-- plan: idx_messages_pending
SELECT
    messages.message_id,
    messages.owner_member_id,
    messages.from_member_id,
    messages.to_member_id,
    messages.type,
    messages.created_at,
    messages.status_state,
    messages.status_timestamp,
    messages.origin_message_id,
    messages.text
FROM messages
WHERE messages.owner_member_id = :member_id AND messages.status_state <> 'completed'
ORDER BY messages.status_timestamp DESC, messages.message_id DESC
LIMIT :limit;

-- name: list_oldest_pending(member_id, limit)
-- The same from the other end, oldest status first.
-- params: member_id int = messages.owner_member_id, limit int
-- returns: MessageRow
-- plan: idx_messages_pending
SELECT
    messages.message_id,
    messages.owner_member_id,
    messages.from_member_id,
    messages.to_member_id,
    messages.type,
    messages.created_at,
    messages.status_state,
    messages.status_timestamp,
    messages.origin_message_id,
    messages.text
FROM messages
WHERE messages.owner_member_id = :member_id AND messages.status_state <> 'completed'
ORDER BY messages.status_timestamp, messages.message_id
LIMIT :limit;

-- name: count_pending(member_id)$
-- How many deliveries a member has not acknowledged.
-- params: member_id int = messages.owner_member_id
-- returns: int
-- plan: idx_messages_pending
SELECT count(*)
FROM messages
WHERE messages.owner_member_id = :member_id AND messages.status_state <> 'completed';

-- name: list_inbox(member_id)
-- Every delivery that a member owns, newest status first. A type that nobody knows is refused, not
-- left out, so the summaries are named.
-- Why +type: so written, the term does not tempt SQLite to an index in another order.
-- params: member_id int = messages.owner_member_id
-- returns: TrackedMessageRow
-- plan: idx_messages_owner_member_status_ts
SELECT
    messages.message_id,
    messages.owner_member_id,
    messages.from_member_id,
    messages.to_member_id,
    messages.type,
    messages.created_at,
    messages.status_state,
    messages.status_timestamp,
    messages.origin_message_id,
    messages.text,
    messages.delivery_state
FROM messages
WHERE messages.owner_member_id = :member_id AND +messages.type <> 'broadcast_summary'
ORDER BY messages.status_timestamp DESC, messages.message_id DESC;

-- name: list_sent(member_id)
-- Every delivery that a member has sent, newest status first. Why +type: as in the inbox.
-- params: member_id int = messages.from_member_id
-- returns: TrackedMessageRow
-- plan: idx_messages_from_member_status_ts
SELECT
    messages.message_id,
    messages.owner_member_id,
    messages.from_member_id,
    messages.to_member_id,
    messages.type,
    messages.created_at,
    messages.status_state,
    messages.status_timestamp,
    messages.origin_message_id,
    messages.text,
    messages.delivery_state
FROM messages
WHERE messages.from_member_id = :member_id AND +messages.type <> 'broadcast_summary'
ORDER BY messages.status_timestamp DESC, messages.message_id DESC;

-- name: list_timeline(fleet_id, limit)
-- The newest deliveries owned by the members of a fleet. The limit counts deliveries.
-- Why +type: with the index of received deliveries, whose order is another, it would read and sort
-- every message of the fleet, 600 times slower with a million of them.
-- params: fleet_id int, limit int
-- returns: TrackedMessageRow
-- plan: idx_members_fleet_status, idx_messages_owner_member_status_ts
-- sort: at most :limit rows are kept; each owner's index is left as soon as it falls behind
SELECT
    messages.message_id,
    messages.owner_member_id,
    messages.from_member_id,
    messages.to_member_id,
    messages.type,
    messages.created_at,
    messages.status_state,
    messages.status_timestamp,
    messages.origin_message_id,
    messages.text,
    messages.delivery_state
FROM members
INNER JOIN messages ON members.member_id = messages.owner_member_id
WHERE members.fleet_id = :fleet_id AND +messages.type <> 'broadcast_summary'
ORDER BY messages.status_timestamp DESC, messages.message_id DESC
LIMIT :limit;

-- name: list_inbox_page(member_id, before, limit)
-- A page of the deliveries that a member owns, newest first, each older than the message `before`.
-- params: member_id int = messages.owner_member_id, before int = messages.message_id, limit int
-- returns: TrackedMessageRow
-- plan: idx_messages_inbox
SELECT
    messages.message_id,
    messages.owner_member_id,
    messages.from_member_id,
    messages.to_member_id,
    messages.type,
    messages.created_at,
    messages.status_state,
    messages.status_timestamp,
    messages.origin_message_id,
    messages.text,
    messages.delivery_state
FROM messages
WHERE
    messages.owner_member_id = :member_id
    AND messages.type <> 'broadcast_summary'
    AND messages.message_id < :before
ORDER BY messages.message_id DESC
LIMIT :limit;

-- name: list_sent_page(member_id, before, limit)
-- A page of the deliveries that a member has sent, in the order of the inbox.
-- params: member_id int = messages.from_member_id, before int = messages.message_id, limit int
-- returns: TrackedMessageRow
-- plan: idx_messages_outbox
SELECT
    messages.message_id,
    messages.owner_member_id,
    messages.from_member_id,
    messages.to_member_id,
    messages.type,
    messages.created_at,
    messages.status_state,
    messages.status_timestamp,
    messages.origin_message_id,
    messages.text,
    messages.delivery_state
FROM messages
WHERE
    messages.from_member_id = :member_id
    AND messages.type <> 'broadcast_summary'
    AND messages.message_id < :before
ORDER BY messages.message_id DESC
LIMIT :limit;

-- name: list_member_page(member_id, before, limit)
-- A page of the deliveries that a member has sent or owns, in the order of the inbox: the newest of
-- a page of each.
-- Why SELECT in FROM: SQLite takes an ORDER BY or LIMIT of one part of a UNION in a query of its own.
-- params: member_id int = messages.owner_member_id, before int = messages.message_id, limit int
-- returns: TrackedMessageRow
-- plan: idx_messages_inbox, idx_messages_outbox, primary key
-- scan: owned (the ids of one page)
-- scan: sent (the ids of one page)
SELECT
    messages.message_id,
    messages.owner_member_id,
    messages.from_member_id,
    messages.to_member_id,
    messages.type,
    messages.created_at,
    messages.status_state,
    messages.status_timestamp,
    messages.origin_message_id,
    messages.text,
    messages.delivery_state
FROM messages
WHERE
    messages.message_id IN (
        SELECT owned.message_id
        FROM (
            SELECT inbox.message_id
            FROM messages AS inbox
            WHERE
                inbox.owner_member_id = :member_id
                AND inbox.type <> 'broadcast_summary'
                AND inbox.message_id < :before
            ORDER BY inbox.message_id DESC
            LIMIT :limit
        ) AS owned
        UNION
        SELECT sent.message_id
        FROM (
            SELECT outbox.message_id
            FROM messages AS outbox
            WHERE
                outbox.from_member_id = :member_id
                AND outbox.type <> 'broadcast_summary'
                AND outbox.message_id < :before
            ORDER BY outbox.message_id DESC
            LIMIT :limit
        ) AS sent
    )
ORDER BY messages.message_id DESC
LIMIT :limit;

-- name: list_timeline_page(fleet_id, before, limit)
-- A page of the deliveries owned by the members of a fleet, whatever their status, in the order of
-- the inbox.
-- params: fleet_id int, before int = messages.message_id, limit int
-- returns: TrackedMessageRow
-- plan: idx_members_fleet_status, idx_messages_inbox
-- sort: at most :limit rows are kept; each owner's index is left as soon as it falls behind
SELECT
    messages.message_id,
    messages.owner_member_id,
    messages.from_member_id,
    messages.to_member_id,
    messages.type,
    messages.created_at,
    messages.status_state,
    messages.status_timestamp,
    messages.origin_message_id,
    messages.text,
    messages.delivery_state
FROM members
INNER JOIN messages ON members.member_id = messages.owner_member_id
WHERE
    members.fleet_id = :fleet_id
    AND messages.type <> 'broadcast_summary'
    AND messages.message_id < :before
ORDER BY messages.message_id DESC
LIMIT :limit;

-- name: insert_delivery(from_member_id, owner_member_id, now, text, urgent)^
-- A message to one member, if it and its sender are active in one fleet; no row otherwise. A member
-- without a placement is due no notice, and nobody of what it sends to itself.
-- params: from_member_id int = members.member_id, owner_member_id int = members.member_id, now str, text str, urgent int
-- returns: MessageRow
-- plan: primary key
INSERT INTO messages (
    owner_member_id,
    from_member_id,
    to_member_id,
    type,
    created_at,
    status_state,
    status_timestamp,
    text,
    delivery_state,
    urgent
)
SELECT
    recipients.member_id AS owner_member_id,
    senders.member_id AS from_member_id,
    recipients.member_id AS to_member_id,
    'unicast' AS type,
    :now AS created_at,
    'input_required' AS status_state,
    :now AS status_timestamp,
    :text AS text,
    CASE
        WHEN member_placements.member_id IS NULL THEN 'none'
        WHEN senders.member_id = recipients.member_id THEN 'none'
        ELSE 'queued'
    END AS delivery_state,
    :urgent AS urgent
FROM members AS senders
INNER JOIN members AS recipients ON senders.fleet_id = recipients.fleet_id
LEFT JOIN member_placements ON recipients.member_id = member_placements.member_id
WHERE
    senders.member_id = :from_member_id
    AND senders.status = 'active'
    AND recipients.member_id = :owner_member_id
    AND recipients.status = 'active'
RETURNING
    message_id,
    owner_member_id,
    from_member_id,
    to_member_id,
    type,
    created_at,
    status_state,
    status_timestamp,
    origin_message_id,
    text;

-- name: insert_forwarded_deliveries(owner_member_id, successor_member_id, now)!
-- Give the open deliveries of a member on to another, as new ones of the same senders, oldest first.
-- What the successor itself has sent is left out.
-- params: owner_member_id int = messages.owner_member_id, successor_member_id int = members.member_id, now str
-- plan: idx_messages_pending, primary key
-- sort: the open deliveries of one member
INSERT INTO messages (
    owner_member_id,
    from_member_id,
    to_member_id,
    type,
    created_at,
    status_state,
    status_timestamp,
    text,
    delivery_state,
    urgent,
    forwarded_from
)
SELECT
    successors.member_id AS owner_member_id,
    messages.from_member_id,
    successors.member_id AS to_member_id,
    messages.type,
    :now AS created_at,
    messages.status_state,
    :now AS status_timestamp,
    messages.text,
    CASE WHEN member_placements.member_id IS NULL THEN 'none' ELSE 'queued' END AS delivery_state,
    messages.urgent,
    messages.message_id AS forwarded_from
FROM messages
INNER JOIN members AS successors ON successors.member_id = :successor_member_id
LEFT JOIN member_placements ON successors.member_id = member_placements.member_id
WHERE
    messages.owner_member_id = :owner_member_id
    AND messages.status_state <> 'completed'
    AND messages.from_member_id <> :successor_member_id
ORDER BY messages.message_id;

-- name: find_forwarded(message_id)^
-- The delivery that a delivery went on as when its owner handed over; no row if it did not.
-- params: message_id int = messages.forwarded_from
-- returns: ForwardedRow
-- plan: idx_messages_forwarded
SELECT
    messages.message_id,
    messages.owner_member_id
FROM messages
WHERE messages.forwarded_from = :message_id
ORDER BY messages.message_id
LIMIT 1;

-- name: insert_broadcast_summary(from_member_id, now, text)$
-- The row that stands for a broadcast. It is linked to itself as soon as it has an id.
-- params: from_member_id int, now str, text str
-- returns: int
INSERT INTO messages (
    owner_member_id,
    from_member_id,
    type,
    created_at,
    status_state,
    status_timestamp,
    text,
    delivery_state
)
VALUES (
    :from_member_id,
    :from_member_id,
    'broadcast_summary',
    :now,
    'completed',
    :now,
    :text,
    'none'
)
RETURNING message_id;

-- name: set_summary_origin(message_id)!
-- Link a broadcast summary to itself.
-- params: message_id int
-- plan: primary key
UPDATE messages
SET origin_message_id = message_id
WHERE message_id = :message_id AND type = 'broadcast_summary';

-- name: insert_broadcast_deliveries(fleet_id, from_member_id, origin_message_id, now, text, urgent)!
-- One delivery to each other active member of the fleet, in the order of their ids. A member
-- without a placement is due no notice.
-- params: fleet_id int, from_member_id int, origin_message_id int, now str, text str, urgent int
-- plan: idx_members_fleet_status, primary key
INSERT INTO messages (
    owner_member_id,
    from_member_id,
    to_member_id,
    type,
    created_at,
    status_state,
    status_timestamp,
    origin_message_id,
    text,
    delivery_state,
    urgent
)
SELECT
    members.member_id AS owner_member_id,
    :from_member_id AS from_member_id,
    members.member_id AS to_member_id,
    'unicast' AS type,
    :now AS created_at,
    'input_required' AS status_state,
    :now AS status_timestamp,
    :origin_message_id AS origin_message_id,
    :text AS text,
    CASE WHEN member_placements.member_id IS NULL THEN 'none' ELSE 'queued' END AS delivery_state,
    :urgent AS urgent
FROM members
LEFT JOIN member_placements ON members.member_id = member_placements.member_id
WHERE
    members.fleet_id = :fleet_id
    AND members.status = 'active'
    AND members.member_id <> :from_member_id
ORDER BY members.member_id;

-- name: list_broadcast_delivery_ids(origin_message_id)
-- The deliveries of one broadcast.
-- params: origin_message_id int
-- returns: MessageIdRow
-- plan: idx_messages_origin
SELECT messages.message_id
FROM messages
WHERE
    messages.origin_message_id = :origin_message_id
    AND messages.type = 'unicast'
    AND messages.origin_message_id IS NOT NULL
ORDER BY messages.message_id;

-- name: ack_message(message_id, now)!
-- The one acknowledgement of a delivery; 0 rows when it was not waiting for one.
-- params: message_id int, now str
-- plan: primary key
UPDATE messages
SET status_state = 'completed', status_timestamp = :now
WHERE message_id = :message_id AND type = 'unicast' AND status_state = 'input_required';

-- name: list_owed(member_ids)
-- The notices that are owed to some members, oldest first, and since when each has been held.
-- params: member_ids list[int]
-- returns: OwedRow
-- plan: idx_delivery_events_message, idx_messages_owed, primary key
-- sort: what is owed to the members asked for, which is little
SELECT
    messages.message_id,
    messages.owner_member_id,
    members.name AS owner_name,
    messages.from_member_id,
    senders.name AS from_name,
    messages.created_at,
    messages.text,
    messages.delivery_state,
    messages.urgent,
    (
        SELECT min(held.at)
        FROM delivery_events AS held
        WHERE
            held.message_id = messages.message_id
            AND held.event_id > coalesce(
                (
                    SELECT max(other.event_id)
                    FROM delivery_events AS other
                    WHERE other.message_id = messages.message_id AND other.state <> 'held'
                ),
                0
            )
    ) AS held_since
FROM json_each(:member_ids) AS asked
INNER JOIN messages ON asked.value = messages.owner_member_id
INNER JOIN members ON messages.owner_member_id = members.member_id
LEFT JOIN members AS senders ON messages.from_member_id = senders.member_id
WHERE
    messages.delivery_state IN ('queued', 'held', 'unreachable', 'typed')
    AND members.status = 'active'
ORDER BY messages.owner_member_id, messages.message_id;

-- name: list_deliveries(message_ids)
-- The state of the notices of some messages, each with the reason of its last change, and what
-- there is to expect of the recipient: whether it has acknowledged it, has left, or had no pane any
-- more when it was last looked for.
-- params: message_ids list[int]
-- returns: DeliveryRow
-- plan: idx_delivery_events_message, primary key
-- sort: the messages asked for
SELECT
    messages.message_id,
    messages.owner_member_id,
    messages.created_at,
    messages.status_state,
    messages.urgent,
    members.fleet_id,
    members.status AS owner_status,
    messages.delivery_state,
    member_placements.screen IS 'gone' AS owner_gone,
    (
        SELECT delivery_events.reason
        FROM delivery_events
        WHERE delivery_events.message_id = messages.message_id
        ORDER BY delivery_events.event_id DESC
        LIMIT 1
    ) AS reason
FROM json_each(:message_ids) AS asked
INNER JOIN messages ON asked.value = messages.message_id
INNER JOIN members ON messages.owner_member_id = members.member_id
LEFT JOIN member_placements ON messages.owner_member_id = member_placements.member_id
ORDER BY messages.message_id;

-- name: mark_deliveries_typed(message_ids)
-- Mark the notices that are about to be pasted, and return them. A notice that is no longer owed stays
-- as it is. Two passes cannot both mark one.
-- params: message_ids list[int]
-- returns: MessageIdRow
-- plan: primary key
UPDATE messages
SET delivery_state = 'typed'
WHERE
    message_id IN (SELECT asked.value FROM json_each(:message_ids) AS asked)
    AND delivery_state IN ('queued', 'held', 'unreachable')
RETURNING message_id;

-- name: list_judged_otherwise(member_ids, delivery_state, reason)
-- What waits for some members to be typed, in another state or for another reason than this one. So
-- much may wait that only what changes is worth reading.
-- Why 'typed' in the list and <> 'typed' below it: SQLite takes the partial index idx_messages_owed
-- only for the very predicate of the index. What is being typed does not wait.
-- params: member_ids list[int], delivery_state DeliveryState, reason str
-- returns: MessageIdRow
-- plan: idx_delivery_events_message, idx_messages_owed
-- sort: what changes
SELECT messages.message_id
FROM json_each(:member_ids) AS asked
INNER JOIN messages ON asked.value = messages.owner_member_id
WHERE
    messages.delivery_state IN ('queued', 'held', 'unreachable', 'typed')
    AND messages.delivery_state <> 'typed'
    AND (
        messages.delivery_state <> :delivery_state
        OR :reason IS NOT (
            SELECT delivery_events.reason
            FROM delivery_events
            WHERE delivery_events.message_id = messages.message_id
            ORDER BY delivery_events.event_id DESC
            LIMIT 1
        )
    )
ORDER BY messages.message_id;

-- name: mark_deliveries_waiting(message_ids, delivery_state)
-- Mark the notices that could not be typed, and return them. They stay owed, as held or unreachable.
-- params: message_ids list[int], delivery_state DeliveryState
-- returns: MessageIdRow
-- plan: primary key
UPDATE messages
SET delivery_state = :delivery_state
WHERE
    message_id IN (SELECT asked.value FROM json_each(:message_ids) AS asked)
    AND delivery_state IN ('queued', 'held', 'unreachable')
RETURNING message_id;

-- name: settle_typed_deliveries(message_ids, delivery_state)
-- Note what became of notices that were typed, and return them.
-- params: message_ids list[int], delivery_state DeliveryState
-- returns: MessageIdRow
-- plan: primary key
UPDATE messages
SET delivery_state = :delivery_state
WHERE
    message_id IN (SELECT asked.value FROM json_each(:message_ids) AS asked)
    AND delivery_state = 'typed'
RETURNING message_id;

-- name: settle_unsure_deliveries(message_ids)
-- Note that late evidence shows unsure notices to be submitted, and return them. A notice to a member
-- that has left stays unsure.
-- params: message_ids list[int]
-- returns: MessageIdRow
-- plan: primary key
UPDATE messages
SET delivery_state = 'submitted'
WHERE
    message_id IN (SELECT asked.value FROM json_each(:message_ids) AS asked)
    AND delivery_state = 'unsure'
    AND EXISTS (
        SELECT 1
        FROM members
        WHERE members.member_id = messages.owner_member_id AND members.status = 'active'
    )
RETURNING message_id;

-- name: list_acknowledged(message_ids)
-- Which of these deliveries their recipient has acknowledged, so that it must have seen them.
-- params: message_ids list[int]
-- returns: MessageIdRow
-- plan: primary key
-- sort: the messages asked for
SELECT messages.message_id
FROM json_each(:message_ids) AS asked
INNER JOIN messages ON asked.value = messages.message_id
WHERE messages.status_state = 'completed'
ORDER BY messages.message_id;

-- name: mark_deliveries_seen(message_ids)
-- Mark the deliveries that their recipient has polled or acknowledged, and return them. This state is
-- final. A notice that is being typed is left to the pass that types it.
-- params: message_ids list[int]
-- returns: MessageIdRow
-- plan: primary key
UPDATE messages
SET delivery_state = 'seen'
WHERE
    message_id IN (SELECT asked.value FROM json_each(:message_ids) AS asked)
    AND type = 'unicast'
    AND delivery_state IN ('none', 'queued', 'held', 'unreachable', 'submitted', 'unsure')
RETURNING message_id;

-- name: mark_deliveries_void(message_ids)
-- Mark the notices that are no longer due because their recipient has left, and return them.
-- params: message_ids list[int]
-- returns: MessageIdRow
-- plan: primary key
UPDATE messages
SET delivery_state = 'none'
WHERE
    message_id IN (SELECT asked.value FROM json_each(:message_ids) AS asked)
    AND delivery_state IN ('queued', 'held', 'unreachable')
RETURNING message_id;

-- name: list_owing(fleet_id)
-- Which active members of a fleet have a pane and are owed notices, or have a text in it that is
-- not settled; `untried` tells whether one of the notices was not looked for yet, `typed` whether
-- something was being typed, `unsure` whether a text may still stand in the pane, `pressing` whether a
-- notice is urgent, `unreachable` whether there is nothing but unreachable ones. One of unknown
-- status is among them: its pass tells of it.
-- params: fleet_id int
-- returns: OwingRow
-- plan: idx_members_fleet_status, idx_messages_owed, primary key
-- sort: grouped by member, over what is owed in one fleet
SELECT
    members.member_id,
    member_placements.mux_pane_id,
    member_placements.mux_socket,
    coalesce(max(messages.delivery_state = 'queued'), 0) AS untried,
    coalesce(max(messages.delivery_state = 'typed' OR typings.state = 'typed'), 0) AS typed,
    coalesce(max(typings.state <> 'typed'), 0) AS unsure,
    coalesce(max(messages.urgent <> 0), 0) AS pressing,
    coalesce(min(messages.delivery_state = 'unreachable'), 0) AS unreachable
FROM members
INNER JOIN member_placements ON members.member_id = member_placements.member_id
LEFT JOIN typings ON members.member_id = typings.member_id
LEFT JOIN messages
    ON
        members.member_id = messages.owner_member_id
        AND messages.delivery_state IN ('queued', 'held', 'unreachable', 'typed')
WHERE
    members.fleet_id = :fleet_id
    AND members.status <> 'deregistered'
    AND member_placements.mux_pane_id IS NOT NULL
    AND (messages.message_id IS NOT NULL OR typings.member_id IS NOT NULL)
GROUP BY members.member_id, member_placements.mux_pane_id, member_placements.mux_socket
ORDER BY members.member_id;

-- name: list_fleet_owed_ids(fleet_id)
-- Every delivery whose notice is still owed to an active member of a fleet, or to one of a status
-- that nobody knows.
-- params: fleet_id int
-- returns: MessageIdRow
-- plan: idx_members_fleet_status, idx_messages_owed
-- sort: what is owed in one fleet
SELECT messages.message_id
FROM members
INNER JOIN messages ON members.member_id = messages.owner_member_id
WHERE
    members.fleet_id = :fleet_id
    AND members.status <> 'deregistered'
    AND messages.delivery_state IN ('queued', 'held', 'unreachable', 'typed')
ORDER BY messages.message_id;

-- name: list_fleet_unsure_ids(fleet_id)
-- Every delivery of which it is not known whether its notice has reached an active member of a fleet.
-- params: fleet_id int
-- returns: MessageIdRow
-- plan: idx_members_fleet_status, idx_messages_unsure
-- sort: what is unsure in one fleet
SELECT messages.message_id
FROM members
INNER JOIN messages ON members.member_id = messages.owner_member_id
WHERE
    members.fleet_id = :fleet_id
    AND members.status <> 'deregistered'
    AND messages.delivery_state = 'unsure'
ORDER BY messages.message_id;

-- name: list_missing_senders()
-- The senders that no member row stands for, each with the number of its messages. History outlives
-- a member that was removed by hand.
-- Why the recursion: it steps from one sender to the next in the index, however much each has sent.
-- returns: MissingSenderRow
-- plan: idx_messages_sent, primary key
-- scan: senders (one row per sender)
-- sort: the few that are missing
WITH RECURSIVE
senders (member_id) AS (
    SELECT min(messages.from_member_id)
    FROM messages
    UNION ALL
    SELECT (
        SELECT min(messages.from_member_id)
        FROM messages
        WHERE messages.from_member_id > senders.member_id
    )
    FROM senders
    WHERE senders.member_id IS NOT NULL
)

SELECT
    senders.member_id,
    (
        SELECT count(*)
        FROM messages
        WHERE messages.from_member_id = senders.member_id
    ) AS message_count
FROM senders
LEFT JOIN members ON senders.member_id = members.member_id
WHERE senders.member_id IS NOT NULL AND members.member_id IS NULL
ORDER BY senders.member_id;

-- name: list_stored_messages(after_id, until_id, limit)
-- Every row with every column, a page at a time: what `cafleet db check` decodes.
-- params: after_id int = messages.message_id, until_id int = messages.message_id, limit int
-- returns: StoredMessageRow
-- plan: primary key
SELECT
    messages.message_id,
    messages.owner_member_id,
    messages.from_member_id,
    messages.to_member_id,
    messages.type,
    messages.created_at,
    messages.status_state,
    messages.status_timestamp,
    messages.origin_message_id,
    messages.text,
    messages.delivery_state,
    messages.urgent,
    messages.forwarded_from
FROM messages
WHERE messages.message_id > :after_id AND messages.message_id <= :until_id
ORDER BY messages.message_id
LIMIT :limit;

-- name: list_message_faults(after_id, until_id)
-- The messages among these ids that break a rule, each with the first one that it breaks.
-- A sender need not exist: history outlives it. What was there before schema 9 has no events.
-- params: after_id int = messages.message_id, until_id int = messages.message_id
-- returns: MessageFaultRow
-- plan: idx_delivery_events_message, idx_messages_origin, primary key
WITH judged AS (
    SELECT
        messages.message_id,
        CASE
            WHEN messages.type = 'unicast' AND messages.to_member_id IS NOT messages.owner_member_id
                THEN 'is a delivery that is not owned by its recipient'
            WHEN messages.type = 'unicast' AND senders.fleet_id <> owners.fleet_id
                THEN 'went from one fleet to another'
            WHEN
                messages.type = 'unicast'
                AND messages.origin_message_id IS NOT NULL
                AND (
                    origins.type IS NOT 'broadcast_summary'
                    OR origins.from_member_id <> messages.from_member_id
                )
                THEN 'has an origin that is no broadcast of its sender'
            WHEN
                messages.type = 'broadcast_summary'
                AND (
                    messages.origin_message_id IS NOT messages.message_id
                    OR messages.owner_member_id <> messages.from_member_id
                    OR messages.to_member_id IS NOT NULL
                    OR messages.status_state <> 'completed'
                    OR messages.delivery_state <> 'none'
                )
                THEN 'is a broadcast summary unlike any that a broadcast makes'
            WHEN
                messages.type = 'broadcast_summary'
                AND messages.text <> 'Broadcast sent to ' || (
                    SELECT count(*)
                    FROM messages AS parts
                    WHERE
                        parts.origin_message_id = messages.message_id
                        AND parts.type = 'unicast'
                        AND parts.origin_message_id IS NOT NULL
                ) || ' recipients'
                THEN 'is a broadcast summary that does not count its deliveries right'
            WHEN
                messages.status_state = 'input_required'
                AND messages.status_timestamp <> messages.created_at
                THEN 'waits for its acknowledgement since another time than it was sent'
            WHEN
                messages.type = 'unicast'
                AND messages.status_state = 'completed'
                AND messages.owner_member_id <> messages.from_member_id
                AND messages.delivery_state NOT IN ('seen', 'typed')
                THEN 'is acknowledged, and its notice does not count as seen'
            WHEN
                messages.delivery_state <> coalesce(
                    (
                        SELECT delivery_events.state
                        FROM delivery_events
                        WHERE delivery_events.message_id = messages.message_id
                        ORDER BY delivery_events.event_id DESC
                        LIMIT 1
                    ),
                    iif(
                        messages.delivery_state IN ('none', 'queued', 'seen'),
                        messages.delivery_state,
                        ''
                    )
                )
                THEN 'is in a delivery state that is not that of its last event'
        END AS fault
    FROM messages
    INNER JOIN members AS owners ON messages.owner_member_id = owners.member_id
    LEFT JOIN members AS senders ON messages.from_member_id = senders.member_id
    LEFT JOIN messages AS origins ON messages.origin_message_id = origins.message_id
    WHERE messages.message_id > :after_id AND messages.message_id <= :until_id
)

SELECT
    judged.message_id,
    judged.fault
FROM judged
WHERE judged.fault IS NOT NULL
ORDER BY judged.message_id;

-- name: list_predecessor_messages(after_id, limit)
-- The messages of a database of the published Python program, whose table has these columns, a page
-- at a time. Its releases before 0.21 knew a third state, which its later ones took for completed.
-- params: after_id int = messages.message_id, limit int
-- returns: PredecessorMessageRow
-- plan: primary key
SELECT
    messages.message_id,
    messages.owner_member_id,
    messages.from_member_id,
    messages.to_member_id,
    messages.type,
    messages.created_at,
    messages.status_timestamp,
    messages.origin_message_id,
    messages.text,
    CASE messages.status_state
        WHEN 'canceled' THEN 'completed'
        ELSE messages.status_state
    END AS status_state
FROM messages
WHERE messages.message_id > :after_id
ORDER BY messages.message_id
LIMIT :limit;

-- name: insert_imported_message(message_id, owner_member_id, from_member_id, to_member_id, type, created_at, status_state, status_timestamp, origin_message_id, text, delivery_state)!
-- A message with the id that it gets here.
-- params: message_id int, owner_member_id int, from_member_id int, to_member_id int | None, type MessageType, created_at str, status_state MessageState, status_timestamp str, origin_message_id int | None, text str, delivery_state DeliveryState
INSERT INTO messages (
    message_id,
    owner_member_id,
    from_member_id,
    to_member_id,
    type,
    created_at,
    status_state,
    status_timestamp,
    origin_message_id,
    text,
    delivery_state
)
VALUES (
    :message_id,
    :owner_member_id,
    :from_member_id,
    :to_member_id,
    :type,
    :created_at,
    :status_state,
    :status_timestamp,
    :origin_message_id,
    :text,
    :delivery_state
);
