/** Messages in pages: the newest are asked for again and again, older ones on demand. */

const PAGE = 200;

/** The messages of one listing of the API, such as `timeline` or `members/7/inbox`. */
export class History {
  #api;
  #path;
  #messages = new Map();
  // The lowest id down to which nothing is missing: 0 when all is here.
  #reach = Infinity;

  constructor(api, path) {
    this.#api = api;
    this.#path = path;
  }

  /** Whether the very first message is here. */
  get complete() {
    return this.#reach === 0;
  }

  /** All that was fetched, newest first. */
  get messages() {
    return [...this.#messages.values()].sort((a, b) => b.message_id - a.message_id);
  }

  /** Fetch the newest page, what came in between, and older pages in which an ACK is still due. */
  async refresh() {
    const newest = this.messages[0]?.message_id ?? 0;
    let low = await this.#fetch(null);
    while (low > this.#reach) {
      const before = low > newest ? low : this.#afterDue(low);
      if (before === null) return;
      low = await this.#fetch(before);
    }
    this.#reach = Math.min(low, this.#reach);
  }

  /** Fetch one more page of older messages. */
  async earlier() {
    this.#reach = Math.min(await this.#fetch(this.#reach), this.#reach);
  }

  /** Fetch a page; the lowest id in it, 0 if nothing older is there. */
  async #fetch(before) {
    const query = before === null ? "" : `before=${before}&`;
    const { messages } = await this.#api.get(`${this.#path}?${query}limit=${PAGE}`);
    for (const message of messages) this.#messages.set(message.message_id, message);
    return messages.length < PAGE ? 0 : Math.min(...messages.map((each) => each.message_id));
  }

  /** The id after the newest delivery below `low` that may still change, or null. */
  #afterDue(low) {
    const due = this.messages.find((each) => each.message_id < low && each.status !== "completed");
    return due === undefined ? null : due.message_id + 1;
  }
}
