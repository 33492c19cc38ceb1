/** Whether an address is on this machine. */
export function isLoopback({ hostname }: URL): boolean {
  return /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

/** Whether a host to listen on is reached from this machine alone. */
export function isLoopbackHost(host: string): boolean {
  const address = `http://${host.includes(':') ? `[${host}]` : host}`;
  return URL.canParse(address) && isLoopback(new URL(address));
}

/** Whether what is sent to an address stays between us and it: encrypted, or on this machine. */
export function isPrivate(url: URL): boolean {
  return url.protocol === 'https:' || isLoopback(url);
}
