import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { describeError } from '../errors.ts';
import {
  fileAnchor,
  putCheckpoint,
  timestampAnchor,
  urlAnchor,
  witnessAnchor,
  type Anchor,
} from '../ledger/anchors.ts';
import { parseWitness } from '../ledger/witness.ts';
import { openLogDatabase, type Db } from '../store/database.ts';
import { closing } from './closing.ts';
import { logLostConnections } from './open-store.ts';
import { repeat } from './repeat.ts';

/** The database with the checkpoints, and the settings that say where to keep them. */
interface AnchoringOptions {
  readonly config: Pick<Config, 'anchors'>;
  readonly databaseUrl: string;
  readonly logger: Logger;
}

/** How often to look for a new checkpoint: one is signed every minute while something is sealed. */
const LOOK_INTERVAL_MS = 5_000;

/** The anchors of the settings. */
function anchorsOf({ file, url, timestampUrl, witnesses }: Config['anchors'], db: Db): Anchor[] {
  return [
    ...(file === undefined ? [] : [fileAnchor(file)]),
    ...(url === undefined ? [] : [urlAnchor(url)]),
    ...(timestampUrl === undefined ? [] : [timestampAnchor(db, timestampUrl)]),
    ...witnesses.map((witness) => witnessAnchor(db, parseWitness(witness.publicKey, witness.url))),
  ];
}

/** Keeps checkpoints outside of the database from now on, if the settings say where. A failure stops nothing else. */
export function startAnchoring(
  { config, databaseUrl, logger }: AnchoringOptions,
  started: AsyncDisposableStack,
): void {
  const db = openLogDatabase(databaseUrl, logLostConnections(logger));
  started.defer(closing(logger, 'database of the anchors', () => db.destroy()));
  const anchors = anchorsOf(config.anchors, db);
  if (anchors.length === 0) return;
  const onFailure = (anchor: string, error: unknown) =>
    logger.warn({ anchor }, `the checkpoint was not kept elsewhere: ${describeError(error)}`);
  const work = async () => {
    await putCheckpoint(db, anchors, onFailure);
    return 'done' as const;
  };
  const anchoring = repeat(LOOK_INTERVAL_MS, work, (error) => {
    logger.warn({ err: error }, `checkpoints were not kept elsewhere: ${describeError(error)}`);
  });
  started.defer(closing(logger, 'anchoring', () => anchoring.stop()));
}
