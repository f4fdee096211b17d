/** How deliveries become the entries of a timeline. */

/**
 * The entries of these deliveries, oldest first: `{ key, at, deliveries }`.
 *
 * Deliveries of one origin are one entry, at the earliest of their times; one without an origin
 * stands alone. Summaries are left out. Deliveries are in the order of their ids.
 */
export function entries(messages) {
  const groups = new Map();
  for (const message of messages.filter((each) => each.type !== "broadcast_summary")) {
    const origin = message.origin_message_id;
    const key = origin === null ? `message-${message.message_id}` : `broadcast-${origin}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(message);
  }
  return [...groups].map(([key, deliveries]) => entry(key, deliveries)).sort(byTime);
}

function entry(key, deliveries) {
  deliveries.sort((a, b) => a.message_id - b.message_id);
  const at = deliveries.map((each) => each.created_at).reduce((a, b) => (b < a ? b : a));
  return { key, at, deliveries, broadcast: deliveries[0].origin_message_id !== null };
}

function byTime(a, b) {
  if (a.at !== b.at) return a.at < b.at ? -1 : 1;
  return a.deliveries[0].message_id - b.deliveries[0].message_id;
}
