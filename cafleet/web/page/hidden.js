/**
 * Which characters of a text draw nothing, and how they are spelled out.
 *
 * The two patterns are those of cafleet/invisible.py, where the rule is explained; a test holds them equal.
 */

const HIDDEN =
  String.raw`\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-` +
  String.raw`\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-` +
  String.raw`\ufffb\ufffe\uffff\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d159}\u{1d173}-\u{1d17a}` +
  String.raw`\u{e0000}-\u{e0fff}\u{1fffe}\u{1ffff}\u{2fffe}\u{2ffff}\u{3fffe}\u{3ffff}\u{4fffe}\u{4ffff}` +
  String.raw`\u{5fffe}\u{5ffff}\u{6fffe}\u{6ffff}\u{7fffe}\u{7ffff}\u{8fffe}\u{8ffff}\u{9fffe}\u{9ffff}` +
  String.raw`\u{afffe}\u{affff}\u{bfffe}\u{bffff}\u{cfffe}\u{cffff}\u{dfffe}\u{dffff}\u{efffe}\u{effff}` +
  String.raw`\u{ffffe}\u{fffff}\u{10fffe}\u{10ffff}`;

const BELONGING =
  String.raw`\u{1f3f4}\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|` +
  String.raw`\u{e0077}\u{e006c}\u{e0073})\u{e007f}|[\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9` +
  String.raw`\u21aa\u231a\u231b\u2328\u2388\u23cf\u23e9-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe` +
  String.raw`\u2600-\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299` +
  String.raw`\u{1f000}-\u{1f1e5}\u{1f200}-\u{1f3fa}\u{1f400}-\u{1faff}](?:[\u{1f3fb}-\u{1f3ff}]|[\ufe0e` +
  String.raw`\ufe0f])?(?:\u200d[\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b` +
  String.raw`\u2328\u2388\u23cf\u23e9-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u27bf` +
  String.raw`\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299\u{1f000}-\u{1f1e5}` +
  String.raw`\u{1f200}-\u{1f3fa}\u{1f400}-\u{1faff}](?:[\u{1f3fb}-\u{1f3ff}]|[\ufe0e\ufe0f])?)*|[0-9#*]` +
  String.raw`\ufe0f\u20e3|[\u1820-\u18aa][\u180b-\u180d\u180f]\u200d?|[\u1820-\u18aa]\u180e(?=[\u1820-` +
  String.raw`\u18aa])|[\u0e00-\u0fff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\u1980-\u19df\u1a20-\u1aaf]` +
  String.raw`\u200b(?=[\u0e00-\u0fff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\u1980-\u19df\u1a20-\u1aaf])|[` +
  String.raw`\u0620-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u180a\u1810-\u18af\u1900-\u1c4f` +
  String.raw`\ua800-\ua8ff\ua900-\ua95f\ua980-\ua9df\uaa00-\uaadf\uabc0-\uabff\ufb50-\ufdcf\ufdf0-\ufdff` +
  String.raw`\ufe70-\ufefc\u{10800}-\u{11fff}\u{1e900}-\u{1e95f}][\u200c\u200d]|[\u2801-\u28ff]\u2800+|` +
  String.raw`[\u{13000}-\u{1342f}][\u{13430}-\u{1343f}]+(?=[\u{13000}-\u{1342f}])`;

const ANY = new RegExp(`(?:${BELONGING})|([${HIDDEN}])`, "gu");

/** The text with every hidden character spelled, except line feeds and tabs: ESC is ␛, others are \u200b. */
export function visible(text) {
  return text.replace(/\r\n/g, "\n").replace(ANY, (all, hidden) => {
    if (hidden === undefined || hidden === "\n" || hidden === "\t") return all;
    const code = hidden.codePointAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    const digits = code.toString(16);
    if (code < 0x100) return `\\x${digits}`;
    return code < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
  });
}
