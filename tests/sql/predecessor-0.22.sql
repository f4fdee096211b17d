BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0006');
CREATE TABLE asset_installs (
	coding_agent VARCHAR NOT NULL, 
	cafleet_version VARCHAR NOT NULL, 
	installed_at VARCHAR NOT NULL, 
	PRIMARY KEY (coding_agent)
);
INSERT INTO "asset_installs" VALUES('claude','0.22.0','2026-12-01T03:53:31.380382+00:00');
CREATE TABLE fleets (
	fleet_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name VARCHAR, 
	created_at VARCHAR NOT NULL, 
	deleted_at VARCHAR, 
	director_member_id INTEGER, 
	FOREIGN KEY(director_member_id) REFERENCES members (member_id) ON DELETE RESTRICT
);
INSERT INTO "fleets" VALUES(1,'one','2026-12-01T03:52:52.051704+00:00',NULL,1);
INSERT INTO "fleets" VALUES(2,NULL,'2026-12-01T03:52:56.267950+00:00','2026-12-01T03:52:57.401088+00:00',7);
INSERT INTO "fleets" VALUES(3,'three','2026-12-01T03:52:57.839358+00:00',NULL,9);
CREATE TABLE "member_placements" (
	member_id INTEGER NOT NULL, 
	mux_session VARCHAR NOT NULL, 
	mux_window_id VARCHAR NOT NULL, 
	mux_pane_id VARCHAR, 
	backend VARCHAR DEFAULT 'tmux' NOT NULL, 
	coding_agent VARCHAR NOT NULL, 
	created_at VARCHAR NOT NULL, 
	PRIMARY KEY (member_id), 
	FOREIGN KEY(member_id) REFERENCES members (member_id) ON DELETE CASCADE
);
INSERT INTO "member_placements" VALUES(1,'main','@0','%0','tmux','claude','2026-12-01T03:52:52.051704+00:00');
INSERT INTO "member_placements" VALUES(2,'main','@0','%1','tmux','claude','2026-12-01T03:52:52.776006+00:00');
INSERT INTO "member_placements" VALUES(3,'main','@0','%2','tmux','codex','2026-12-01T03:52:53.201013+00:00');
INSERT INTO "member_placements" VALUES(4,'main','@0',NULL,'tmux','opencode','2026-12-01T03:52:53.421352+00:00');
INSERT INTO "member_placements" VALUES(9,'main','@0','%9','tmux','claude','2026-12-01T03:52:57.839358+00:00');
CREATE TABLE members (
	member_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	fleet_id INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	description VARCHAR NOT NULL, 
	status VARCHAR NOT NULL, 
	registered_at VARCHAR NOT NULL, 
	deregistered_at VARCHAR, 
	member_card_json VARCHAR NOT NULL, 
	FOREIGN KEY(fleet_id) REFERENCES fleets (fleet_id) ON DELETE RESTRICT
);
INSERT INTO "members" VALUES(1,1,'Director','Root Director for this fleet','active','2026-12-01T03:52:52.051704+00:00',NULL,'{"name": "Director", "description": "Root Director for this fleet", "skills": []}');
INSERT INTO "members" VALUES(2,1,'watcher','watches','active','2026-12-01T03:52:52.776006+00:00',NULL,'{"name": "watcher", "description": "watches", "skills": [], "cafleet": {"kind": "monitoring-member"}}');
INSERT INTO "members" VALUES(3,1,'ann','writes the tests','active','2026-12-01T03:52:53.201013+00:00',NULL,'{"name": "ann", "description": "writes the tests", "skills": [{"id": "py", "name": "Python"}]}');
INSERT INTO "members" VALUES(4,1,'bób ☃','reads ''em','active','2026-12-01T03:52:53.421352+00:00',NULL,'{"name": "b\u00f3b \u2603", "description": "reads ''em", "skills": []}');
INSERT INTO "members" VALUES(5,1,'paneless','no pane at all','active','2026-12-01T03:52:53.646803+00:00',NULL,'{"name": "paneless", "description": "no pane at all", "skills": []}');
INSERT INTO "members" VALUES(6,1,'gone','leaves early','deregistered','2026-12-01T03:52:53.717426+00:00','2026-12-01T03:52:56.103317+00:00','{"name": "gone", "description": "leaves early", "skills": []}');
INSERT INTO "members" VALUES(7,2,'Director','Root Director for this fleet','deregistered','2026-12-01T03:52:56.267950+00:00','2026-12-01T03:52:57.401088+00:00','{"name": "Director", "description": "Root Director for this fleet", "skills": []}');
INSERT INTO "members" VALUES(8,2,'cat','of the second','deregistered','2026-12-01T03:52:56.509637+00:00','2026-12-01T03:52:57.401088+00:00','{"name": "cat", "description": "of the second", "skills": []}');
INSERT INTO "members" VALUES(9,3,'Director','Root Director for this fleet','active','2026-12-01T03:52:57.839358+00:00',NULL,'{"name": "Director", "description": "Root Director for this fleet", "skills": []}');
CREATE TABLE messages (
	message_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	owner_member_id INTEGER NOT NULL, 
	from_member_id INTEGER NOT NULL, 
	to_member_id INTEGER, 
	type VARCHAR NOT NULL, 
	created_at VARCHAR NOT NULL, 
	status_state VARCHAR NOT NULL, 
	status_timestamp VARCHAR NOT NULL, 
	origin_message_id INTEGER, 
	text VARCHAR NOT NULL, 
	FOREIGN KEY(owner_member_id) REFERENCES members (member_id) ON DELETE RESTRICT
);
INSERT INTO "messages" VALUES(1,3,1,3,'unicast','2026-12-01T03:52:54.207907+00:00','completed','2026-12-01T03:52:55.774825+00:00',NULL,'first task

with two lines and "quotes" and an emoji 🚀');
INSERT INTO "messages" VALUES(2,1,3,1,'unicast','2026-12-01T03:52:54.498333+00:00','input_required','2026-12-01T03:52:54.498333+00:00',NULL,'done; -- DROP TABLE messages');
INSERT INTO "messages" VALUES(3,3,6,3,'unicast','2026-12-01T03:52:54.924845+00:00','input_required','2026-12-01T03:52:54.924845+00:00',NULL,'from one who leaves');
INSERT INTO "messages" VALUES(4,3,3,3,'unicast','2026-12-01T03:52:55.027306+00:00','input_required','2026-12-01T03:52:55.027306+00:00',NULL,'a note to myself');
INSERT INTO "messages" VALUES(5,6,1,6,'unicast','2026-12-01T03:52:55.290337+00:00','input_required','2026-12-01T03:52:55.290337+00:00',NULL,'never acknowledged');
INSERT INTO "messages" VALUES(6,1,1,NULL,'broadcast_summary','2026-12-01T03:52:55.419134+00:00','completed','2026-12-01T03:52:55.419134+00:00',6,'Broadcast sent to 5 recipients');
INSERT INTO "messages" VALUES(7,2,1,2,'unicast','2026-12-01T03:52:55.419134+00:00','input_required','2026-12-01T03:52:55.419134+00:00',6,'hear ye');
INSERT INTO "messages" VALUES(8,3,1,3,'unicast','2026-12-01T03:52:55.419134+00:00','input_required','2026-12-01T03:52:55.419134+00:00',6,'hear ye');
INSERT INTO "messages" VALUES(9,4,1,4,'unicast','2026-12-01T03:52:55.419134+00:00','input_required','2026-12-01T03:52:55.419134+00:00',6,'hear ye');
INSERT INTO "messages" VALUES(10,5,1,5,'unicast','2026-12-01T03:52:55.419134+00:00','input_required','2026-12-01T03:52:55.419134+00:00',6,'hear ye');
INSERT INTO "messages" VALUES(11,6,1,6,'unicast','2026-12-01T03:52:55.419134+00:00','input_required','2026-12-01T03:52:55.419134+00:00',6,'hear ye');
INSERT INTO "messages" VALUES(12,3,3,NULL,'broadcast_summary','2026-12-01T03:52:55.865716+00:00','completed','2026-12-01T03:52:55.865716+00:00',12,'Broadcast sent to 5 recipients');
INSERT INTO "messages" VALUES(13,1,3,1,'unicast','2026-12-01T03:52:55.865716+00:00','input_required','2026-12-01T03:52:55.865716+00:00',12,'I am done, all');
INSERT INTO "messages" VALUES(14,2,3,2,'unicast','2026-12-01T03:52:55.865716+00:00','input_required','2026-12-01T03:52:55.865716+00:00',12,'I am done, all');
INSERT INTO "messages" VALUES(15,4,3,4,'unicast','2026-12-01T03:52:55.865716+00:00','input_required','2026-12-01T03:52:55.865716+00:00',12,'I am done, all');
INSERT INTO "messages" VALUES(16,5,3,5,'unicast','2026-12-01T03:52:55.865716+00:00','input_required','2026-12-01T03:52:55.865716+00:00',12,'I am done, all');
INSERT INTO "messages" VALUES(17,6,3,6,'unicast','2026-12-01T03:52:55.865716+00:00','input_required','2026-12-01T03:52:55.865716+00:00',12,'I am done, all');
INSERT INTO "messages" VALUES(18,8,7,8,'unicast','2026-12-01T03:52:56.811672+00:00','completed','2026-12-01T03:52:57.106036+00:00',NULL,'in the second fleet');
INSERT INTO "messages" VALUES(19,7,8,7,'unicast','2026-12-01T03:52:57.247973+00:00','input_required','2026-12-01T03:52:57.247973+00:00',NULL,'still open when it ended');
CREATE TABLE "monitor_config" (
	member_id INTEGER NOT NULL, 
	interval_seconds INTEGER DEFAULT '60' NOT NULL, 
	last_ping_at VARCHAR, 
	enabled INTEGER DEFAULT '1' NOT NULL, 
	last_stall_check_at VARCHAR, 
	PRIMARY KEY (member_id), 
	FOREIGN KEY(member_id) REFERENCES members (member_id) ON DELETE CASCADE
);
INSERT INTO "monitor_config" VALUES(1,180,NULL,1,NULL);
INSERT INTO "monitor_config" VALUES(3,720,'2026-12-01T03:52:58.122424+00:00',1,NULL);
INSERT INTO "monitor_config" VALUES(4,720,NULL,1,NULL);
INSERT INTO "monitor_config" VALUES(9,180,NULL,1,NULL);
CREATE TABLE monitor_runtime (
	fleet_id INTEGER NOT NULL, 
	pid INTEGER, 
	started_at VARCHAR, 
	last_tick_at VARCHAR, 
	tick_seconds INTEGER DEFAULT '5' NOT NULL, 
	PRIMARY KEY (fleet_id), 
	FOREIGN KEY(fleet_id) REFERENCES fleets (fleet_id) ON DELETE RESTRICT
);
INSERT INTO "monitor_runtime" VALUES(1,4242,'2026-12-01T03:52:58.034966+00:00','2026-12-01T03:52:58.034966+00:00',5);
CREATE INDEX idx_members_fleet_status ON members (fleet_id, status);
CREATE INDEX idx_messages_owner_member_status_ts ON messages (owner_member_id, status_timestamp);
CREATE INDEX idx_messages_from_member_status_ts ON messages (from_member_id, status_timestamp);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('fleets',3);
INSERT INTO "sqlite_sequence" VALUES('members',9);
INSERT INTO "sqlite_sequence" VALUES('messages',19);
COMMIT;
