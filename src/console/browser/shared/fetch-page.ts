/** Fetches a page as the server draws it now. Throws an Error with the message of the console. */
export async function fetchPage(address: URL, signal: AbortSignal) {
  const response = await fetch(address, { headers: { Accept: 'text/html' }, signal });
  // The session has expired: this leads to the login.
  if (response.redirected) location.reload();
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  if (!response.ok) throw new Error(page.querySelector('main p')?.textContent ?? `status ${response.status}`);
  return page;
}
