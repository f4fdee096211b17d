/** The JSON API, each request with a deadline and the signal of the view that asks. */

const PATIENCE_MS = 15_000;

/** The server's refusal: `status` and, as the message, its own sentence. */
export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** No answer came, so that nobody knows whether the request was carried out. */
export class Unreachable extends Error {}

/** Tells by `answer` and `silence` events whether the server can be reached. */
export const contact = new EventTarget();

/**
 * The API as one view uses it, within one fleet.
 *
 * Once `signal` is aborted every request fails with its reason, even one that was answered: what a
 * view has left behind never reaches the next. Else a request gives the JSON, or throws `Refused`
 * or `Unreachable`. An answer that is as it was is the same object again. A body is given as JSON
 * text.
 */
export function client(fleetId, signal) {
  const known = new Map();
  const ask = (method) => (path, body) => request(method, path, { fleetId, body, signal, known });
  return { get: ask("GET"), patch: ask("PATCH"), post: ask("POST"), signal };
}

async function request(method, path, { fleetId, body, signal, known }) {
  const headers = {};
  const before = method === "GET" ? known.get(path) : undefined;
  if (before !== undefined) headers["If-None-Match"] = before.etag;
  if (fleetId !== null) headers["X-Fleet-Id"] = fleetId;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  let response;
  let text;
  try {
    response = await fetch(`/api/${path}`, {
      method,
      headers,
      body,
      cache: "no-store",
      signal: deadline,
    });
    text = await response.text();
  } catch {
    signal.throwIfAborted();
    contact.dispatchEvent(new Event("silence"));
    throw new Unreachable("The server does not answer.");
  }
  signal.throwIfAborted();
  contact.dispatchEvent(new Event("answer"));
  if (response.status === 304) return before.answer;
  const answer = parsed(text);
  if (response.ok && answer !== undefined) {
    const etag = response.headers.get("ETag");
    if (etag !== null) known.set(path, { etag, answer });
    return answer;
  }
  throw new Refused(response.status, answer?.detail ?? `The server answered ${response.status}.`);
}

/** The JSON, in which an interval is text: it may have more digits than a number of this language. */
function parsed(text) {
  try {
    return JSON.parse(text.replace(/("wake_interval_seconds":)([0-9]+)/, '$1"$2"'));
  } catch {
    return undefined;
  }
}
