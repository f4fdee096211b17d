/** What became of the notice of one delivery, fetched when somebody asks. */

import { el, setAttribute } from "./dom.js";
import { full } from "./format.js";
import { visible } from "./hidden.js";
import { Part } from "./part.js";
import { acknowledged, meaning } from "./states.js";

let count = 0;

/** A button and the life line that it unfolds: `{ button, element, update(message) }`. */
export function lifeLine(message, { api }) {
  const element = el("div", { class: "life", id: `life-${(count += 1)}`, hidden: true });
  const button = el("button", { class: "quiet", type: "button" }, "Life line");
  setAttribute(button, "aria-expanded", "false");
  setAttribute(button, "aria-controls", element.id);
  let latest = message;
  let part = null;
  const begin = () => {
    const content = el("div");
    part = new Part({
      name: `the life line of message ${message.message_id}`,
      load: () => api.get(`messages/${message.message_id}/why`),
      show: (why) => content.replaceChildren(...account(latest, why)),
      signal: api.signal,
    });
    element.append(part.notice, part.loading, content);
  };
  button.addEventListener("click", () => {
    element.hidden = !element.hidden;
    setAttribute(button, "aria-expanded", String(!element.hidden));
    if (element.hidden) return;
    if (part === null) begin();
    part.refresh();
  });
  const update = (next) => {
    const moved = next.delivery_state !== latest.delivery_state || next.status !== latest.status;
    latest = next;
    if (moved && !element.hidden) part.refresh();
  };
  return { button, element, update };
}

/** The nodes that tell a life line, step by step, and what is to be expected. */
function account(message, why) {
  const steps = [
    step(message.created_at, "stored", null, null),
    ...why.events.map((each) => step(each.at, each.state, each.reason, each.evidence)),
  ];
  if (acknowledged(message)) steps.push(step(message.status_timestamp, "ACK", null, null));
  const reason = why.reason === null ? "" : ` (${visible(why.reason)})`;
  return [
    el("ol", {}, ...steps),
    el("p", {}, el("strong", {}, `${why.state}${reason}`), `. ${meaning(why.state, why.reason)}`),
  ];
}

function step(at, state, reason, evidence) {
  const details = [reason, evidence]
    .filter((text) => text)
    .map(visible)
    .join(" – ");
  return el(
    "li",
    {},
    el("time", { datetime: at }, full(at)),
    " ",
    el("strong", {}, state),
    details === "" ? null : el("span", { class: "detail", dir: "auto" }, details),
  );
}
