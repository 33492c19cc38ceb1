import { ConflictError, describeError } from '../../lib/errors.ts';
import { recordAction, type Operator } from '../../store/access/operator-log.ts';
import { readSealState } from '../../store/seal/seal-log.ts';
import type { DeliveryFilter } from '../../store/seal/sealed-deliveries.ts';
import { withDatabase, type Db } from '../../store/server/database.ts';
import { isDifference, type VerifyFinding } from './finding.ts';
import type { Trust } from '../trust.ts';
import { verifyLog, type ArchivedEvents, type VerifySummary } from './verify-log.ts';

/** The events and deliveries to verify: the rest is always verified whole. */
export interface VerifyRange extends DeliveryFilter {
  /** The month that it is, if a certificate of it is to be made. */
  readonly month?: string;
}

export interface VerificationRun extends VerifyRange {
  readonly state: 'running' | 'done' | 'failed';
  readonly operator: string;
  readonly startedAt: Date;
  readonly endedAt?: Date;
  readonly leaves: number;
  readonly leavesDone: number;
  /** What is altered, missing or inserted; at most 100. */
  readonly findings: readonly VerifyFinding[];
  readonly result?: VerifySummary;
  readonly error?: string;
}

/** Findings that are kept: a person looks at more of them with `verify`. */
const FINDINGS = 100;

export type VerifyJob = ReturnType<typeof createVerifyJob>;

/** Verifications that people start in the console: one at a time, over connections of its own: it takes longer than a page may. */
export function createVerifyJob(
  db: Db,
  databaseUrl: string,
  trust: () => Promise<Trust>,
  archived?: ArchivedEvents,
) {
  let latest: VerificationRun | undefined;
  let running: Promise<unknown> = Promise.resolve();
  let isStopping = false;

  function update(changes: Partial<VerificationRun>): void {
    if (latest !== undefined) latest = { ...latest, ...changes };
  }

  function verify(range: VerifyRange): Promise<VerifySummary> {
    const findings: VerifyFinding[] = [];
    const onFinding = (finding: VerifyFinding) => {
      if (!isDifference(finding) || findings.length === FINDINGS) return;
      findings.push(finding);
      update({ findings: [...findings] });
    };
    const onLeaves = (leavesDone: number) => {
      if (isStopping) throw new Error('the process stopped');
      update({ leavesDone });
    };
    return withDatabase(databaseUrl, async (own) =>
      verifyLog(own, { ...range, anchors: [], trust: await trust(), archived }, onFinding, onLeaves),
    );
  }

  return {
    /** The one that runs, or the last one; undefined if none was started in this process. */
    get latest() {
      return latest;
    },
    /** Starts one, and records it in the operator log. Throws a ConflictError while another one runs. */
    async start(range: VerifyRange, operator: Operator): Promise<VerificationRun> {
      const { size } = await readSealState(db);
      if (latest?.state === 'running') {
        throw new ConflictError(
          'VERIFICATION_RUNS',
          `${latest.operator} has started a verification; wait until it ends`,
        );
      }
      const run: VerificationRun = {
        ...range,
        state: 'running',
        operator: operator.name,
        startedAt: new Date(),
        leaves: size,
        leavesDone: 0,
        findings: [],
      };
      latest = run;
      const { since, until, source, month } = range;
      const action =
        month === undefined
          ? ({
              action: 'integrity.verify',
              subject: source,
              details: { since: since?.toISOString(), until: until?.toISOString() },
            } as const)
          : ({ action: 'certificate.make', subject: month, details: { source } } as const);
      running = recordAction(db, { operator, ...action }, () => verify(range), countsOf).then(
        (result) => update({ state: 'done', endedAt: new Date(), result }),
        (error: unknown) => update({ state: 'failed', endedAt: new Date(), error: describeError(error) }),
      );
      return run;
    },
    /** Ends the one that runs. */
    async stop(): Promise<void> {
      isStopping = true;
      await running;
    },
  };
}

/** The counts of a verification, as the operator log and the API have them. */
export function countsOf({
  intact,
  expired,
  erased,
  altered,
  missing,
  inserted,
  checkpoints,
  notSealedYet,
  doubts,
}: VerifySummary) {
  const counts = { intact, expired, erased, altered, missing, inserted, checkpoints };
  return { ...counts, not_sealed_yet: notSealedYet, doubts: [...doubts] };
}
