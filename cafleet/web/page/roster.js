/** Who is in the fleet. */

import { bidi, el, hued, keyedList, setAttribute, setText, unseen } from "./dom.js";
import { counted, shownName } from "./format.js";
import { Part } from "./part.js";
import { address } from "./router.js";
import { acknowledged } from "./states.js";

/**
 * The roster: `{ element, refresh(), select(memberId), link(memberId), showPending(members),
 * showFetched(messages, { complete }) }`.
 *
 * `onMembers(members)` is given every list that arrives. What the monitor counts is shown as it is;
 * for those that it does not watch, the deliveries in the timeline are counted, and where that does
 * not go back to the first one the count says that there may be more.
 */
export function roster({ api, fleetId, onMembers }) {
  const active = el("ul", { class: "members" });
  const left = el("ul", { class: "members" });
  const leftTitle = el("h3", { hidden: true }, "Deregistered");
  let selected = null;
  let pending = new Map();
  let fetched = { due: new Map(), complete: true };
  let members = [];
  const links = new Map();
  const list = (container) =>
    keyedList(container, {
      key: (member) => member.member_id,
      make: (member) => {
        const view = line(member, fleetId);
        links.set(String(member.member_id), view.link);
        return { element: view.element, update: (next) => view.update(next, waiting(next), selected) };
      },
    });
  const fillActive = list(active);
  const fillLeft = list(left);

  function waiting({ member_id, status }) {
    if (pending.has(member_id)) return { count: pending.get(member_id), complete: true };
    if (status !== "active") return { count: 0, complete: true };
    return { count: fetched.due.get(member_id) ?? 0, complete: fetched.complete };
  }

  function draw() {
    const gone = members.filter((member) => member.status !== "active");
    fillActive(members.filter((member) => member.status === "active"));
    fillLeft(gone);
    leftTitle.hidden = gone.length === 0;
  }

  const part = new Part({
    name: "the members",
    load: () => api.get("members"),
    show: (answer) => {
      ({ members } = answer);
      draw();
      onMembers(members);
    },
    signal: api.signal,
  });
  const element = el(
    "nav",
    { class: "roster", "aria-labelledby": "roster-title" },
    el("h2", { id: "roster-title" }, "Members"),
    part.notice,
    part.loading,
    active,
    leftTitle,
    left,
  );
  return {
    element,
    refresh: () => part.refresh(),
    select: (memberId) => {
      selected = memberId;
      draw();
    },
    link: (memberId) => links.get(memberId),
    showPending: (counts) => {
      pending = new Map(counts.map((each) => [each.member_id, each.pending_count]));
      draw();
    },
    showFetched: (messages, { complete }) => {
      const due = new Map();
      for (const { to_member_id: id } of messages.filter((each) => !acknowledged(each))) {
        due.set(id, (due.get(id) ?? 0) + 1);
      }
      fetched = { due, complete };
      draw();
    },
  };
}

function line(member, fleetId) {
  const name = bidi("", { class: "name" });
  const about = el("span", { class: "about" });
  const count = el("span", { class: "count", hidden: true });
  const link = hued(
    el(
      "a",
      { href: address(fleetId, member.member_id), "data-kind": member.kind },
      el("span", { class: "top" }, name, count),
      about,
    ),
    member.member_id,
  );
  const update = (next, waiting, selected) => {
    const label = next.name === "" ? `#${next.member_id}` : shownName(next.name);
    setText(name, label);
    setAttribute(name, "title", label);
    setText(about, details(next));
    setAttribute(link, "data-status", next.status);
    setAttribute(link, "aria-current", String(next.member_id) === selected ? "true" : null);
    const figure = `${waiting.count.toLocaleString()}${waiting.complete ? "" : "+"}`;
    count.hidden = figure === "0";
    if (count.dataset.waiting !== figure) {
      count.dataset.waiting = figure;
      const words = `${counted(waiting.count, "message")} without an ACK`;
      count.title = waiting.complete ? words : `${words} in the part of the timeline shown here`;
      count.replaceChildren(figure, unseen(" pending"));
    }
  };
  return { element: el("li", {}, link), link, update };
}

function details({ member_id, kind, status, placement }) {
  const agent = placement?.coding_agent ?? (status === "active" ? "no pane" : null);
  const pane = placement !== null && placement.mux_pane_id === null ? "pane pending" : null;
  return [`#${member_id}`, kind, status, agent, pane]
    .filter((word) => word !== null)
    .join(" · ");
}
