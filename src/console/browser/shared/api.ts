/**
 * Sends a request to the API and returns its JSON, which is what the schema of its route describes: the caller names that
 * type. Throws an Error with the message of the API. `path` is below /api/v1, with its query.
 */
export async function request<Answer>(
  path: string,
  { method = 'GET', body, signal }: { method?: 'GET' | 'POST'; body?: unknown; signal?: AbortSignal } = {},
): Promise<Answer> {
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
