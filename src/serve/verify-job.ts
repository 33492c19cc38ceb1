import type { FindDifferences } from '../console/integrity/read-integrity.ts';
import type { StartVerification } from '../console/integrity/integrity-area.ts';
import type { Finding, VerificationRun } from '../console/integrity/integrity-schemas.ts';
import { describeError, HttpError } from '../errors.ts';
import type { VerifyFinding } from '../ledger/finding.ts';
import { findDifferences } from '../ledger/verify-in-turn.ts';
import { verifyLog } from '../ledger/verify-log.ts';
import { withDatabase, type Db } from '../store/database.ts';
import { recordAction } from '../store/operator-log.ts';
import { readSealState } from '../store/seal-log.ts';

/** Findings that are kept: a person looks at more of them with `verify`. */
const FINDINGS = 100;

/** Verifications that people start in the console: one at a time, over connections of its own: it takes longer than a page may. */
export function createVerifyJob(db: Db, databaseUrl: string) {
  let run: VerificationRun | undefined;
  let running: Promise<unknown> = Promise.resolve();
  let isStopping = false;

  async function verify(current: VerificationRun): Promise<VerificationRun['result']> {
    const { since, until, source } = current;
    const chosen = { since: since ?? undefined, until: until ?? undefined, source: source ?? undefined };
    const onFinding = (finding: VerifyFinding) => {
      const isDifference = finding.state !== 'EXPIRED' && finding.state !== 'ERASED';
      if (isDifference && current.findings.length < FINDINGS) current.findings.push(describeFinding(finding));
    };
    const onLeaves = (done: number) => {
      if (isStopping) throw new Error('the process stopped');
      current.leaves_done = done;
    };
    const { notSealedYet, ...found } = await withDatabase(databaseUrl, (own) =>
      verifyLog(own, { ...chosen, anchors: [] }, onFinding, onLeaves),
    );
    const { intact, expired, erased, altered, missing, inserted, checkpoints } = found;
    return { intact, expired, erased, altered, missing, inserted, checkpoints, not_sealed_yet: notSealedYet };
  }

  const start: StartVerification = async ({ since, until, source }, operator) => {
    const { size } = await readSealState(db);
    if (run?.state === 'running') {
      throw new HttpError(409, 'VERIFICATION_RUNS', `${run.operator} has started one; wait until it ends`);
    }
    const current: VerificationRun = {
      state: 'running',
      operator: operator.name,
      since: since ?? null,
      until: until ?? null,
      source: source ?? null,
      started_at: new Date(),
      ended_at: null,
      leaves: size,
      leaves_done: 0,
      findings: [],
      result: null,
      error: null,
    };
    run = current;
    const details = { since: since?.toISOString(), until: until?.toISOString() };
    const action = { operator, action: 'integrity.verify', subject: source, details } as const;
    running = recordAction(
      db,
      action,
      () => verify(current),
      (result) => ({ ...result }),
    )
      .then((result) => Object.assign(current, { state: 'done', result }))
      .catch((error: unknown) => Object.assign(current, { state: 'failed', error: describeError(error) }))
      .then(() => Object.assign(current, { ended_at: new Date() }));
    return current;
  };

  return {
    start,
    /** The one that runs, or the last one; undefined if none was started in this process. */
    latest: () => run,
    /** Ends the one that runs. */
    async stop(): Promise<void> {
      isStopping = true;
      await running;
    },
  };
}

/** Names the rows of a chunk that differ. */
export const differencesIn =
  (db: Db): FindDifferences =>
  async (chunk) =>
    (await findDifferences(db, chunk)).map((finding) => ({
      ...describeFinding(finding),
      position: finding.position ?? null,
    }));

const describeFinding = (finding: VerifyFinding): Finding => ({
  state: finding.state,
  subject: finding.subject,
  detail: finding.detail,
  event_id: finding.eventId ?? null,
  occurred_at: finding.occurredAt ?? null,
  source: finding.source ?? null,
  message_type: finding.messageType ?? null,
  key: finding.key ?? finding.deliveryId ?? null,
});
