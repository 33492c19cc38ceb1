import { globSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { VIEW } from '../../src/console/access/access.ts';
import { jsonRoute } from '../../src/console/api/route.ts';
import { ASSETS, modulesFor } from '../../src/console/assets.ts';
import { ONE_PAGE } from '../support/admin.ts';
import { useConsole } from '../support/use-console.ts';

const MAX_BYTES = 120_000;

const words = jsonRoute({
  route: 'GET /words',
  summary: 'list many words',
  ...VIEW,
  answer: z.array(z.string()),
  work: async () => Array.from({ length: 500 }, () => 'word'),
});

const admin = useConsole(() => [{ ...ONE_PAGE, routes: [words] }], {
  token: 'a-token-of-32-characters-or-more',
});

const modules = globSync('**/*.ts', { cwd: path.join(import.meta.dirname, '../../src/console/browser') });

/** An answer as it is sent, which fetch would decompress. */
async function ask(address: string, headers: Readonly<Record<string, string>>) {
  const { promise, resolve, reject } = Promise.withResolvers<{
    readonly status: number | undefined;
    readonly headers: Readonly<Record<string, unknown>>;
    readonly body: Buffer;
  }>();
  request(admin.url + address, { headers }, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('end', () => {
      resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) });
    });
  })
    .on('error', reject)
    .end();
  return promise;
}

test('all scripts and styles together have less than 120 kB, compressed, and need no login', async () => {
  const addresses = [...modulesFor(modules), ASSETS.style, ASSETS.uplotStyle];
  const sizes = await Promise.all(
    addresses.map(async (address) => {
      const plain = await ask(address, {});
      const [gzip, br] = await Promise.all([
        ask(address, { 'Accept-Encoding': 'gzip' }),
        ask(address, { 'Accept-Encoding': 'gzip, br' }),
      ]);
      expect([plain.status, gzip.status, br.status]).toEqual([200, 200, 200]);
      expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
      expect(brotliDecompressSync(br.body).equals(plain.body)).toBe(true);
      expect(br.headers).toMatchObject({
        'cache-control': 'public, max-age=31536000, immutable',
        'content-encoding': 'br',
        vary: 'Accept-Encoding',
      });
      return gzip.body.length;
    }),
  );
  const sum = sizes.reduce((all, size) => all + size, 0);
  expect(sum).toBeGreaterThan(20_000);
  expect(sum).toBeLessThan(MAX_BYTES);
});

test('pages and JSON are compressed, and never kept', async () => {
  const headers = {
    Authorization: 'Bearer a-token-of-32-characters-or-more',
    'Accept-Encoding': 'gzip',
  };
  for (const address of ['/page', '/api/v1/words']) {
    const answer = await ask(address, headers);
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'content-encoding': 'gzip' });
  }
});

test('a page names its modules and all that they import', async () => {
  const page = await admin.page('/page');
  const named = [...page.matchAll(/rel="modulepreload" href="([^"]+)"/g)].map(([, address]) => address);
  expect(named).toEqual(
    modulesFor(['shared/page.ts', 'shared/time-zone.ts', 'shared/keys.ts', 'shared/actions.ts']),
  );
  expect(named.join()).toContain('/npm/preact.mjs');
  expect(named.join()).toContain('/shared/local-time.ts');
});
