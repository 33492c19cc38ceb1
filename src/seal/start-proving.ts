import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { OWN_TYPES } from '../events/domain.ts';
import { describeError } from '../lib/errors.ts';
import {
  eventAnchor,
  fileAnchor,
  putCheckpoint,
  timestampAnchor,
  urlAnchor,
  witnessAnchor,
  type Anchor,
} from './anchors.ts';
import { parseWitness } from './cosignature.ts';
import { createSealer, type Sealer } from './sealer.ts';
import { keepSeen } from './seen-checkpoint.ts';
import { readTrust, seenFileOf } from './trust.ts';
import { compareStated } from './verify/verify-statements.ts';
import { verifyNext } from './verify/verify-in-turn.ts';
import { compareSchema } from '../store/server/schema/compare-schema.ts';
import type { Db } from '../store/server/database.ts';
import { readInstallation } from '../store/server/installation.ts';
import { failuresIn } from '../lib/failure-log.ts';
import { repeatInBackground } from '../lib/repeat.ts';
import { keepLogKey, logKeyFileOf } from './log-key.ts';
import { latestCheckpoint } from '../store/seal/seal-log.ts';
import { createRecordStore } from '../handlers/store-batch.ts';

interface Proving {
  /** Connections for the seal alone. */
  readonly db: Db;
  /** The database with the events of the archive. Undefined: nothing is archived. */
  readonly events?: Db | undefined;
  /** The settings in force. */
  readonly config: Pick<Config, 'dataDir' | 'logKeyFile' | 'anchors' | 'erasureKeyFile'> & {
    readonly destinations: readonly unknown[];
  };
  readonly logger: Logger;
}

/** Seals the log, keeps its checkpoints elsewhere, and verifies stored rows from now on. The tables must be up to date. */
export function startProving(proving: Proving, started: AsyncDisposableStack): void {
  startSealing(proving, started);
  startAnchoring(proving, started);
  startVerifying(proving, started);
}

/** How often to look for what is not sealed yet: larger steps cost less. */
const SEAL_INTERVAL_MS = 2_000;

function startSealing({ db, config, logger }: Proving, started: AsyncDisposableStack): void {
  let sealer: Sealer | undefined;
  // Storing does not wait for the key, and goes on without one.
  const open = async () => {
    const { id } = await readInstallation(db);
    const key = await keepLogKey(logKeyFileOf(config), id, (await latestCheckpoint(db))?.publicKey);
    logger.debug({ key: key.publicText }, 'checkpoints of the log are signed with this key');
    return createSealer(db, key, () => readTrust(config));
  };
  const work = async () => {
    sealer ??= await open();
    return sealer.seal();
  };
  const failure = 'the log was not sealed';
  repeatInBackground({ part: 'sealer', failure, pauseMs: SEAL_INTERVAL_MS, work }, logger, started);
}

/** Checkpoints are of all sources, so that they belong to none of them. */
const SOURCE = 'xiq-sink';

/** How often to look for a new checkpoint: one is signed every minute while something is sealed. */
const LOOK_INTERVAL_MS = 5_000;
/** What failed is tried again within this time. */
const RETRIED_MS = 2 * 60_000;

function anchorsOf({ file, url, timestampUrl, witnesses }: Config['anchors'], db: Db): readonly Anchor[] {
  return [
    ...(file === undefined ? [] : [fileAnchor(file)]),
    ...(url === undefined ? [] : [urlAnchor(url)]),
    ...(timestampUrl === undefined ? [] : [timestampAnchor(db, timestampUrl)]),
    ...witnesses.map((witness) => witnessAnchor(db, parseWitness(witness.publicKey, witness.url))),
  ];
}

/** The anchor that stores checkpoints as events, which are forwarded. */
function createEventAnchor({ db, logger, config }: Proving, giveUp: AbortSignal): Anchor {
  const store = createRecordStore(db, logger, giveUp, config);
  const kind = { messageType: 'OTHER', sentType: OWN_TYPES.checkpoint, origin: 'xiq-sink' } as const;
  return eventAnchor((record) => store({ source: SOURCE, ...kind, records: [record] }));
}

/** How often an outdated database is reported again. */
const REPEAT_MS = 60 * 60 * 1000;

const WHAT_TO_DO = 'See "An older database" in docs/backup.md. Storing and forwarding continue.';

/** Keeps checkpoints outside of the database, where the settings say. A failure stops nothing else. */
function startAnchoring(proving: Proving, started: AsyncDisposableStack): void {
  const { db, config, logger } = proving;
  const stopping = new AbortController();
  const places = anchorsOf(config.anchors, db);
  const events = createEventAnchor(proving, stopping.signal);
  let failedAt = -Infinity;
  const onFailure = (anchor: string, error: unknown) => {
    failedAt = performance.now();
    logger.warn({ anchor }, `the checkpoint was not kept elsewhere: ${describeError(error)}`);
  };
  let told = 0;
  const work = async () => {
    const wrong = await keepSeen(db, seenFileOf(config.dataDir), await readTrust(config));
    if (wrong !== undefined && Date.now() - told > REPEAT_MS) {
      told = Date.now();
      logger.error(`${wrong} ${WHAT_TO_DO}`);
    }
    await putCheckpoint(db, config.destinations.length === 0 ? places : [...places, events], onFailure);
    return performance.now() - failedAt < RETRIED_MS ? 'done' : 'idle';
  };
  const failure = 'checkpoints were not kept elsewhere';
  repeatInBackground(
    { part: 'anchoring', failure, pauseMs: LOOK_INTERVAL_MS, work, stopping },
    logger,
    started,
  );
}

const VERIFY_INTERVAL_MS = 5_000;

const SCHEMA_INTERVAL_MS = 60 * 60 * 1000;

/** Rows that one message names. */
const LISTED = 10;

/** Verifies events and deliveries, some at a time, and each hour the other sealed rows and what decides about rows. */
function startVerifying({ db, events, logger }: Proving, started: AsyncDisposableStack): void {
  const compare = async () => {
    const differences = await compareSchema(db);
    if (differences.length > 0) {
      logger.error({ differences }, 'the schema was changed: run verify');
    }
    const rows: unknown[] = [];
    await compareStated(db, ({ state, subject, key }) => rows.push({ state, subject, key }));
    if (rows.length > 0) {
      logger.error({ rows: rows.slice(0, LISTED) }, `${rows.length} sealed rows differ: run verify`);
    }
  };
  const schema = { part: 'schema', failure: 'schema and operator log were not compared' };
  repeatInBackground({ ...schema, pauseMs: SCHEMA_INTERVAL_MS, work: compare }, logger, started);
  const failures = failuresIn(logger);
  const work = async () => {
    const found = await verifyNext(db, undefined, events);
    if (found === undefined) return 'idle';
    const { altered, missing } = found;
    if (altered + missing > 0) {
      const error = new Error('run verify to see which');
      const fields = { altered, missing };
      failures.report(undefined, error, 'stored rows differ from the seal', { fields, level: 'error' });
    }
    return 'done';
  };
  const failure = 'stored rows were not verified';
  repeatInBackground({ part: 'verification', failure, pauseMs: VERIFY_INTERVAL_MS, work }, logger, started);
}
