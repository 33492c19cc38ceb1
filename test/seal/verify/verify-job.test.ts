import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { createVerifyJob } from '../../../src/seal/verify/verify-job.ts';
import { listActions } from '../../../src/store/access/operator-log.ts';
import { freely } from '../../support/tamper.ts';
import { openSealedLog } from '../../support/sealed-log.ts';
import { useDatabase } from '../../support/use-database.ts';
import { knowing } from '../../support/trust.ts';
import { waitFor } from '../../support/wait-for.ts';

const test = useDatabase({ isVaried: true });
const OPERATOR = { name: 'jane', via: 'console' } as const;

it('a verification is one at a time, keeps what it finds, and is recorded with its counts', async () => {
  const log = await openSealedLog(test.service);
  const { size } = await log.seal();
  await freely(
    test.db,
    sql`update audit_events set description = 'x' where id = (select min(id) from audit_events where source = 'branch')`,
  );
  const job = createVerifyJob(test.service, test.databaseUrl, async () => knowing(log.key));
  const since = new Date(0);
  await job.start({ source: 'branch', since }, OPERATOR);
  await expect(job.start({}, OPERATOR)).rejects.toThrow('jane has started a verification');
  await waitFor(() => job.latest?.state !== 'running');
  expect(job.latest).toMatchObject({
    state: 'done',
    leaves: size,
    leavesDone: size,
    findings: [{ state: 'ALTERED' }],
  });
  const [recorded] = await listActions(test.db, { limit: 1 });
  expect(recorded).toMatchObject({
    operator: 'jane',
    action: 'integrity.verify',
    subject: 'branch',
    outcome: 'done',
    details: { since: since.toISOString() },
    result: { intact: size / 2 - 1, altered: 1 },
  });
});
