import { gzipSync } from 'node:zlib';
import { globSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ASSETS, modulesFor } from '../../src/console/assets.ts';
import { ONE_PAGE } from '../support/admin.ts';
import { useConsole } from '../support/use-console.ts';

const MAX_BYTES = 150_000;

const admin = useConsole(() => [{ ...ONE_PAGE, routes: [] }]);

const modules = globSync('**/*.js', { cwd: path.join(import.meta.dirname, '../../src/console/browser') });

test('all scripts and styles together have less than 150 kB, compressed', async () => {
  const { style, frameStyle, eventsStyle, uplotStyle } = ASSETS;
  const addresses = [...modulesFor([...modules, 'idiomorph']), style, frameStyle, eventsStyle, uplotStyle];
  const sizes = await Promise.all(
    addresses.map(async (address) => {
      const response = await fetch(admin.url + address);
      expect(response.status).toBe(200);
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      return gzipSync(await response.bytes()).length;
    }),
  );
  const sum = sizes.reduce((all, size) => all + size, 0);
  expect(sum).toBeGreaterThan(20_000);
  expect(sum).toBeLessThan(MAX_BYTES);
  expect((await fetch(`${admin.url}/page`)).headers.get('cache-control')).toBe('no-store');
});

test('a page names its modules and all that they import', async () => {
  const page = await admin.page('/page');
  const named = [...page.matchAll(/rel="modulepreload" href="([^"]+)"/g)].map(([, address]) => address);
  expect(named).toEqual(
    modulesFor(['shared/page.js', 'shared/time-zone.js', 'shared/keys.js', 'shared/actions.js']),
  );
  expect(named.join()).toContain('/npm/preact.mjs');
  expect(named.join()).toContain('/shared/local-time.js');
});
