import { createRandom } from '../../emulator/random.ts';

/** What a run is drawn with: the settings of the service, and how much is sent. */
export interface Setup {
  readonly sources: readonly [string, ...string[]];
  /** `DURABILITY=strict`. */
  readonly isStrict: boolean;
  /** How long the spool keeps deliveries after their commit, in milliseconds. */
  readonly keepMs: number;
  readonly spoolBytes: number;
  readonly maxBytesInFlight: number;
  /** Both ingest processes have one DATA_DIR. */
  readonly sharesDirectory: boolean;
  /** How many events the forwarder sends at once. */
  readonly batchEvents: number;
  /** How many events the sealer seals at once. */
  readonly sealStep: number;
  /** The mean of deliveries in a second. */
  readonly perSecond: number;
  /** The share of deliveries that come together with the one before. */
  readonly together: number;
  /** The share of deliveries whose sender repeats them although they were accepted. */
  readonly repeated: number;
  /** The share of deliveries that the first source sends in addition to its part. */
  readonly loud: number;
  /** The share of deliveries with something that goes to quarantine. */
  readonly damaged: number;
  /** The log is extended, and forwarded to two destinations. */
  readonly forwards: boolean;
  /** Ingest processes store from memory what they accept. */
  readonly storesItself: boolean;
}

const MIB = 1024 * 1024;

/** Of more deliveries, more come in the same time, and leave in larger batches: a run takes no longer. */
export const OF_A_RUN = 2_000;

/** Batches are small, so that a backlog is several, and the seal of a run takes many steps. */
const BATCH_EVENTS = 20;
const SEAL_STEP = 8;

export function drawSetup(seed: number, deliveries: number): Setup {
  const random = createRandom(seed, 'set-up');
  const forwards = random.chance(0.5);
  // Only then may commits be lost, from which most is to be feared.
  const isStrict = random.chance(forwards ? 0.8 : 0.5);
  const density = Math.max(1, deliveries / OF_A_RUN);
  return {
    sources: random.pick<Setup['sources']>([['a'], ['a', 'b'], ['a', 'b', 'c']]),
    isStrict,
    keepMs: isStrict ? random.pick([0, 30_000, 60_000, 60_000]) : 0,
    spoolBytes: random.pick([MIB, 16 * MIB, 1024 * MIB]),
    maxBytesInFlight: random.pick([MIB, 64 * MIB]),
    sharesDirectory: random.chance(0.75),
    batchEvents: Math.round(BATCH_EVENTS * density),
    sealStep: Math.round(SEAL_STEP * density),
    perSecond: density * random.pick([10, 10, 20, 50, 200, 800]),
    together: random.pick([0.5, 0.9, 0.99]),
    repeated: random.pick([0, 0.02, 0.3]),
    damaged: random.pick([0, 0.02, 0.3]),
    forwards,
    storesItself: random.chance(0.4),
    loud: random.pick([0, 0.9, 0.99]),
  };
}
