/** A list that stays at its end while the reader is there, and else stays where it was. */

const NEAR = 40;

/**
 * Look after the scrolling of `list` in `scroller`: `{ keep(change), atEnd(), toEnd() }`.
 *
 * `keep(change)` runs a change of the list; a reader at the end stays there, one who reads further
 * up sees the same lines at the same place. `onEnd()` is called when the end comes into view.
 */
export function pinned(scroller, list, { onEnd }) {
  let atEnd = true;
  const toEnd = () => {
    scroller.scrollTop = scroller.scrollHeight;
    atEnd = true;
    onEnd();
  };
  scroller.addEventListener("scroll", () => {
    const rest = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
    atEnd = rest < NEAR;
    if (atEnd) onEnd();
  });
  // Another width, or a page that has just been put in place, gives the lines other heights.
  new ResizeObserver(() => atEnd && toEnd()).observe(scroller);

  const keep = (change) => {
    const top = scroller.getBoundingClientRect().top;
    const anchor = [...list.children].find((each) => each.getBoundingClientRect().bottom > top);
    const before = anchor?.getBoundingClientRect().top;
    change();
    if (atEnd) toEnd();
    else if (anchor?.isConnected) {
      scroller.scrollTop += anchor.getBoundingClientRect().top - before;
    }
  };
  return { keep, toEnd, atEnd: () => atEnd };
}
