/** The hash routes: `#/fleets`, `#/fleets/<id>/members` and `#/fleets/<id>/members/<member-id>`. */

const ID = "([1-9][0-9]*)";
const FLEET = new RegExp(`^#/fleets/${ID}/members$`);
const MEMBER = new RegExp(`^#/fleets/${ID}/members/${ID}$`);
const BELOW_FLEET = new RegExp(`^#/fleets/${ID}(/|$)`);

/** The address of the picker, a fleet, or a member's panel in it. */
export function address(fleetId = null, memberId = null) {
  if (fleetId === null) return "#/fleets";
  return `#/fleets/${fleetId}/members${memberId === null ? "" : `/${memberId}`}`;
}

/** The `{ fleetId, memberId }` of a hash, ids as text or null; null for an address that is none. */
export function parse(hash) {
  if (hash === "#/fleets") return { fleetId: null, memberId: null };
  const found = FLEET.exec(hash) ?? MEMBER.exec(hash);
  return found && { fleetId: found[1], memberId: found[2] ?? null };
}

/** The nearest address to a hash that is none: its fleet, or the picker. */
export function nearest(hash) {
  return address(BELOW_FLEET.exec(hash)?.[1] ?? null);
}

/** Call `show(route)` now and whenever the address changes; a wrong one is replaced. */
export function follow(show) {
  const arrive = () => {
    if (parse(location.hash) === null) history.replaceState(null, "", nearest(location.hash));
    show(parse(location.hash));
  };
  addEventListener("hashchange", arrive);
  arrive();
}
