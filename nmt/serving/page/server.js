// Sends requests of the page to its server, and says in one plain line what went wrong.

/** A request failed; the message is the line that the person reads. */
export class Failure extends Error {}

const PLAIN = {
  408: 'That took too long to reach the server.',
  413: 'That is too large for this server.',
  429: 'Too many requests: wait a moment, then go on.',
  502: 'The server is not there at the moment.',
  503: 'The server is busy: try again in a moment.',
  504: 'The server took too long to answer.',
};

/** Return the JSON of an answer. POSTs fields as JSON and a form as it is; GETs without content. Throws Failure. */
export async function ask(path, content, signal) {
  const options = { signal };
  if (content) {
    options.method = 'POST';
    options.body = content instanceof FormData ? content : JSON.stringify(content);
    if (!(content instanceof FormData)) options.headers = { 'Content-Type': 'application/json' };
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Failure('The server cannot be reached.');
  }
  const answer = await response.json().catch(() => null);
  if (response.ok && answer) return answer;
  const said = PLAIN[response.status] ?? answer?.error?.replace(/^Invalid request: /, '');
  throw new Failure(said ?? `The server failed (${response.status}).`);
}
