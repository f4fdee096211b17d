/** Where the operator writes, as the fleet's Director. */

import { bidi, el, setAttribute, setText } from "./dom.js";
import { shownName } from "./format.js";
import { client, Refused, Unreachable } from "./api.js";
import { completion } from "./completion.js";
import { read } from "./mentions.js";

// A draft outlives a look at another fleet.
const drafts = new Map();

/** The composer: `{ element, setMembers(members) }`. `onSent()` is called after each message. */
export function composer({ fleetId, onSent }) {
  // Who leaves the view while a message is under way has still sent it.
  const api = client(fleetId, new AbortController().signal);
  let members = null;
  let sending = false;
  const text = el("textarea", {
    id: "draft",
    rows: "1",
    dir: "auto",
    autocomplete: "off",
    placeholder: "@name or @all, then the message",
    "aria-describedby": "draft-to draft-outcome",
  });
  text.value = drafts.get(fleetId) ?? "";
  const to = el("span", { id: "draft-to", class: "to" });
  const outcome = el("p", { id: "draft-outcome", class: "outcome", role: "alert" });
  const button = el("button", { type: "submit", class: "primary" }, "Send");
  const active = () => (members ?? []).filter((member) => member.status === "active");
  const director = () => active().find((member) => member.kind === "director");
  const suggestions = completion(text, { members: active, onChange: changed });

  function changed() {
    drafts.set(fleetId, text.value);
    fit();
    outcome.replaceChildren();
    tell();
  }

  /** Make the text field as high as its text. */
  function fit() {
    // While it is measured, the timeline above must not grow: its end would move.
    const field = text.parentElement;
    field.style.minHeight = `${field.getBoundingClientRect().height}px`;
    text.style.height = "auto";
    text.style.height = `${text.scrollHeight}px`;
    field.style.minHeight = "";
  }

  function tell() {
    to.replaceChildren(...recipient(read(text.value, active()), text.value));
    setAttribute(button, "aria-disabled", director() === undefined || sending ? "true" : null);
  }

  function trouble(draft) {
    if (members === null) return "The members of the fleet have not been loaded yet.";
    if (director() === undefined) return "This fleet has no Director to send as.";
    return draft.problem ?? (draft.text.trim() === "" ? "Write a message after the name." : null);
  }

  async function send() {
    if (sending) return;
    const draft = read(text.value, active());
    const problem = trouble(draft);
    if (problem !== null) {
      setText(outcome, problem);
      return;
    }
    sending = true;
    tell();
    const written = text.value;
    const body = { from_member_id: director().member_id, to_member_id: draft.to, text: draft.text };
    try {
      await api.post("messages/send", JSON.stringify(body));
      sending = false;
      if (text.value === written) text.value = "";
      changed();
      onSent();
    } catch (error) {
      sending = false;
      if (!(error instanceof Refused || error instanceof Unreachable)) throw error;
      changed();
      const retry = el(
        "button",
        { type: "button", onclick: send, "aria-label": "Retry sending" },
        "Retry",
      );
      outcome.replaceChildren(`${failure(error)} `, retry);
    }
  }

  text.addEventListener("input", changed);
  text.addEventListener("keydown", (event) => {
    if (event.isComposing || suggestions.handle(event)) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
    }
  });
  const form = el(
    "form",
    {
      class: "composer",
      "aria-label": "Write a message",
      onsubmit: (event) => {
        event.preventDefault();
        send();
      },
    },
    suggestions.element,
    outcome,
    el("label", { class: "unseen", for: "draft" }, "Message"),
    el("div", { class: "field" }, text, button),
    el(
      "p",
      { class: "hint" },
      to,
      el("span", { class: "keys" }, "Enter sends, Shift+Enter breaks the line"),
    ),
  );
  tell();
  return {
    element: form,
    setMembers: (all) => {
      members = all;
      tell();
    },
  };
}

/** Who gets the draft as it stands, so that nobody has to guess how a name was read. */
function recipient({ problem, to, name }, text) {
  if (text.trim() === "" || !text.trimStart().startsWith("@")) return ["To: @name or @all"];
  if (problem !== undefined) return ["To: nobody yet"];
  return to === "*" ? ["To: everyone"] : ["To: ", bidi(shownName(name)), ` #${to}`];
}

function failure(error) {
  if (error instanceof Refused) return error.message;
  return `${error.message} The message may be stored: look at the timeline before you retry.`;
}
