/** Whether an address is on this machine. */
export function isLoopback({ hostname }: URL): boolean {
  return /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

/** Whether only this machine reaches a listener on this host. */
export function isLoopbackHost(host: string): boolean {
  const address = `http://${host.includes(':') ? `[${host}]` : host}`;
  return URL.canParse(address) && isLoopback(new URL(address));
}

/** Whether nobody can read what is sent to an address: it is encrypted, or stays on this machine. */
export const isPrivate = (url: URL): boolean => url.protocol === 'https:' || isLoopback(url);
