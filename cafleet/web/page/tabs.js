/** Tabs after the ARIA Authoring Practices: arrows, Home and End move, one panel is shown. */

import { el, setAttribute } from "./dom.js";

/** Tabs for `[{ name, element }, …]`, the first of them shown. */
export function tabs(label, pages) {
  const buttons = pages.map(({ name }, place) =>
    el(
      "button",
      { type: "button", role: "tab", id: `tab-${place}`, "aria-controls": `tabpanel-${place}` },
      name,
    ),
  );
  const panels = pages.map(({ element }, place) =>
    el(
      "div",
      {
        role: "tabpanel",
        id: `tabpanel-${place}`,
        "aria-labelledby": `tab-${place}`,
        tabindex: "0",
      },
      element,
    ),
  );
  const choose = (chosen) => {
    buttons.forEach((button, place) => {
      setAttribute(button, "aria-selected", String(place === chosen));
      setAttribute(button, "tabindex", place === chosen ? "0" : "-1");
      panels[place].hidden = place !== chosen;
    });
  };
  const list = el("div", { class: "tabs", role: "tablist", "aria-label": label }, ...buttons);
  buttons.forEach((button, place) => button.addEventListener("click", () => choose(place)));
  list.addEventListener("keydown", (event) => {
    const place = buttons.indexOf(document.activeElement);
    const last = buttons.length - 1;
    const places = {
      ArrowRight: place === last ? 0 : place + 1,
      ArrowLeft: place === 0 ? last : place - 1,
      Home: 0,
      End: last,
    };
    if (place < 0 || !Object.hasOwn(places, event.key)) return;
    event.preventDefault();
    choose(places[event.key]);
    buttons[places[event.key]].focus();
  });
  choose(0);
  return el("div", { class: "tabbed" }, list, ...panels);
}
