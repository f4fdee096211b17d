/** Making and reconciling elements. Text of users only ever becomes a text node here. */

/**
 * An element with attributes and children. A child may be a node, a string, or null for nothing;
 * an attribute may be a function (`onclick`), true, or false and null for absent.
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else setAttribute(element, name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Set one attribute; true is the empty string, and false or null removes it. */
export function setAttribute(element, name, value) {
  if (value === false || value === null || value === undefined) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) {
    element.setAttribute(name, value === true ? "" : value);
  }
}

/** Set an element's text, unless it is the same: a selection in it then survives. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A text whose direction is its own, such as a name. */
export function bidi(text, attributes = {}) {
  return el("bdi", attributes, text);
}

/** The element, marked with the hue that a member has all over the page. */
export function hued(element, memberId) {
  element.style.setProperty("--hue", (memberId * 137) % 360);
  return element;
}

/** Words for screen readers alone. */
export function unseen(text) {
  return el("span", { class: "unseen" }, text);
}

/**
 * A function that makes the children of `container` those of `items`, in their order.
 *
 * `key(item)` tells which is which; `make(item)` gives `{ element, update(item) }` for one that is
 * new. Elements that stay are kept, so that focus, selection and what was unfolded stay too.
 */
export function keyedList(container, { key, make }) {
  const known = new Map();
  return (items) => {
    const wanted = new Set(items.map(key));
    for (const [name, view] of known) {
      if (!wanted.has(name)) {
        view.element.remove();
        known.delete(name);
      }
    }
    let place = container.firstChild;
    for (const item of items) {
      let view = known.get(key(item));
      if (view === undefined) known.set(key(item), (view = make(item)));
      view.update(item);
      if (view.element === place) place = place.nextSibling;
      else container.insertBefore(view.element, place);
    }
  };
}

/** Say something to screen readers. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}
