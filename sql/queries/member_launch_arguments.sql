-- name: insert_launch_argument(member_id, position, kind, argument)!
-- An argument that the user gave for a member's coding agent.
-- params: member_id int, position int, kind ArgumentKind, argument str
INSERT INTO member_launch_arguments (member_id, position, kind, argument)
VALUES (:member_id, :position, :kind, :argument);

-- name: list_launch_arguments(member_id)
-- The arguments of a member's coding agent, in their order.
-- params: member_id int
-- returns: LaunchArgumentRow
-- plan: idx_member_launch_arguments_member
SELECT
    member_launch_arguments.argument_id,
    member_launch_arguments.member_id,
    member_launch_arguments.position,
    member_launch_arguments.kind,
    member_launch_arguments.argument
FROM member_launch_arguments
WHERE member_launch_arguments.member_id = :member_id
ORDER BY member_launch_arguments.position, member_launch_arguments.argument_id;

-- name: list_stored_launch_arguments(after_id, until_id, limit)
-- Every row with every column, a page at a time: what `cafleet db check` decodes.
-- params: after_id int = member_launch_arguments.argument_id, until_id int = member_launch_arguments.argument_id, limit int
-- returns: LaunchArgumentRow
-- plan: primary key
SELECT
    member_launch_arguments.argument_id,
    member_launch_arguments.member_id,
    member_launch_arguments.position,
    member_launch_arguments.kind,
    member_launch_arguments.argument
FROM member_launch_arguments
WHERE
    member_launch_arguments.argument_id > :after_id
    AND member_launch_arguments.argument_id <= :until_id
ORDER BY member_launch_arguments.argument_id
LIMIT :limit;
