import { readFile } from 'node:fs/promises';
import { describeError, UsageError } from '../../lib/errors.ts';
import { revealOnLine } from '../../lib/text/hidden-characters.ts';
import { findCheckpoints, originOf, parseCheckpoints, type Checkpoint } from '../../seal/checkpoint.ts';
import { isDifference, type VerifyFinding } from '../../seal/verify/finding.ts';
import { verifyFolder, type FolderSummary } from '../../seal/verify/verify-folder.ts';
import { isProven, verifyLog, type VerifyOptions, type VerifySummary } from '../../seal/verify/verify-log.ts';
import type { Db } from '../../store/server/database.ts';
import { readInstallation } from '../../store/server/installation.ts';
import { readSealState } from '../../store/seal/seal-log.ts';
import { countOf, formatCount } from '../../lib/text/units.ts';
import { commandOperator } from '../shared/process.ts';
import { note, print, printJsonLine } from '../shared/output.ts';
import type { Config } from '../../config/config.ts';
import { acceptDatabase } from '../../seal/seen-checkpoint.ts';
import { readTrust, seenFileOf } from '../../seal/trust.ts';
import { createProgress, type Progress } from '../shared/progress.ts';

/** What to verify, and the files or addresses of checkpoints that were kept elsewhere. */
interface Chosen extends Omit<VerifyOptions, 'anchors'> {
  readonly against: readonly string[];
}

const FETCH_LIMIT_MS = 30_000;

/** `verify`: prints each finding, then the counts. Resolves with whether everything is as it was stored. */
export async function verify(db: Db, { against, ...options }: Chosen, asJson: boolean): Promise<boolean> {
  const anchors = (await Promise.all(against.map(readAnchors))).flat();
  await checkOrigins(db, anchors);
  const { size } = await readSealState(db);
  const progress = createProgress('verified', size);
  const onFinding = printer(progress, asJson);
  const summary = await verifyLog(db, { ...options, anchors }, onFinding, (done) => progress.show(done));
  progress.clear();
  if (asJson) printJsonLine(summary);
  else printSummary(summary, anchors.length);
  return isProven(summary);
}

/** `verify --accept`: goes on from a database that lacks what this machine has seen. */
export async function acceptSeen(
  db: Db,
  config: Pick<Config, 'dataDir' | 'logKeyFile' | 'anchors'>,
  reason: string,
): Promise<void> {
  const operator = commandOperator();
  const kept = await acceptDatabase(db, seenFileOf(config.dataDir), await readTrust(config), {
    operator,
    reason,
  });
  note(`Accepted: the operator log has the reason. The previous checkpoint stays in ${kept}.`);
}

/** `verify DIRECTORY`: the same of an exported proof, without a database. */
export async function verifyExported(
  directory: string,
  against: readonly string[],
  asJson: boolean,
): Promise<boolean> {
  const anchors = (await Promise.all(against.map(readAnchors))).flat();
  const progress = createProgress('verified', undefined);
  const printFinding = printer(progress, asJson);
  let findings = 0;
  const onFinding = (finding: VerifyFinding) => {
    findings += isDifference(finding) ? 1 : 0;
    printFinding(finding);
  };
  const summary = await verifyFolder(directory, { anchors }, onFinding, (done) => progress.show(done));
  progress.clear();
  if (asJson) printJsonLine({ ...summary, findings });
  else printFolder(summary, findings, anchors.length);
  return findings === 0;
}

function printer(progress: Progress, asJson: boolean): (finding: VerifyFinding) => void {
  return (finding) => {
    progress.clear();
    if (asJson) printJsonLine({ ...finding, position: finding.position });
    else print(lineOf(finding));
  };
}

function printFolder(summary: FolderSummary, findings: number, anchors: number): void {
  const { intact, absent, size, checkpoints, timestamps, publicKeys } = summary;
  print(
    `${countOf(intact, 'row')} intact, ${formatCount(absent)} absent (deleted before the export), ${countOf(findings, 'finding')}`,
  );
  print(
    `The tree has ${countOf(size, 'leaf', 'leaves')} and agrees with ${countOf(checkpoints, 'checkpoint')}, ${countOf(timestamps, 'time-stamp')} and ${summary.anchors} of ${countOf(anchors, 'anchor')}.`,
  );
  for (const key of publicKeys) print(`Compare this key with the one that you trust: ${revealOnLine(key)}`);
}

