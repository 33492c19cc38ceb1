import { gzipSync } from 'node:zlib';
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ASSETS, modulesFor } from '../../src/console/assets.ts';
import { ONE_PAGE, startAdmin, type RunningAdmin } from '../support/admin.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const MAX_BYTES = 150_000;

let database: TestDatabase;
let admin: RunningAdmin;
beforeAll(async () => {
  database = await createTestDatabase();
  admin = await startAdmin([{ ...ONE_PAGE, routes: [] }], database.db);
});
afterAll(async () => {
  await admin.close();
  await database.drop();
});

const modules = readdirSync(new URL('../../src/console/browser', import.meta.url)).filter((name) =>
  name.endsWith('.js'),
);

test('all scripts and styles together have less than 150 kB, compressed', async () => {
  const { style, frameStyle, eventsStyle, uplotStyle } = ASSETS;
  const addresses = [...modulesFor([...modules, 'idiomorph']), style, frameStyle, eventsStyle, uplotStyle];
  const sizes = await Promise.all(
    addresses.map(async (address) => {
      const response = await fetch(admin.url + address);
      expect(response.status).toBe(200);
      return gzipSync(await response.bytes()).length;
    }),
  );
  const sum = sizes.reduce((all, size) => all + size, 0);
  expect(sum).toBeGreaterThan(20_000);
  expect(sum).toBeLessThan(MAX_BYTES);
});

test('a page names its modules and all that they import', async () => {
  const page = await admin.page('/page');
  const named = [...page.matchAll(/rel="modulepreload" href="([^"]+)"/g)].map(([, address]) => address);
  expect(named).toEqual(modulesFor(['page.js', 'time-zone.js', 'keys.js', 'actions.js']));
  expect(named.join()).toContain('/npm/preact.mjs');
  expect(named.join()).toContain('/local-time.js');
});
