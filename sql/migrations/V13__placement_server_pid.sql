-- The process id of the multiplexer server that holds the pane. A process knows its pane by what its
-- server put into its environment, socket and pid; the socket alone may be another server's by now.
-- Null in old rows: whoever runs in such a pane is known by its variables only.
-- Cost: none; a new nullable column rewrites no row.
ALTER TABLE member_placements ADD COLUMN mux_server_pid INTEGER;