async function readAnchors(place: string): Promise<readonly Checkpoint[]> {
  try {
    const text = await readText(place);
    const found = findCheckpoints(text);
    // What is no checkpoint is said with its place.
    return found.length > 0 ? found : parseCheckpoints(text);
  } catch (error) {
    throw new UsageError(`--against ${place}: ${describeError(error)}`, { cause: error });
  }
}

async function readText(place: string): Promise<string> {
  if (!/^https?:\/\//.test(place)) return readFile(place, 'utf8');
  const response = await fetch(place, { signal: AbortSignal.timeout(FETCH_LIMIT_MS) });
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return response.text();
}

async function checkOrigins(db: Db, anchors: readonly Checkpoint[]): Promise<void> {
  const origin = originOf((await readInstallation(db)).id);
  const foreign = anchors.find((anchor) => anchor.origin !== origin);
  if (foreign === undefined) return;
  throw new UsageError(
    `--against: this checkpoint belongs to the log ${foreign.origin}, but this log is ${origin}`,
  );
}

function lineOf({ state, subject, detail, ...finding }: VerifyFinding): string {
  const { eventId, deliveryId, key, occurredAt, source, position, leaves } = finding;
  const [first = 0, end = 0] = leaves ?? [];
  const about = [
    eventId ?? deliveryId ?? key,
    occurredAt && `occurred ${occurredAt.toISOString()}`,
    source && `source ${source}`,
    position !== undefined && `position ${position}`,
    leaves && (end - first === 1 ? `leaf ${first}` : `leaves ${first} to ${end - 1}`),
  ];
  return revealOnLine(`${state} ${[subject, ...about].filter(Boolean).join(', ')}: ${detail}`);
}

function printSummary(summary: VerifySummary, anchors: number): void {
  const { size, intact, expired, erased, altered, missing, inserted, notSealedYet, anchoredSize } = summary;
  const since =
    summary.sealedSince === undefined ? '' : `, the first of ${summary.sealedSince.toISOString()}`;
  print(
    `${formatCount(intact)} intact, ${formatCount(expired)} expired, ${formatCount(erased)} erased, ${formatCount(altered)} ALTERED, ${formatCount(missing)} MISSING, ${formatCount(inserted)} INSERTED, ${formatCount(notSealedYet)} NOT SEALED YET`,
  );
  print(
    `The tree has ${countOf(size, 'leaf', 'leaves')} and agrees with ${countOf(summary.checkpoints, 'checkpoint')}${since}.`,
  );
  const [first, ...changes] = summary.signedWith;
  if (first !== undefined) print(`They are signed with ${revealOnLine(first.publicKey)}.`);
  for (const { publicKey, since: from } of changes) {
    print(
      `Since ${from?.toISOString() ?? 'an unknown time'}, they are signed with ${revealOnLine(publicKey)}.`,
    );
  }
  if (summary.timestamps > 0) {
    print(`It agrees with ${countOf(summary.timestamps, 'time-stamp')}, whose signatures openssl checks.`);
  }
  for (const { name, size: signed, time } of summary.witnessed) {
    const last = time === undefined ? '' : `, the last time at ${time.toISOString()}`;
    print(`The witness ${revealOnLine(name)} has signed ${countOf(signed, 'leaf', 'leaves')}${last}.`);
  }
  if (anchors > 0) {
    print(
      `It agrees with ${summary.anchors} of ${countOf(anchors, 'anchor')}: ${formatCount(anchoredSize)} leaves are anchored, ${formatCount(size - anchoredSize)} not yet.`,
    );
  } else if (summary.witnessed.every((witness) => witness.size === 0)) {
    print(
      'No external checkpoint given (--against): anyone with the signing key could have rebuilt the log.',
    );
  }
  const { count, earliest } = summary.sealedLate;
  if (count > 0) {
    print(
      `${countOf(count, 'event')} had no seal for more than a day after arrival, the first since ${earliest?.toISOString()}: they may have been changed in that time.`,
    );
  }
  for (const doubt of summary.doubts) print(`NOT PROVEN: ${doubt}`);
}
