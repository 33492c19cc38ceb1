import type { MonthRange } from '../parse-time.ts';
import { readAnchors, timestampsBetween, type AnchorState } from './anchors.ts';
import { readCoverageByDay } from './coverage.ts';
import type { Db } from './database.ts';
import { listGaps, type Gap } from './gaps.ts';
import { readInstallation } from './installation.ts';
import { countReceivedItems, type ReceivedItems } from './quarantine.ts';
import { sumArrivals, type ArrivalSum } from './read-arrivals.ts';
import { positionSince } from './read-log.ts';
import { leafOf } from './read-seals.ts';
import { ALL_SOURCES, type Scope } from './scope.ts';
import { checkpointsAfter, latestCheckpoint, type StoredCheckpoint } from './seal-log.ts';
import { readVerified, type VerifiedState } from './verifications.ts';

/** How rows compare with their seal. */
export interface RowCounts {
  readonly intact: number;
  readonly expired: number;
  readonly erased: number;
  readonly altered: number;
  readonly missing: number;
  readonly inserted: number;
  readonly notSealedYet: number;
}

/** Which month of which sources. */
export interface CertificateRange extends MonthRange {
  readonly source?: string | undefined;
}

/** What is certified of what was received in a month. */
export interface Certificate extends CertificateRange {
  readonly madeAt: Date;
  readonly installation: string;
  /** By source and message type. */
  readonly received: readonly ArrivalSum[];
  readonly quarantine: ReceivedItems;
  /** Quarters of an hour by what is proven of them, and the events that were missing and were fetched. */
  readonly coverage: Readonly<Record<'whole' | 'healed' | 'pushOnly' | 'unrecoverable' | 'pending', number>>;
  readonly healedEvents: number;
  readonly gaps: readonly Gap[];
  /** What the service has found by itself about all rows; undefined for those who may not see all sources. */
  readonly verified: VerifiedState | undefined;
  /** The verification of the rows of the month, if it was made for this. */
  readonly verification: RowCounts | undefined;
  /** The first checkpoint that has all events of the month, or the latest; undefined if there is none yet. */
  readonly checkpoint: StoredCheckpoint | undefined;
  /** Whether the checkpoint has all events of the month. */
  readonly isWhole: boolean;
  /** Places outside of the database that have this checkpoint or a later one. */
  readonly anchors: readonly AnchorState[];
  /** When authorities stamped this checkpoint or a later one, the earliest first. */
  readonly stampedAt: readonly Date[];
}

/** Reads what is certified of a month. The cost does not depend on the number of events. */
export async function readCertificate(
  db: Db,
  scope: Scope,
  range: CertificateRange,
  verification?: RowCounts,
): Promise<Certificate> {
  const { since, until, source } = range;
  const received = await sumArrivals(db, scope, { since, until });
  const coverage = await readCoverageByDay(db, scope, { since, until, source });
  const sum = (count: (day: (typeof coverage)[number]) => number) =>
    coverage.reduce((all, day) => all + count(day), 0);
  const end = await positionSince(db, until);
  const leaf = end === 0 ? undefined : await leafOf(db, end - 1);
  const [covering] = leaf === undefined ? [] : await checkpointsAfter(db, leaf, 1);
  const checkpoint = covering ?? (await latestCheckpoint(db));
  const size = checkpoint?.size ?? Infinity;
  const stamps =
    checkpoint === undefined ? [] : await timestampsBetween(db, size - 1, Number.MAX_SAFE_INTEGER);
  return {
    ...range,
    madeAt: new Date(),
    installation: (await readInstallation(db)).id,
    received: received.filter((one) => source === undefined || one.source === source),
    quarantine: await countReceivedItems(db, scope, range),
    coverage: {
      whole: sum(({ whole }) => whole),
      healed: sum(({ healed }) => healed),
      pushOnly: sum(({ push_only: pushOnly }) => pushOnly),
      unrecoverable: sum(({ unrecoverable }) => unrecoverable),
      pending: sum(({ pending }) => pending),
    },
    healedEvents: sum(({ healed_events: healed }) => healed),
    gaps: await listGaps(db, scope, { since, until, source }),
    verified: scope === ALL_SOURCES ? await readVerified(db) : undefined,
    verification,
    checkpoint,
    isWhole: covering !== undefined && until.getTime() <= Date.now(),
    anchors: (await readAnchors(db)).filter((anchor) => anchor.size >= size),
    stampedAt: stamps.map(({ madeAt }) => madeAt),
  };
}
