import type { IncomingHttpHeaders } from 'node:http';

interface AskedFor {
  readonly path: string;
  readonly headers: Pick<IncomingHttpHeaders, 'accept'>;
}

/** Whether a browser asks for a page, and not a program or a script of a page for data. */
export function wantsPage({ path, headers }: AskedFor): boolean {
  return !path.startsWith('/api/') && (headers.accept ?? '').includes('text/html');
}
