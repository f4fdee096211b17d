/** What the states of a delivery and of its notice mean, in the words of the page. */

/** By the state of the notice: what is so, and what would change it. */
export const NOTICE = {
  none: "No notice is due: there is nobody to notify, or no pane to type into.",
  queued: "Nobody has looked at the recipient's pane yet; the courier's next pass does.",
  held: "The recipient's agent is not at rest; the notice is typed when it is.",
  unreachable: "The pane is gone, or its multiplexer does not answer; the message can be polled.",
  typed: "The notice is being typed.",
  submitted: "The agent has the notice; the recipient has not polled yet.",
  unsure: "The notice was typed, and nothing proves that it was submitted; it is not typed again.",
  seen: "The recipient has read it.",
};

const HELD = {
  working: "The agent works; the notice is typed when it rests.",
  draft: "Somebody's text stands in the composer: submit or clear it in the pane.",
  awaiting: "The agent asks something: answer it in the pane.",
  blocked: "The pane is in copy mode, or its input is switched off.",
  shell: "The agent has exited: start it again in its pane, or delete the member.",
  unknown: "The screen tells nothing: look at the pane, and enlarge it if it is small.",
};

/** What a state and its reason mean; that of a held notice begins with what a look has found. */
export function meaning(state, reason) {
  const found = state === "held" ? HELD[(reason ?? "").split(":")[0]] : undefined;
  return found ?? NOTICE[state] ?? "";
}

/** Whether the recipient has acknowledged a delivery. */
export const acknowledged = (message) => message.status === "completed";
