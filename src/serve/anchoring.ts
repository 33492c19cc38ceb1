import path from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { OWN_TYPES } from '../domain.ts';
import { describeError } from '../errors.ts';
import {
  eventAnchor,
  fileAnchor,
  putCheckpoint,
  timestampAnchor,
  urlAnchor,
  witnessAnchor,
  type Anchor,
} from '../ledger/anchors.ts';
import { keepSeen, SEEN_FILE } from '../ledger/seen-checkpoint.ts';
import { parseWitness } from '../ledger/witness.ts';
import type { Db } from '../store/database.ts';
import { closing } from './closing.ts';
import type { LiveSettings } from './live-settings.ts';
import { repeat } from './repeat.ts';
import { createRecordStore } from './store-records.ts';

/** The settings that say where to keep checkpoints. */
interface AnchoringOptions {
  readonly live: Pick<LiveSettings, 'config'>;
  readonly logger: Logger;
}

/** Checkpoints are of all sources, so that they belong to none of them. */
const SOURCE = 'xiq-sink';

/** How often to look for a new checkpoint: one is signed every minute while something is sealed. */
const LOOK_INTERVAL_MS = 5_000;

/** The anchors of the settings. */
function anchorsOf({ file, url, timestampUrl, witnesses }: Config['anchors'], db: Db): readonly Anchor[] {
  return [
    ...(file === undefined ? [] : [fileAnchor(file)]),
    ...(url === undefined ? [] : [urlAnchor(url)]),
    ...(timestampUrl === undefined ? [] : [timestampAnchor(db, timestampUrl)]),
    ...witnesses.map((witness) => witnessAnchor(db, parseWitness(witness.publicKey, witness.url))),
  ];
}

/** The anchor that stores checkpoints as events, which are forwarded. */
function createEventAnchor(db: Db, logger: Logger, config: Pick<Config, 'erasureKeyFile'>): Anchor {
  const store = createRecordStore(db, logger, new AbortController().signal, config);
  const kind = { messageType: 'OTHER', sentType: OWN_TYPES.checkpoint, origin: 'xiq-sink' } as const;
  return eventAnchor((record) => store({ source: SOURCE, ...kind, records: [record] }));
}

/** A database that is older than it should be is said again after this time. */
const REPEAT_MS = 60 * 60 * 1000;

const WHAT_TO_DO = 'See "An older database" in docs/backup.md. Storing and forwarding go on meanwhile.';

/** Keeps checkpoints outside of the database from now on, where the settings say. A failure stops nothing else. */
export function startAnchoring(
  { live, logger }: AnchoringOptions,
  db: Db,
  started: AsyncDisposableStack,
): void {
  const { config } = live;
  const places = anchorsOf(config.anchors, db);
  const events = createEventAnchor(db, logger, config);
  const onFailure = (anchor: string, error: unknown) =>
    logger.warn({ anchor }, `the checkpoint was not kept elsewhere: ${describeError(error)}`);
  const file = path.join(config.dataDir, SEEN_FILE);
  let told = 0;
  const work = async () => {
    const wrong = await keepSeen(db, file);
    if (wrong !== undefined && Date.now() - told > REPEAT_MS) {
      told = Date.now();
      logger.error(`${wrong} ${WHAT_TO_DO}`);
    }
    await putCheckpoint(db, config.destinations.length === 0 ? places : [...places, events], onFailure);
    return 'done' as const;
  };
  const anchoring = repeat(LOOK_INTERVAL_MS, work, (error) => {
    logger.warn({ err: error }, `checkpoints were not kept elsewhere: ${describeError(error)}`);
  });
  started.defer(closing(logger, 'anchoring', () => anchoring.stop()));
}
