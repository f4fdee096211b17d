/** The messages of a fleet, oldest at the top, the newest in view at the bottom. */

import { announce, el, keyedList, setText } from "./dom.js";
import { counted, day, full, shownName } from "./format.js";
import { visible } from "./hidden.js";
import { entries } from "./grouping.js";
import { History } from "./history.js";
import { arrow, body, delivery, memberLink, states, time } from "./message.js";
import { Part } from "./part.js";
import { pinned } from "./scrolling.js";
import { acknowledged } from "./states.js";

const NOTE = "Counted are the deliveries that this page has fetched.";

/**
 * The timeline of the fleet that `api` speaks of: `{ element, refresh(), toEnd() }`.
 *
 * `onMessages(messages, { complete })` is given all that was fetched whenever that changes.
 */
export function timeline({ api, fleetId, onMessages }) {
  const history = new History(api, "timeline");
  const list = el("ol", { class: "entries" });
  const edge = el("p", { class: "edge" });
  const empty = el(
    "p",
    { class: "empty", hidden: true },
    "No messages yet. Write the first one below.",
  );
  const newer = el("button", { class: "newer", type: "button", hidden: true });
  let seen = null;

  const part = new Part({
    name: "the timeline",
    load: () => history.refresh(),
    show,
    signal: api.signal,
  });
  const older = new Part({
    name: "earlier messages",
    load: () => history.earlier(),
    show,
    signal: api.signal,
  });
  const earlier = el(
    "button",
    { type: "button", hidden: true, onclick: () => older.refresh() },
    "Show earlier messages",
  );
  edge.append(earlier);

  const scroller = el(
    "div",
    { class: "scroller", tabindex: "0", role: "region", "aria-label": "Messages" },
    edge,
    older.notice,
    part.loading,
    empty,
    list,
  );
  const scroll = pinned(scroller, list, { onEnd: () => (newer.hidden = true) });
  newer.addEventListener("click", () => {
    scroll.toEnd();
    scroller.focus();
  });
  const fill = keyedList(list, {
    key: (item) => item.key,
    make: (item) => make(item, { api, fleetId }),
  });

  function show() {
    const messages = history.messages;
    const items = withDays(entries(messages));
    scroll.keep(() => fill(items));
    earlier.hidden = history.complete;
    empty.hidden = items.length > 0;
    tellOf(messages);
    onMessages(messages, { complete: history.complete });
  }

  function tellOf(messages) {
    const newest = messages[0]?.message_id ?? 0;
    const fresh = seen === null ? [] : entries(messages.filter((each) => each.message_id > seen));
    seen = newest;
    if (fresh.length === 0) return;
    announce(fresh.length === 1 ? spoken(fresh[0]) : `${fresh.length} new messages`);
    if (scroll.atEnd()) return;
    setText(newer, "New messages below");
    newer.hidden = false;
  }

  const element = el(
    "section",
    { class: "timeline", "aria-labelledby": "timeline-title" },
    el("h2", { id: "timeline-title" }, "Timeline"),
    part.notice,
    scroller,
    newer,
  );
  return { element, refresh: () => part.refresh(), toEnd: scroll.toEnd };
}

function spoken({ broadcast, deliveries: [first] }) {
  const to = broadcast ? "everyone" : shownName(first.to_member_name);
  const name = first.from_member_name;
  const from = name === null ? `#${first.from_member_id}` : shownName(name);
  return `${from} to ${to}: ${visible(first.body.slice(0, 120))}`;
}

/** The entries, with an item where a new day begins. */
function withDays(all) {
  const items = [];
  let last = null;
  for (const entry of all) {
    const today = day(entry.at);
    if (today !== last) items.push({ key: `day-${today}`, day: today });
    last = today;
    items.push(entry);
  }
  return items;
}

function make(item, context) {
  if (item.day !== undefined) return dayLine(item);
  return item.broadcast ? broadcast(item, context) : single(item, context);
}

function dayLine(item) {
  return { element: el("li", { class: "day" }, item.day), update: () => {} };
}

function single(item, context) {
  const view = delivery(item.deliveries[0], context);
  return { element: view.element, update: ({ deliveries }) => view.update(deliveries[0]) };
}

function broadcast(item, { api, fleetId }) {
  const [first] = item.deliveries;
  const count = el("summary", { title: NOTE });
  const rows = el("ul", { class: "recipients" });
  const when = el("span");
  const fill = keyedList(rows, {
    key: (message) => message.message_id,
    make: (message) => recipient(message, { api, fleetId }),
  });
  const element = el(
    "li",
    { class: "entry broadcast", "data-origin": first.origin_message_id },
    el(
      "div",
      { class: "head" },
      memberLink(fleetId, first.from_member_id, first.from_member_name),
      arrow(),
      el("strong", {}, "everyone"),
      el("span", { class: "tag" }, "broadcast"),
      el("span", { class: "when" }, `#${first.origin_message_id} `, when),
    ),
    body(first.body),
    el("details", {}, count, rows),
  );
  const update = ({ at, deliveries }) => {
    if (when.firstChild?.dateTime !== at) when.replaceChildren(time(at));
    const done = deliveries.filter(acknowledged);
    setText(
      count,
      `${counted(deliveries.length, "fetched recipient")}, ${counted(done.length, "ACK")}`,
    );
    count.title = [NOTE, ...done.map(ackLine)].join("\n");
    fill(deliveries);
  };
  return { element, update };
}

function recipient(message, { api, fleetId }) {
  const name = memberLink(fleetId, message.to_member_id, message.to_member_name);
  const row = states(message, { api, lead: name });
  return {
    element: el("li", { "data-message": message.message_id }, row.element),
    update: row.update,
  };
}

function ackLine(message) {
  return `${shownName(message.to_member_name)}: ${full(message.status_timestamp)}`;
}
