/** Completion of the @name that a draft begins with. */

import { bidi, el, setAttribute } from "./dom.js";
import { shownName } from "./format.js";
import { complete, EVERYONE, mention } from "./mentions.js";

const LIMIT = 8;

/**
 * A list of members under the caret of `text`: `{ element, handle(event) }`.
 *
 * `handle` takes a keydown and says whether it was meant for the list: arrows move, Enter and Tab
 * take, Escape closes. `members()` gives who can be chosen; `onChange()` is called after a choice.
 */
export function completion(text, { members, onChange }) {
  const element = el("ul", {
    class: "completion",
    id: "completion",
    role: "listbox",
    "aria-label": "Members",
    hidden: true,
  });
  for (const [name, value] of [
    ["autocomplete", "list"],
    ["controls", "completion"],
    ["haspopup", "listbox"],
  ]) {
    text.setAttribute(`aria-${name}`, value);
  }
  let offered = [];
  let chosen = 0;

  function draw() {
    element.hidden = offered.length === 0;
    element.replaceChildren(...offered.map((member, place) => option(member, place)));
    setAttribute(text, "aria-activedescendant", element.hidden ? null : `option-${chosen}`);
    element.children[chosen]?.scrollIntoView({ block: "nearest" });
  }

  function option(member, place) {
    const details = member === EVERYONE ? "everyone" : `#${member.member_id} ${member.kind}`;
    return el(
      "li",
      {
        role: "option",
        id: `option-${place}`,
        "aria-selected": String(place === chosen),
        // Before the textarea loses the focus.
        onmousedown: (event) => {
          event.preventDefault();
          take(member);
        },
      },
      el("span", { class: "name" }, "@", bidi(shownName(member.name))),
      el("span", { class: "faint" }, details),
    );
  }

  function offer() {
    const caret = text.selectionStart;
    const before = text.value.slice(0, caret);
    const query = /^\s*@([^\n]*)$/.exec(before)?.[1];
    offered = query === undefined ? [] : complete(query, members()).slice(0, LIMIT);
    chosen = 0;
    draw();
  }

  function close() {
    offered = [];
    draw();
  }

  function take(member) {
    const rest = text.value.slice(text.selectionStart).replace(/^[ ]/, "");
    const start = `@${mention(member, members())} `;
    text.value = start + rest;
    text.setSelectionRange(start.length, start.length);
    close();
    onChange();
  }

  function move(step) {
    chosen = (chosen + step + offered.length) % offered.length;
    draw();
  }

  text.addEventListener("input", offer);
  text.addEventListener("blur", close);
  const keys = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: () => take(offered[chosen]),
    Tab: () => take(offered[chosen]),
    Escape: close,
  };
  const handle = (event) => {
    if (offered.length === 0 || event.shiftKey || !Object.hasOwn(keys, event.key)) return false;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
    return true;
  };
  return { element, handle };
}
