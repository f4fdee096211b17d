/** The panel of one member: who it is, what it received and what it sent. */

import { client } from "./api.js";
import { bidi, el, keyedList, setText } from "./dom.js";
import { full, shownName } from "./format.js";
import { visible } from "./hidden.js";
import { History } from "./history.js";
import { delivery } from "./message.js";
import { Part } from "./part.js";
import { address } from "./router.js";
import { tabs } from "./tabs.js";

/** The panel: `{ element, refresh(), setMembers(members), focus(), close() }`. */
export function memberPanel({ fleetId, memberId, signal }) {
  const closing = new AbortController();
  const api = client(fleetId, AbortSignal.any([signal, closing.signal]));
  const context = { api, fleetId };
  const title = el("h2", { tabindex: "-1", id: "member-title" }, `Member ${memberId}`);
  const facts = el("dl");
  const description = el("p", { class: "description", dir: "auto" });
  const inbox = listing(context, memberId, "inbox", "Nothing was sent to this member.");
  const sent = listing(context, memberId, "sent", "This member has sent nothing.");
  const element = el(
    "aside",
    { class: "panel", "aria-labelledby": "member-title" },
    el(
      "div",
      { class: "title" },
      title,
      el(
        "a",
        { class: "close", href: address(fleetId), "aria-label": "Close the member's panel" },
        "×",
      ),
    ),
    description,
    facts,
    tabs("The member's messages", [
      { name: "Inbox", element: inbox.element },
      { name: "Sent", element: sent.element },
    ]),
  );
  return {
    element,
    refresh: () => {
      inbox.refresh();
      sent.refresh();
    },
    setMembers: (members) => {
      const member = members.find((each) => String(each.member_id) === memberId);
      if (member === undefined) {
        setText(description, "Not in the roster: deregistered, or not of this fleet.");
        return;
      }
      title.replaceChildren(bidi(member.name === "" ? `Member ${memberId}` : shownName(member.name)));
      setText(description, visible(member.description));
      facts.replaceChildren(...lines(member));
    },
    focus: () => title.focus(),
    close: () => {
      closing.abort();
      element.remove();
    },
  };
}

function lines({ member_id, kind, status, registered_at, placement, worktree, branch }) {
  const pane = placement && (placement.mux_pane_id ?? "pending");
  return [
    ["Member", `#${member_id}, ${kind}`],
    ["Status", status],
    ["Agent", placement === null ? "–" : placement.coding_agent],
    ["Pane", pane === null ? "–" : `${placement.backend} ${placement.mux_session} ${pane}`],
    ...(worktree ? [["Work tree", branch ? `${worktree} (${branch})` : worktree]] : []),
    ["Registered", full(registered_at)],
  ].flatMap(([title, text]) => [el("dt", {}, title), el("dd", {}, visible(text))]);
}

/** One of the two listings, newest first. */
function listing({ api, fleetId }, memberId, which, nothing) {
  const history = new History(api, `members/${memberId}/${which}`);
  const list = el("ol", { class: "entries" });
  const empty = el("p", { class: "empty", hidden: true }, nothing);
  const fill = keyedList(list, {
    key: (message) => message.message_id,
    make: (message) => delivery(message, { api, fleetId }),
  });
  const show = () => {
    fill(history.messages);
    earlier.hidden = history.complete;
    empty.hidden = history.messages.length > 0;
  };
  const part = new Part({ name: which, load: () => history.refresh(), show, signal: api.signal });
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
  const element = el("div", {}, part.notice, part.loading, empty, list, older.notice, earlier);
  return { element, refresh: () => part.refresh() };
}
