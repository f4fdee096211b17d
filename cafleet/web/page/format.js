/** Times, durations and texts as people read them. */

import { visible } from "./hidden.js";

const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const NAME_LENGTH = 80;

function formatted(format, stamp) {
  const date = new Date(stamp);
  return Number.isNaN(date.getTime()) ? visible(stamp) : format.format(date);
}

/** The local time of day of a timestamp; one that cannot be read is shown as it is stored. */
export const clock = (stamp) => formatted(CLOCK, stamp);

/** The local day of a timestamp, in full. */
export const day = (stamp) => formatted(DAY, stamp);

/** The local day and time of a timestamp. */
export const full = (stamp) => formatted(FULL, stamp);

/** Whole seconds as `42 s`, `5 min`, `3 h 20 min` or `4 d 2 h`. */
export function duration(seconds) {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600)
    return joined(seconds, [
      [60, "min"],
      [1, "s"],
    ]);
  if (seconds < 86400)
    return joined(seconds, [
      [3600, "h"],
      [60, "min"],
    ]);
  return joined(seconds, [
    [86400, "d"],
    [3600, "h"],
  ]);
}

function joined(seconds, units) {
  const words = [];
  for (const [length, unit] of units) {
    const count = Math.floor(seconds / length);
    if (count > 0) words.push(`${count} ${unit}`);
    seconds %= length;
  }
  return words.join(" ");
}

/** `1 recipient`, `3 recipients`. */
export function counted(count, noun) {
  return `${count.toLocaleString()} ${noun}${count === 1 ? "" : "s"}`;
}

/** A name as it is shown; a long one of an old database is cut. */
export function shownName(name) {
  const characters = [...visible(name)];
  if (characters.length <= NAME_LENGTH) return characters.join("");
  return `${characters.slice(0, NAME_LENGTH - 1).join("")}…`;
}

/** The name of a fleet; one without gets its id. */
export function fleetName(fleet) {
  return fleet.name ? shownName(fleet.name) : `Fleet ${fleet.fleet_id}`;
}
