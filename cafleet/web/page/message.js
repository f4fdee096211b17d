/** How one delivery is shown: who to whom, the body, its states, and on demand its life line. */

import { bidi, el, hued, setAttribute, setText, unseen } from "./dom.js";
import { clock, full, shownName } from "./format.js";
import { visible } from "./hidden.js";
import { address } from "./router.js";
import { lifeLine } from "./lifeline.js";
import { acknowledged, NOTICE } from "./states.js";

const FOLD_LENGTH = 900;
const FOLD_LINES = 12;

/** A time of day that tells the whole date on hover. */
export function time(stamp) {
  return el("time", { datetime: stamp, title: full(stamp) }, clock(stamp));
}

/** A link to a member's panel. */
export function memberLink(fleetId, memberId, name) {
  // A sender whose row was removed has no panel to go to.
  if (name === null) return hued(el("span", { class: "who" }, `#${memberId}`), memberId);
  const label = name === "" ? `#${memberId}` : shownName(name);
  return hued(el("a", { class: "who", href: address(fleetId, memberId) }, bidi(label)), memberId);
}

/** A body as plain text; a long one is folded. */
export function body(text) {
  const shown = visible(text);
  const content = el("div", { class: "body", dir: "auto" }, shown);
  const lines = shown.split("\n").length;
  if (shown.length <= FOLD_LENGTH && lines <= FOLD_LINES) return content;
  content.classList.add("folded");
  const size = `${shown.length.toLocaleString()} characters`;
  const words = { true: "Show less", false: `Show all ${size}` };
  const unfold = el("button", { class: "quiet", type: "button" }, words.false);
  unfold.setAttribute("aria-expanded", "false");
  unfold.addEventListener("click", () => {
    const open = !content.classList.toggle("folded");
    unfold.setAttribute("aria-expanded", open);
    unfold.textContent = words[open];
  });
  return el("div", {}, content, unfold);
}

/**
 * The states of a delivery and the button for its life line, in a row that is kept up to date:
 * `{ element, update(message) }`. `lead` comes first in the row.
 */
export function states(message, { api, lead = null }) {
  const notice = el("span", { class: "chip" });
  const ack = el("span", { class: "chip ack" });
  const life = lifeLine(message, { api });
  const element = el(
    "div",
    { class: "states" },
    el("div", { class: "row" }, lead, ack, notice, life.button),
    life.element,
  );
  const update = (next) => {
    setText(notice, next.delivery_state === "none" ? "no notice" : next.delivery_state);
    setAttribute(notice, "data-state", next.delivery_state);
    setAttribute(notice, "title", NOTICE[next.delivery_state] ?? null);
    const done = acknowledged(next);
    setText(ack, done ? "ACK" : "no ACK yet");
    setAttribute(ack, "data-done", String(done));
    setAttribute(ack, "title", done ? `Acknowledged ${full(next.status_timestamp)}` : null);
    life.update(next);
  };
  return { element, update };
}

/** A delivery of its own, as a list item: `{ element, update(message) }`. */
export function delivery(message, { api, fleetId }) {
  const row = states(message, { api });
  const element = el(
    "li",
    { class: "entry", "data-message": message.message_id },
    el(
      "div",
      { class: "head" },
      memberLink(fleetId, message.from_member_id, message.from_member_name),
      arrow(),
      memberLink(fleetId, message.to_member_id, message.to_member_name),
      message.origin_message_id === null ? null : el("span", { class: "tag" }, "broadcast"),
      el("span", { class: "when" }, `#${message.message_id} `, time(message.created_at)),
    ),
    body(message.body),
    row.element,
  );
  return { element, update: row.update };
}

/** The sign between a sender and a recipient. */
export function arrow() {
  return el("span", { class: "arrow" }, el("span", { "aria-hidden": "true" }, "→"), unseen(" to "));
}
