import { expect, it, onTestFinished } from 'vitest';
import { auditRecord } from '../support/deliveries.ts';
import { SECRET } from '../support/program.ts';
import { startProxy, through } from '../support/proxy.ts';
import { startForTest } from '../support/service.ts';
import { useDatabase } from '../support/use-database.ts';
import { newDirectory } from '../support/use-directory.ts';
import { waitFor } from '../support/wait-for.ts';

const test = useDatabase();

it(
  'stores again what it accepted when all of its connections have fallen silent',
  { timeout: 240_000 },
  async () => {
    const { hostname: host, port } = new URL(test.databaseUrl);
    const proxy = await startProxy({ host, port: Number(port) });
    onTestFinished(() => proxy.stop());
    const service = await startForTest({
      DATA_DIR: await newDirectory(),
      DATABASE_URL: through(proxy, test.databaseUrl),
      DURABILITY: 'strict',
    });
    const send = () =>
      fetch(`${service.url}/ingest/default/AUDIT_LOG_ALL`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${SECRET}` },
        body: JSON.stringify(auditRecord()),
      });
    expect((await send()).status).toBe(200);
    await waitFor(async () => (await test.query`select from deliveries`).length === 1);
    proxy.silence();
    expect(await (await send()).json()).toMatchObject({ durability: 'spooled' });
    await waitFor(async () => (await test.query`select from deliveries`).length === 2, 180_000);
    // Else the service would wait for the silent ones when it stops.
    proxy.cut();
  },
);
