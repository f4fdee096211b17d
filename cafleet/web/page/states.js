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

/** Whether the recipient has acknowledged a delivery. */
export const acknowledged = (message) => message.status === "completed";
