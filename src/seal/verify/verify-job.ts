import { ConflictError, describeError } from '../../lib/errors.ts';
import { recordAction, type Operator } from '../../store/access/operator-log.ts';
import { readSealState } from '../../store/seal/seal-log.ts';
import { withDatabase, type Db } from '../../store/server/database.ts';
import { isDifference, type VerifyFinding } from './finding.ts';
import type { Trust } from '../trust.ts';
import { verifyLog, type ArchivedEvents, type VerifySummary } from './verify-log.ts';

/** The events and deliveries to verify: the rest is always verified whole. */
export interface VerifyRange {
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  readonly source?: string | undefined;
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

/** Verifications that people start in the console: one at a time, over connections of its own: it takes longer than a page may. */
export class VerifyJob {
  readonly #db: Db;
  readonly #databaseUrl: string;
  readonly #trust: () => Promise<Trust>;
  readonly #archived: ArchivedEvents | undefined;
  #run: VerificationRun | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #isStopping = false;

  constructor(db: Db, databaseUrl: string, trust: () => Promise<Trust>, archived?: ArchivedEvents) {
    this.#db = db;
    this.#databaseUrl = databaseUrl;
    this.#trust = trust;
    this.#archived = archived;
  }

  /** The one that runs, or the last one; undefined if none was started in this process. */
  get latest(): VerificationRun | undefined {
    return this.#run;
  }

  /** Starts one, and records it in the operator log. Throws a ConflictError while another one runs. */
  async start(range: VerifyRange, operator: Operator): Promise<VerificationRun> {
    const { size } = await readSealState(this.#db);
    if (this.#run?.state === 'running') {
      throw new ConflictError(
        'VERIFICATION_RUNS',
        `${this.#run.operator} has started one; wait until it ends`,
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
    this.#run = run;
    const { since, until, source, month } = range;
    const action =
      month === undefined
        ? ({
            action: 'integrity.verify',
            subject: source,
            details: { since: since?.toISOString(), until: until?.toISOString() },
          } as const)
        : ({ action: 'certificate.make', subject: month, details: { source } } as const);
    this.#running = recordAction(this.#db, { operator, ...action }, () => this.#verify(range), countsOf).then(
      (result) => this.#update({ state: 'done', endedAt: new Date(), result }),
      (error: unknown) => this.#update({ state: 'failed', endedAt: new Date(), error: describeError(error) }),
    );
    return run;
  }

  /** Ends the one that runs. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
  }

  #verify(range: VerifyRange): Promise<VerifySummary> {
    const findings: VerifyFinding[] = [];
    const onFinding = (finding: VerifyFinding) => {
      if (!isDifference(finding) || findings.length === FINDINGS) return;
      findings.push(finding);
      this.#update({ findings: [...findings] });
    };
    const onLeaves = (leavesDone: number) => {
      if (this.#isStopping) throw new Error('the process stopped');
      this.#update({ leavesDone });
    };
    return withDatabase(this.#databaseUrl, async (own) =>
      verifyLog(
        own,
        { ...range, anchors: [], trust: await this.#trust(), archived: this.#archived },
        onFinding,
        onLeaves,
      ),
    );
  }

  #update(changes: Partial<VerificationRun>): void {
    if (this.#run !== undefined) this.#run = { ...this.#run, ...changes };
  }
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
