/**
 * Sends a request to the API and returns its JSON. Throws an Error with the message of the API.
 *
 * @param {string} path below /api/v1, with its query
 * @param {{ method?: 'GET' | 'POST', body?: unknown, signal?: AbortSignal }} [options]
 * @returns {Promise<any>}
 */
export async function request(path, { method = 'GET', body, signal } = {}) {
  const response = await fetch(`/api/v1${path}`, {
    method,
    headers: {
      Accept: 'application/json',
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  });
  if (response.status === 401) {
    location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok)
    throw new Error(answer.error_message ?? `the console answered with status ${response.status}`);
  return answer;
}
