import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readDeployFile } from './deploy-file.ts';
import { freePort } from './free-port.ts';
import { startServerProcess } from './server-process.ts';
import { waitFor } from './wait-for.ts';

/** Debian's proxies that the documentation describes. */
export type BalancerName = 'haproxy' | 'nginx';

/** Starts the proxy before two ingest processes, with its file of `deploy/`. Gives its address. */
export async function startBalancer(
  name: BalancerName,
  directory: string,
  [first, second]: readonly [number, number],
  stack: AsyncDisposableStack,
): Promise<string> {
  const port = await freePort();
  const replacements = {
    '10.0.0.10:80': `127.0.0.1:${port}`,
    '10.0.0.11:8080': `127.0.0.1:${first}`,
    '10.0.0.12:8080': `127.0.0.1:${second}`,
  };
  await mkdir(directory, { recursive: true });
  const file = path.join(directory, name);
  await writeFile(file, await readDeployFile(name === 'nginx' ? 'nginx.conf' : 'haproxy.cfg', replacements));
  const ownFiles = `daemon off; pid ${directory}/nginx.pid; error_log stderr;`;
  const proxy =
    name === 'nginx'
      ? startServerProcess('nginx', ['-c', file, '-g', ownFiles])
      : startServerProcess('haproxy', ['-db', '-f', file]);
  stack.defer(() => proxy.end());
  const origin = `http://127.0.0.1:${port}`;
  await waitFor(async () => {
    if (proxy.hasEnded()) throw new Error(`${name} has ended: ${proxy.output()}`);
    return fetch(origin).then(
      () => true,
      () => false,
    );
  });
  return origin;
}
