import type { Fault, Harm } from './faults.ts';
import type { Judgement } from './judge.ts';
import { countRefused, type Ledger } from './ledger.ts';
import type { LoadTimes } from './load.ts';
import type { SetUpName } from './set-up.ts';
import type { SealVerdict } from './verify-seal.ts';

/** What a fault came to: the sender's counts, times in milliseconds, and what was found. */
export interface Measured extends Omit<Ledger, 'obligations'>, LoadTimes, Judgement {
  /** What the service has sealed of all that it stored. */
  readonly seal: SealVerdict;
}

/** What is said of a fault. */
export interface RowResult {
  readonly verdict: 'ok' | 'FAILED' | 'documented loss' | 'skipped';
  /** Why. */
  readonly remark: string;
  /** Undefined when the fault was not run to its end. */
  readonly measured?: Measured;
}

/** One line of the table. */
export interface Row extends RowResult {
  readonly setUp: SetUpName;
  readonly fault: string;
}

/** The verdict over a fault. `crashed` names the programs that ended by themselves. */
export function verdictOver(
  { forbids }: Pick<Fault, 'forbids'>,
  measured: Measured,
  crashed: readonly string[],
): RowResult {
  const counts: Readonly<Record<Harm, number>> = {
    lost: measured.lost,
    doubled: measured.doubled,
    refused: countRefused(measured),
    unanswered: measured.unanswered,
  };
  const wrongs = [
    ...forbids.filter((harm) => counts[harm] > 0).map((harm) => `${counts[harm]} ${harm}`),
    ...crashed.map((program) => `${program} ended by itself`),
  ];
  if (!measured.addsUp) wrongs.push('conservation does not add up');
  const { unsealed, findings } = measured.seal;
  if (unsealed > 0) wrongs.push(`${unsealed} events were not sealed in time`);
  if (findings.length > 0) wrongs.push(`verify found ${findings.join(', ')}`);
  if (measured.acknowledged === 0) wrongs.push('nothing was acknowledged');
  if (wrongs.length > 0) return { verdict: 'FAILED', remark: wrongs.join(', '), measured };
  return counts.lost > 0
    ? { verdict: 'documented loss', remark: `${counts.lost} lost`, measured }
    : { verdict: 'ok', remark: '', measured };
}
