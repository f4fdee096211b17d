/** The page: which view is shown, and when it asks again. */

import { contact } from "./api.js";
import { Changes, spaced } from "./changes.js";
import { announce, setAttribute, setText } from "./dom.js";
import { fleetView } from "./fleet.js";
import { picker } from "./picker.js";
import { follow } from "./router.js";

const GAP_MS = 400;

const main = document.getElementById("main");
const changes = new Changes();
let view = null;
let shown;
let missed = false;

follow(({ fleetId, memberId }) => {
  if (view === null || shown !== fleetId) {
    view?.leave();
    announce("");
    const first = view === null;
    shown = fleetId;
    view = fleetId === null ? picker() : fleetView(fleetId);
    main.replaceChildren(view.element);
    if (!first) main.focus();
    view.refresh();
  }
  view.select?.(memberId);
});

const refresh = spaced(() => view.refresh(), GAP_MS);
changes.addEventListener("change", () => {
  missed = document.hidden;
  if (!missed) refresh();
});
document.addEventListener("visibilitychange", () => {
  if (missed && !document.hidden) refresh();
});
changes.start();

const badge = document.getElementById("contact");
let reached = null;

/** Say in the header how this page hears of what is new. */
function tellContact() {
  const state = reached === false ? "lost" : changes.streaming ? "live" : "polling";
  const words = { lost: "Server not reached, retrying", live: "Live", polling: "Polling" };
  setAttribute(badge, "data-state", state);
  setText(badge, words[state]);
}
for (const [news, answered] of [
  ["answer", true],
  ["silence", false],
]) {
  contact.addEventListener(news, () => {
    reached = answered;
    tellContact();
  });
}
changes.addEventListener("change", tellContact);
tellContact();

document.querySelector("[data-skip]").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
