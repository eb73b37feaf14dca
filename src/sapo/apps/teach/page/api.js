// Questions to the server. There are two kinds of failure, because a person's work is treated differently after each.

/** The server understood and refuses: trying again does not help. */
export class Refused extends Error {}

/** No answer, or the server is in trouble: try again later. */
export class Unreachable extends Error {}

const PATIENCE = 20_000; // milliseconds

/** GET a path, or POST a body to it, and return the answer. */
export async function ask(path, body, { last = false } = {}) {
  const options = { signal: AbortSignal.timeout(PATIENCE), cache: "no-store", keepalive: last };
  if (body !== undefined) {
    options.method = "POST";
    options.headers = { "Content-Type": "application/json" };
    options.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Unreachable("The server does not answer.");
  }
  const content = await answer.json().catch(() => null);
  if (answer.ok && content !== null) return content;
  const reason = content?.error ?? `The server answered ${answer.status}.`;
  const passing = answer.status >= 500 || answer.status === 429 || answer.ok;
  throw passing ? new Unreachable(reason) : new Refused(reason);
}

/** Return a path with a query; values that are null are left out. */
export function query(path, values) {
  const given = Object.entries(values).filter(([, value]) => value != null);
  return `${path}?${new URLSearchParams(given)}`;
}
