/** The list of fleets. */

import { client } from "./api.js";
import { bidi, el, keyedList, setText } from "./dom.js";
import { counted, fleetName, full } from "./format.js";
import { Part } from "./part.js";
import { address } from "./router.js";

/** The picker as a view: `{ element, refresh(), leave() }`. */
export function picker() {
  const leaving = new AbortController();
  const api = client(null, leaving.signal);
  const list = el("ul", { class: "fleets" });
  const empty = el(
    "p",
    { class: "empty", hidden: true },
    "No fleets yet. Create one inside tmux: ",
    el("code", {}, "cafleet fleet create --name NAME --coding-agent AGENT"),
  );
  const fill = keyedList(list, { key: (fleet) => fleet.fleet_id, make: card });
  const part = new Part({
    name: "the fleets",
    load: () => api.get("fleets"),
    show: (fleets) => {
      fill(fleets);
      empty.hidden = fleets.length > 0;
    },
    signal: leaving.signal,
  });
  const element = el(
    "section",
    { class: "picker", "aria-labelledby": "picker-title" },
    el("h1", { id: "picker-title" }, "Fleets"),
    part.notice,
    part.loading,
    empty,
    list,
  );
  document.title = "Fleets – CAFleet";
  document.getElementById("place").replaceChildren();
  return { element, refresh: () => part.refresh(), leave: () => leaving.abort() };
}

function card(fleet) {
  const members = el("span", { class: "faint" });
  const element = el(
    "li",
    {},
    el(
      "a",
      { href: address(fleet.fleet_id) },
      bidi(fleetName(fleet), { class: "name" }),
      members,
      el("span", { class: "faint" }, `#${fleet.fleet_id} · created ${full(fleet.created_at)}`),
    ),
  );
  const update = (next) => setText(members, counted(next.member_count, "active member"));
  return { element, update };
}
