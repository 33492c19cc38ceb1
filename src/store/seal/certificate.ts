import type { MonthRange } from '../../lib/text/parse-time.ts';
import { readAnchors, timestampsBetween } from './anchors.ts';
import { readCoverageByDay, type DayCoverage } from '../reconcile/coverage.ts';
import type { Db } from '../server/database.ts';
import { listGaps } from '../reconcile/gaps.ts';
import { readInstallation } from '../server/installation.ts';
import { countReceivedItems } from '../quarantine/quarantine.ts';
import { sumArrivals } from '../counts/read-arrivals.ts';
import { positionSince } from '../log/read-log.ts';
import { leafOf } from './read-seals.ts';
import { ALL_SOURCES, type Scope } from '../server/scope.ts';
import { checkpointsAfter, latestCheckpoint } from './seal-log.ts';
import { countQuartersSealedInTime } from './sealed-quarters.ts';
import { readVerified } from './verifications.ts';

export interface RowCounts {
  readonly intact: number;
  readonly expired: number;
  readonly erased: number;
  readonly altered: number;
  readonly missing: number;
  readonly inserted: number;
  readonly notSealedYet: number;
  /** The rows were compared after this time. */
  readonly comparedSince: Date;
  /** Why nobody can rely on it although no row differs, as sentences. */
  readonly doubts: readonly string[];
}

export interface CertificateRange extends MonthRange {
  readonly source?: string | undefined;
}

/** What is certified of what was received in a month. */
export type Certificate = Awaited<ReturnType<typeof readCertificate>>;

/** Reads what is certified of a month. Without a verification, the cost does not depend on the number of events. */
export async function readCertificate(
  db: Db,
  scope: Scope,
  range: CertificateRange,
  verification?: RowCounts,
) {
  const { since, until, source } = range;
  const summed = verification ? await sumArrivals(db, scope, range, 'deliveries') : [];
  const received = summed.length > 0 ? summed : await sumArrivals(db, scope, range);
  const coverage = await readCoverageByDay(db, scope, { since, until, source });
  const sum = (name: Exclude<keyof DayCoverage, 'day' | 'source' | 'message_type' | 'reasons'>) =>
    coverage.reduce((all, day) => all + day[name], 0);
  const end = await positionSince(db, until);
  const leaf = end === 0 ? undefined : (await leafOf(db, end - 1))?.leaf;
  const [covering] = leaf === undefined ? [] : await checkpointsAfter(db, leaf, 1);
  const checkpoint = covering ?? (await latestCheckpoint(db));
  const size = checkpoint?.size ?? Infinity;
  const stamps =
    checkpoint === undefined ? [] : await timestampsBetween(db, size - 1, Number.MAX_SAFE_INTEGER);
  return {
    ...range,
    madeAt: new Date(),
    installation: (await readInstallation(db)).id,
    /** By source and message type. */
    received: received.filter((one) => source === undefined || one.source === source),
    /** They are the sums of deliveries that were compared with their seal. */
    areSealed: summed.length > 0,
    quarantine: await countReceivedItems(db, scope, range),
    /** Quarters of an hour by what is proven of them. */
    coverage: {
      whole: sum('whole'),
      healed: sum('healed'),
      pushOnly: sum('push_only'),
      notComparable: sum('not_comparable'),
      unrecoverable: sum('unrecoverable'),
      pending: sum('pending'),
    },
    /** The whole and healed quarters whose state was sealed within a day of its comparison. */
    sealedQuarters: await countQuartersSealedInTime(db, scope, range),
    /** Events that were missing and were fetched. */
    healedEvents: sum('healed_events'),
    gaps: await listGaps(db, scope, { since, until, source }),
    /** What the service has found by itself about all rows; undefined for those who may not see all sources. */
    verified: scope === ALL_SOURCES ? await readVerified(db) : undefined,
    /** The verification of the rows of the month, if it was made for this. */
    verification,
    /** The first checkpoint that has all events of the month, or the latest; undefined if there is none yet. */
    checkpoint,
    /** Whether the checkpoint has all events of the month. */
    isWhole: covering !== undefined && until.getTime() <= Date.now(),
    /** Places outside of the database that have this checkpoint or a later one. */
    anchors: (await readAnchors(db)).filter((anchor) => anchor.size >= size),
    /** When authorities stamped this checkpoint or a later one, the earliest first. */
    stampedAt: stamps.map(({ madeAt }) => madeAt),
  };
}
