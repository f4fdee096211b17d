/** Whom a draft is for: `@name …` is for one member, `@all …` for everyone. */

const ALL = "all";
// What could not be typed, or would not be seen, is addressed by its number.
const UNTYPABLE =
  /^\s*$|^\s|\s$|[\p{Cc}\p{Zl}\p{Zp}\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u;

/**
 * Read a draft against the active members.
 *
 * Gives `{ to, name, text }`, where `to` is a member id or `"*"` and `text` what follows the name;
 * or `{ problem }`, a sentence. A name may hold blanks: the longest that fits counts. Where two
 * members share a name, `@name#id` or `@#id` tells them apart.
 */
export function read(draft, members) {
  const start = draft.trimStart();
  if (!start.startsWith("@")) return { problem: "Begin with @name or @all." };
  const { found, length } = longest(start.slice(1), members);
  if (found.length === 0) return { problem: "No active member has this name." };
  if (found.length > 1) {
    const choices = found.map((member) => `@${mention(member, members)}`);
    return { problem: `More than one member has this name: write ${choices.join(" or ")}.` };
  }
  const text = start.slice(1 + length).trimStart();
  return { to: found[0].member_id, name: found[0].name, text };
}

/** What to write after the @ so that it means this member and no other. */
export function mention(member, members) {
  if (member === EVERYONE) return ALL;
  const sure = forms(member).find((form) => {
    const { found, length } = longest(form, members);
    return length === form.length && found.length === 1 && found[0].member_id === member.member_id;
  });
  return sure ?? `#${member.member_id}`;
}

/** The members whose name holds what is written after the @, those that begin with it first. */
export function complete(query, members) {
  const wanted = query.toLowerCase();
  const places = [EVERYONE, ...members].map((member) => [place(member, wanted), member]);
  const fitting = places.filter(([at]) => at >= 0);
  return fitting.sort((a, b) => Math.sign(a[0]) - Math.sign(b[0])).map(([, member]) => member);
}

/** What stands for all members where one is expected. */
export const EVERYONE = { member_id: "*", name: ALL };

function place(member, wanted) {
  const at = member.name.toLowerCase().indexOf(wanted);
  return at < 0 && `#${member.member_id}` === wanted ? 0 : at;
}

function forms(member) {
  if (member === EVERYONE) return [ALL];
  const numbered = [`${member.name}#${member.member_id}`, `#${member.member_id}`];
  if (UNTYPABLE.test(member.name)) return [numbered[1]];
  return member.name === ALL ? numbered : [member.name, ...numbered];
}

/** The members meant by the longest form that `text` begins with, in this case or else in any. */
function longest(text, members) {
  for (const same of [(a, b) => a === b, (a, b) => a.toLowerCase() === b.toLowerCase()]) {
    let best = { found: [], length: 0 };
    for (const member of [EVERYONE, ...members]) {
      for (const form of forms(member)) {
        const fits =
          same(text.slice(0, form.length), form) && /^(\s|$)/.test(text.slice(form.length));
        if (fits && form.length > best.length) best = { found: [member], length: form.length };
        else if (fits && form.length === best.length) best.found.push(member);
      }
    }
    if (best.found.length > 0) return best;
  }
  return { found: [], length: 0 };
}
