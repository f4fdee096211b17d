/** The card of a fleet's courier. */

import { el, setText } from "./dom.js";
import { clock, duration, full } from "./format.js";
import { Refused, Unreachable } from "./api.js";
import { Part } from "./part.js";

const STALE_TICKS = 3;
const STALE_SECONDS = 15;
const LONGEST_INTERVAL = 2n ** 63n - 1n;

/** The card: `{ element, refresh() }`. `onPending(members)` is told what each has waiting. */
export function monitor({ api, onPending }) {
  const state = el("strong", { class: "state" });
  const tick = el("dd");
  const wake = el("dd");
  const pid = el("dd");
  const outcome = el("p", { class: "outcome", role: "status" });
  const wakeNow = el("button", { type: "button", disabled: true }, "Wake now");
  let monitor = null;
  let fetched = 0;

  const part = new Part({
    name: "the monitor",
    load: () => api.get("monitor"),
    show: (answer) => {
      monitor = answer;
      fetched = performance.now();
      draw();
      interval.show(answer.wake_interval_seconds, { known: answer.tick_seconds !== null });
      onPending(answer.members);
    },
    signal: api.signal,
  });
  const act = actions({ outcome, done: () => part.refresh() });
  const interval = intervalForm({ api, act });
  interval.element.addEventListener("input", () => outcome.replaceChildren());
  wakeNow.addEventListener("click", () =>
    act("Wake now", async () => {
      const { wake_requested_at } = await api.post("monitor/wake");
      return `Wake requested at ${clock(wake_requested_at)}.`;
    }),
  );

  /** Seconds since a time that was `age` seconds ago when the answer came. */
  const since = (age) => age + Math.floor((performance.now() - fetched) / 1000);

  function draw() {
    const { running } = monitor;
    setText(state, running ? "running" : monitor.tick_seconds === null ? "never ran" : "stopped");
    state.dataset.running = running;
    setText(pid, running ? `${monitor.pid}, since ${full(monitor.started_at)}` : "–");
    showAge(tick, monitor.last_tick_at, monitor.last_tick_age_seconds);
    showAge(wake, monitor.last_wake_at, monitor.last_wake_age_seconds);
    wakeNow.disabled = !running;
  }

  function showAge(cell, at, age) {
    setText(cell, at === null ? "–" : age === null ? at : `${duration(since(age))} ago`);
    cell.title = at === null ? "" : full(at);
  }

  /** A courier that dies writes nothing, so nothing tells of it: ask once its tick is overdue. */
  function pass() {
    if (monitor === null || document.hidden) return;
    draw();
    const limit = Math.max(STALE_TICKS * monitor.tick_seconds, STALE_SECONDS);
    if (monitor.running && since(monitor.last_tick_age_seconds) > limit) part.refresh();
  }
  const timer = setInterval(pass, 1000);
  api.signal.addEventListener("abort", () => clearInterval(timer));

  const element = el(
    "section",
    { class: "monitor", "aria-labelledby": "monitor-title" },
    el("div", { class: "title" }, el("h2", { id: "monitor-title" }, "Monitor"), state),
    part.notice,
    part.loading,
    el("dl", {}, ...row("Last tick", tick), ...row("Last wake", wake), ...row("Process", pid)),
    interval.element,
    wakeNow,
    outcome,
  );
  return { element, refresh: () => part.refresh() };
}

function row(title, cell) {
  return [el("dt", {}, title), cell];
}

/** Run what a button does and say what came of it, with a button to try again if it failed. */
function actions({ outcome, done }) {
  return async function act(name, work) {
    try {
      const words = await work();
      outcome.replaceChildren(words);
      done();
    } catch (error) {
      if (!(error instanceof Refused || error instanceof Unreachable)) throw error;
      const retry = el("button", { type: "button", onclick: () => act(name, work) }, "Retry");
      retry.setAttribute("aria-label", `Retry: ${name}`);
      outcome.replaceChildren(`${error.message} `, retry);
    }
  };
}

/** The interval, as digits, shown until edited: `{ element, show(seconds, { known }) }`. */
function intervalForm({ api, act }) {
  const input = el("input", {
    id: "interval",
    inputmode: "numeric",
    autocomplete: "off",
    "aria-describedby": "interval-hint",
    size: "8",
  });
  const hint = el("p", { class: "faint", id: "interval-hint" });
  const save = el("button", { type: "submit", disabled: true }, "Save");
  let stored = "";
  const edited = () => input.value !== stored;
  const tell = () => {
    const problem = edited() ? trouble(input.value) : null;
    setText(hint, problem ?? meaning(input.value.trim()));
    input.setAttribute("aria-invalid", problem !== null);
    save.disabled = !edited() || problem !== null || input.disabled;
  };
  input.addEventListener("input", tell);

  const submit = async (event) => {
    event.preventDefault();
    if (save.disabled) return;
    const wanted = String(BigInt(input.value.trim()));
    await act("Save the interval", async () => {
      await api.patch("monitor", `{"wake_interval_seconds":${wanted}}`);
      stored = input.value = wanted;
      tell();
      return "Interval saved.";
    });
  };
  const element = el(
    "form",
    { onsubmit: submit, novalidate: true },
    el("label", { for: "interval" }, "Wake interval, seconds"),
    el("div", { class: "field" }, input, save),
    hint,
  );
  return {
    element,
    show: (seconds, { known }) => {
      const untouched = !edited();
      stored = seconds ?? "";
      if (untouched) input.value = stored;
      input.disabled = !known;
      tell();
    },
  };
}

function trouble(text) {
  if (!/^[0-9]+$/.test(text.trim())) return "Whole seconds, 0 or more.";
  return BigInt(text) > LONGEST_INTERVAL ? `At most ${LONGEST_INTERVAL} seconds.` : null;
}

function meaning(text) {
  if (text === "") return "Not set: the monitor has not run since it was introduced.";
  if (text === "0") return "Scheduled wakes are off.";
  const seconds = Number(text);
  return `Every ${Number.isSafeInteger(seconds) ? duration(seconds) : `${text} s`}.`;
}
