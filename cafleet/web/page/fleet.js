/** The view of one fleet: monitor and roster, timeline and composer, and the panel of a member. */

import { client } from "./api.js";
import { composer } from "./composer.js";
import { bidi, el, setAttribute } from "./dom.js";
import { fleetName } from "./format.js";
import { memberPanel } from "./member.js";
import { monitor } from "./monitor.js";
import { Part } from "./part.js";
import { roster } from "./roster.js";
import { address } from "./router.js";
import { timeline } from "./timeline.js";

/**
 * A fleet as a view: `{ element, refresh(), select(memberId), leave() }`.
 *
 * All requests of the view end with it, and its elements are its own, so that nothing of it can
 * show in the next.
 */
export function fleetView(fleetId) {
  const leaving = new AbortController();
  const api = client(fleetId, leaving.signal);
  let panel = null;
  let members = null;
  let selected = null;

  const name = title(fleetId, leaving.signal);
  const writing = composer({
    fleetId,
    onSent: () => {
      messages.toEnd();
      messages.refresh();
    },
  });
  const people = roster({
    api,
    fleetId,
    onMembers: (all) => {
      members = all;
      writing.setMembers(all);
      panel?.setMembers(all);
    },
  });
  const watch = monitor({ api, onPending: people.showPending });
  const messages = timeline({ api, fleetId, onMessages: people.showFetched });

  const side = el("div", { class: "side", id: "side" }, watch.element, people.element);
  const unfold = el(
    "button",
    { type: "button", class: "unfold", "aria-controls": "side" },
    "Members and monitor",
  );
  setAttribute(unfold, "aria-expanded", "false");
  unfold.addEventListener("click", () => {
    setAttribute(unfold, "aria-expanded", String(side.classList.toggle("open")));
  });
  const middle = el("div", { class: "middle" }, messages.element, writing.element);
  const element = el("div", { class: "fleet" }, name.element, name.notice, unfold, side, middle);
  element.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && panel !== null) location.hash = address(fleetId);
  });

  function select(memberId) {
    if (memberId === selected) return;
    panel?.close();
    panel = null;
    people.select(memberId);
    if (memberId === null) people.link(selected)?.focus();
    selected = memberId;
    element.classList.toggle("with-panel", memberId !== null);
    if (memberId === null) return;
    panel = memberPanel({ fleetId, memberId, signal: leaving.signal });
    element.append(panel.element);
    if (members !== null) panel.setMembers(members);
    panel.refresh();
    panel.focus();
  }

  function refresh() {
    for (const part of [name, messages, people, watch, panel]) part?.refresh();
  }
  return { element, refresh, select, leave: () => leaving.abort() };
}

/** The fleet's name, in the header and as the title; it never changes, so once is enough. */
function title(fleetId, signal) {
  const element = el("h1", { class: "unseen" });
  const put = (text) => {
    document.title = `${text} – CAFleet`;
    document.getElementById("place").replaceChildren(bidi(text));
    element.replaceChildren(bidi(text));
  };
  put(`Fleet ${fleetId}`);
  const api = client(null, signal);
  const part = new Part({
    name: "the fleet's name",
    load: () => api.get("fleets"),
    show: (fleets) => {
      const fleet = fleets.find((each) => String(each.fleet_id) === fleetId);
      if (fleet !== undefined) put(fleetName(fleet));
    },
    signal,
  });
  return { element, notice: part.notice, refresh: () => part.loaded || part.refresh() };
}
