import { ask, type Answer } from './ask.ts';

/** A browser without pages: it keeps cookies and follows redirects. */
export interface CookieJar {
  /** The cookies by name; one that is removed here is no longer sent. */
  readonly cookies: Map<string, string>;
  /** Asks once, with the cookies. */
  ask(address: string, form?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Asks and follows redirects until `until` says of an address that it is the last, which is not asked. */
  follow(address: string, until?: (address: URL) => boolean): Promise<{ answer: Answer; address: URL }>;
}

/** All addresses are those of this machine: like a browser, the jar does not tell their ports apart. */
export function createCookieJar(
  headers: Readonly<Record<string, string>> = { Accept: 'text/html' },
): CookieJar {
  const cookies = new Map<string, string>();
  const jar: CookieJar = {
    cookies,
    async ask(address, form) {
      const { origin, pathname, search } = new URL(address);
      const sent = { ...headers, Cookie: [...cookies].map((pair) => pair.join('=')).join('; ') };
      const answer = await ask(origin, {
        path: `${pathname}${search}`,
        headers: form ? { ...sent, 'Content-Type': 'application/x-www-form-urlencoded' } : sent,
        ...(form && { method: 'POST', body: new URLSearchParams(form).toString() }),
      });
      for (const line of answer.headers['set-cookie'] ?? []) keep(line);
      return answer;
    },
    async follow(start, until = () => false) {
      let address = new URL(start);
      for (let i = 0; i < 10; i += 1) {
        const answer = await jar.ask(address.href);
        if (answer.headers.location === undefined) return { answer, address };
        address = new URL(answer.headers.location, address);
        if (until(address)) return { answer, address };
      }
      throw new Error(`${start} redirects without end, at last to ${address}`);
    },
  };
  function keep(line: string): void {
    const [pair = '', ...attributes] = line.split('; ');
    const at = pair.indexOf('=');
    const expires = attributes.find((attribute) => /^expires=/i.test(attribute))?.slice(8);
    if (expires !== undefined && Date.parse(expires) < Date.now()) cookies.delete(pair.slice(0, at));
    else cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }
  return jar;
}
