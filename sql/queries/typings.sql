-- name: insert_typing(member_id, kind, text, marker, mux_pane_id, program, token, picture, now)^
-- A text that is about to be pasted into a member's pane.
-- params: member_id int, kind TypingKind, text str, marker str | None, mux_pane_id str, program str, token str, picture str | None, now str
-- returns: TypingRow
INSERT INTO typings (
    member_id,
    kind,
    text,
    marker,
    mux_pane_id,
    program,
    token,
    typed_at,
    state,
    picture
)
VALUES (
    :member_id,
    :kind,
    :text,
    :marker,
    :mux_pane_id,
    :program,
    :token,
    :now,
    'typed',
    :picture
)
RETURNING
    member_id,
    kind,
    text,
    marker,
    mux_pane_id,
    program,
    token,
    typed_at,
    enters,
    state,
    evidence,
    settled_at,
    picture;

-- name: list_typings(member_ids)
-- What may stand in the panes of some members.
-- params: member_ids list[int]
-- returns: TypingRow
-- plan: primary key
-- sort: the members asked for
SELECT
    typings.member_id,
    typings.kind,
    typings.text,
    typings.marker,
    typings.mux_pane_id,
    typings.program,
    typings.token,
    typings.typed_at,
    typings.enters,
    typings.state,
    typings.evidence,
    typings.settled_at,
    typings.picture
FROM json_each(:member_ids) AS asked
INNER JOIN typings ON asked.value = typings.member_id
ORDER BY typings.member_id;

-- name: mark_typings_entered(member_ids)!
-- Enter is about to be pressed on these texts.
-- params: member_ids list[int]
-- plan: primary key
UPDATE typings
SET enters = enters + 1
WHERE member_id IN (SELECT asked.value FROM json_each(:member_ids) AS asked);

-- name: mark_typing_unsure(member_id, evidence, picture, now)!
-- Nothing proves what became of a text that may still stand in the pane.
-- params: member_id int, evidence str, picture str | None, now str
-- plan: primary key
UPDATE typings
SET state = 'unsure', evidence = :evidence, picture = :picture, settled_at = :now
WHERE member_id = :member_id;

-- name: set_typing_picture(member_id, picture)!
-- Go on comparing with another picture, since the pane has another size.
-- params: member_id int, picture str
-- plan: primary key
UPDATE typings
SET picture = :picture
WHERE member_id = :member_id AND state = 'unsure';

-- name: delete_typings(member_ids)!
-- These texts are settled, or their members have left. The list of their messages goes with them.
-- params: member_ids list[int]
-- plan: primary key
DELETE FROM typings
WHERE member_id IN (SELECT asked.value FROM json_each(:member_ids) AS asked);

-- name: list_stored_typings(after_id, until_id, limit)
-- Every row with every column, a page at a time: what `cafleet db check` decodes.
-- params: after_id int = typings.member_id, until_id int = typings.member_id, limit int
-- returns: TypingRow
-- plan: primary key
SELECT
    typings.member_id,
    typings.kind,
    typings.text,
    typings.marker,
    typings.mux_pane_id,
    typings.program,
    typings.token,
    typings.typed_at,
    typings.enters,
    typings.state,
    typings.evidence,
    typings.settled_at,
    typings.picture
FROM typings
WHERE typings.member_id > :after_id AND typings.member_id <= :until_id
ORDER BY typings.member_id
LIMIT :limit;
