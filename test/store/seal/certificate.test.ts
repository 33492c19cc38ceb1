import { beforeAll, expect, it } from 'vitest';
import { addTimestamp, recordAnchored } from '../../../src/store/seal/anchors.ts';
import { readCertificate } from '../../../src/store/seal/certificate.ts';
import { openLog } from '../../../src/store/log/read-log.ts';
import {
  CHUNK_LEAVES,
  chunksWithDifferences,
  keepVerification,
  readSealedRanges,
  readSealFacts,
} from '../../../src/store/seal/verifications.ts';
import { readInstallation } from '../../../src/store/server/installation.ts';
import { ALL_SOURCES, type Scope } from '../../../src/store/server/scope.ts';
import { countAll } from '../../support/arrivals.ts';
import { openSealedLog, type SealedLog } from '../../support/sealed-log.ts';
import { insertAudits } from '../../support/stored-rows.ts';
import { untilSeen } from '../../support/until-seen.ts';
import { useDatabase } from '../../support/use-database.ts';
import { STORED } from '../events/varied-events.ts';

const HOUR = 3_600_000;
/** Quarters that are proven otherwise each: how many there are of a state, and what was fetched in each. */
const QUARTERS = [
  ['whole', 2, 0],
  ['healed', 1, 7],
  ['not comparable', 4, 0],
] as const;

const test = useDatabase({ isVaried: true });
let log: SealedLog;
let since: Date;
beforeAll(async () => {
  await countAll(test.service);
  log = await openSealedLog(test.service);
  since = new Date(Date.now() - 20 * HOUR);
  let quarter = Math.floor(since.getTime() / HOUR) * HOUR + HOUR;
  for (const [state, count, healed] of QUARTERS) {
    for (let number = 0; number < count; number += 1, quarter += HOUR / 4) {
      await test.query`insert into coverage values ('default', 'AUDIT_LOG_ALL', ${new Date(quarter)}, ${state},
        ${healed}, 0, 0, now(), now(), ${state === 'not comparable' ? 'silent log' : null})`;
    }
  }
});

const certify = (until: Date, scope: Scope = ALL_SOURCES, source?: string) =>
  readCertificate(test.service, scope, { month: '2026-01', since, until, source });

it('a certificate of what no checkpoint has yet names none', async () => {
  expect(await readSealFacts(test.service)).toMatchObject({ checkpoint: undefined, waiting: 0 });
  await untilSeen(test.service);
  expect(await readSealFacts(test.service)).toMatchObject({ checkpoint: undefined, waiting: STORED });
  await recordAnchored(test.service, 'file', 0);
  expect(await certify(new Date())).toMatchObject({
    checkpoint: undefined,
    isWhole: false,
    anchors: [],
    stampedAt: [],
  });
});

it('a certificate has the coverage, and the first checkpoint with all events, which outlasts later ones', async () => {
  const { size } = await log.seal();
  const until = new Date();
  await insertAudits(test.db, { count: 3 });
  const later = await log.seal();
  for (const [anchor, has] of [
    ['before', size - 1],
    ['same', size],
    ['later', later.size],
  ] as const) {
    await test.query`insert into log_anchors (anchor, tried_at) values (${anchor}, now())`;
    await recordAnchored(test.service, anchor, has);
    const stamp = { size: has, madeAt: new Date(has * HOUR), note: 'x', token: Buffer.from('x') };
    await addTimestamp(test.service, stamp);
  }
  const certificate = await certify(until);
  expect(certificate).toMatchObject({
    installation: (await readInstallation(test.service)).id,
    areSealed: false,
    coverage: { whole: 2, healed: 1, notComparable: 4 },
    healedEvents: 7,
    sealedQuarters: 3,
    checkpoint: { size },
    isWhole: true,
    anchors: [{ anchor: 'later' }, { anchor: 'same' }],
    stampedAt: [new Date(size * HOUR), new Date(later.size * HOUR)],
    verified: { leaves: 0, since: undefined, last: undefined },
  });
  expect(certificate.received.map(({ source }) => source)).toContain('branch');
  expect(await certify(new Date(Date.now() + HOUR))).toMatchObject({
    checkpoint: { size: later.size },
    isWhole: false,
  });
  // Before the first event, there is nothing to be whole.
  expect(await certify(since)).toMatchObject({ checkpoint: { size: later.size }, isWhole: false });
  const own = await certify(until, ['branch'], 'branch');
  expect(own).toMatchObject({ coverage: { whole: 0 }, verified: undefined });
  expect(new Set(own.received.map(({ source }) => source))).toEqual(new Set(['branch']));
});

it('a range of the log has what was compared and found of its leaves', async () => {
  const { first } = await openLog(test.service).range();
  const ranges = [
    { from: first, to: first + 10 },
    { from: first + 10, to: first + STORED },
  ];
  const read = (named: readonly number[]) => readSealedRanges(test.service, ranges, named);
  const sealed = [10, STORED - 10].map((count) => ({ sealed: count, erased: 0 }));
  expect(await read([])).toMatchObject(
    sealed.map((one) => ({ ...one, compared: 0, comparedSince: null, altered: 0, missing: 0 })),
  );
  await keepVerification(test.service, { chunk: 0, leaves: 20, altered: 1, missing: 2, events: [] });
  await keepVerification(test.service, {
    chunk: 1,
    leaves: CHUNK_LEAVES,
    altered: 0,
    missing: 0,
    events: [],
  });
  // The first leaf is that of the quarters.
  expect(await read([])).toMatchObject([
    { ...ranges[0], compared: 10, comparedSince: expect.any(Date) as unknown, altered: 1, missing: 2 },
    { ...ranges[1], compared: 9, altered: 1, missing: 2 },
  ]);
  expect(await read([0])).toMatchObject([{ altered: 0, missing: 0 }, { altered: 0 }]);
  expect(await chunksWithDifferences(test.service)).toEqual([0]);
  const { verified, waiting } = await readSealFacts(test.service);
  expect(verified).toMatchObject({ leaves: 20 + CHUNK_LEAVES, altered: 1, missing: 2 });
  expect(waiting).toBe(0);
});
