/** A part of a view that is loaded on its own: what fails in it stays in it. */

import { el, setText } from "./dom.js";
import { Refused, Unreachable } from "./api.js";

const RETRY_MS = 2_000;

/**
 * `load()` gives what `show(data)` shows. While it loads, and when it fails, what was shown before
 * stays; `notice` is an element that says what failed, with a button to try again.
 */
export class Part {
  loaded = false;
  #load;
  #show;
  #signal;
  #busy = false;
  #again = false;
  #words = el("span");

  constructor({ name, load, show, signal }) {
    this.#load = load;
    this.#show = show;
    this.#signal = signal;
    const retry = el("button", { type: "button", onclick: () => this.refresh() }, "Retry");
    retry.setAttribute("aria-label", `Retry loading ${name}`);
    this.notice = el("div", { class: "notice", role: "status", hidden: true }, this.#words, retry);
    this.loading = el("p", { class: "faint" }, "Loading…");
  }

  /** Load and show; if that is under way, once more after it. */
  async refresh() {
    if (this.#signal.aborted) return;
    this.#again = true;
    if (this.#busy) return;
    this.#busy = true;
    try {
      while (this.#again && !this.#signal.aborted) {
        this.#again = false;
        await this.#once();
      }
    } finally {
      this.#busy = false;
    }
  }

  async #once() {
    try {
      const data = await this.#load();
      if (this.#signal.aborted) return;
      this.loading.remove();
      this.loaded = true;
      this.#show(data);
      this.#tell(null);
    } catch (error) {
      if (this.#signal.aborted) return;
      if (!(error instanceof Refused || error instanceof Unreachable)) throw error;
      this.loading.remove();
      this.#tell(error.message);
      // Nothing tells of a server that is back; of a change in what it has refused, events do.
      if (error instanceof Unreachable) setTimeout(() => this.refresh(), RETRY_MS);
    }
  }

  #tell(words) {
    setText(this.#words, words ?? "");
    this.notice.hidden = words === null;
  }
}
