import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { eraseForGood } from '../erasure/erase-person.ts';
import type { Db } from '../store/database.ts';
import { suggestErasures } from '../store/erase.ts';
import { recordAction } from '../store/operator-log.ts';
import { repeatInBackground } from './background.ts';

const INTERVAL_MS = 60 * 60 * 1000;

const OPERATOR = { name: 'xiq-sink', via: 'system' } as const;
const REASON = 'The cloud deleted the data of this client (GDPR_LOG_ALL)';

/** Erases the events of clients whose data the cloud has deleted: now and every hour, with `GDPR_ERASURE=auto`. */
export function startGdprErasures(
  { config, db, logger }: { readonly config: Config; readonly db: Db; readonly logger: Logger },
  started: AsyncDisposableStack,
): void {
  if (!config.erasesAfterGdprLog) return;
  const work = async () => {
    for (const { mac, events } of await suggestErasures(db)) {
      const chosen = { person: { users: [], macs: [mac], phones: [] }, eventIds: [] };
      const erasure = await recordAction(
        db,
        { operator: OPERATOR, action: 'events.erase', details: { reason: REASON, events } },
        () => eraseForGood(db, config, chosen, { operator: OPERATOR.name, reason: REASON }),
        (id) => ({ erasure: id }),
      );
      logger.info(
        { erasure, events },
        'the events of a client were erased, because the cloud deleted its data',
      );
    }
  };
  repeatInBackground(
    { part: 'erasures', failure: 'a client was not erased', level: 'error', pauseMs: INTERVAL_MS, work },
    logger,
    started,
  );
}
