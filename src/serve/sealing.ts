import path from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { describeError } from '../errors.ts';
import { createSealer, type Sealer } from '../ledger/sealer.ts';
import type { Db } from '../store/database.ts';
import { readInstallation } from '../store/installation.ts';
import { closing } from './closing.ts';
import { keepLogKey } from './log-key.ts';
import { repeat } from './repeat.ts';

/** The settings of the seal. */
interface SealingOptions {
  readonly config: Config;
  readonly logger: Logger;
}

/** How often to look for what is not sealed yet: larger steps cost less. */
const SEAL_INTERVAL_MS = 2_000;

/** Seals the log from now on. The tables must be up to date. */
export function startSealing(
  { config, logger }: SealingOptions,
  db: Db,
  started: AsyncDisposableStack,
): void {
  const file = config.logKeyFile ?? path.join(config.dataDir, 'log-key');
  let sealer: Sealer | undefined;
  // Storing does not wait for the key, and goes on without one.
  const open = async () => {
    const key = await keepLogKey(file, (await readInstallation(db)).id);
    logger.info({ key: key.publicText }, 'checkpoints of the log are signed with this key');
    return createSealer(db, key);
  };
  const onError = (error: unknown) =>
    logger.warn({ err: error }, `the log was not sealed: ${describeError(error)}`);
  const seal = async () => {
    sealer ??= await open();
    return sealer.seal();
  };
  const sealing = repeat(SEAL_INTERVAL_MS, seal, onError);
  started.defer(closing(logger, 'sealer', () => sealing.stop()));
}
