/**
 * When to ask again: on the server's events, or every two seconds while there are none.
 *
 * A browser opens only six connections to a server over HTTP/1.1 for all of its tabs, and a stream
 * takes one for good. So one tab, the one that holds a lock, keeps the stream and tells the others.
 */

const NAME = "cafleet-changes";
const POLL_MS = 2_000;
const REOPEN_MS = 2_000;

/** Fires `change` when to ask again; `streaming` says whether the server's events arrive. */
export class Changes extends EventTarget {
  streaming = false;
  #leads = false;
  #channel = new BroadcastChannel(NAME);
  #timer = null;

  start() {
    this.#channel.addEventListener("message", ({ data }) => this.#hear(data));
    this.#timer = setInterval(() => this.#changed(), POLL_MS);
    if (navigator.locks === undefined) {
      // The page came over plain HTTP from another machine: there are no locks, so each tab leads.
      this.#open();
      return;
    }
    navigator.locks.request(NAME, () => {
      this.#leads = true;
      this.#open();
      return new Promise(() => {}); // Held until the tab is closed.
    });
    this.#channel.postMessage("hello");
  }

  #open() {
    const source = new EventSource("/api/changes");
    source.addEventListener("open", () => this.#pass("live"));
    source.addEventListener("message", () => this.#pass("change"));
    source.addEventListener("error", () => {
      this.#pass("lost");
      source.close();
      setTimeout(() => this.#open(), REOPEN_MS);
    });
  }

  #pass(news) {
    if (this.#leads) this.#channel.postMessage(news);
    this.#hear(news);
  }

  #hear(news) {
    if (news === "change") this.#changed();
    else if (news === "hello") {
      if (this.#leads) this.#channel.postMessage(this.streaming ? "live" : "lost");
    } else this.#stream(news === "live");
  }

  #stream(streaming) {
    if (this.streaming === streaming) return;
    this.streaming = streaming;
    clearInterval(this.#timer);
    if (!streaming) this.#timer = setInterval(() => this.#changed(), POLL_MS);
    // What happened while nobody listened has to be asked for as well.
    this.#changed();
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}

/** `act`, at once but not twice within `gap` milliseconds; what is asked meanwhile comes after. */
export function spaced(act, gap) {
  let waiting = false;
  let again = false;
  const run = () => {
    if (waiting) {
      again = true;
      return;
    }
    waiting = true;
    act();
    setTimeout(() => {
      waiting = false;
      if (again) {
        again = false;
        run();
      }
    }, gap);
  };
  return run;
}
