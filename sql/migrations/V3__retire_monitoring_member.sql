-- The kind `monitoring-member` is retired: its whole marker is taken off the card, which
-- makes the member an ordinary one. Cards that are not JSON are left as they are.
-- Cost: members is read once.
-- Why CASE: it alone promises that the card is not parsed before it is known to be JSON.
UPDATE members
SET member_card_json = json_remove(member_card_json, '$.cafleet')
WHERE CASE
        WHEN typeof(member_card_json) = 'text' AND json_valid(member_card_json)
            THEN json_extract(member_card_json, '$.cafleet.kind') = 'monitoring-member'
        ELSE FALSE
    END;
