import type { Logger } from 'pino';
import { countOf } from '../lib/text/units.ts';
import { networkOf } from './failed-secrets.ts';

interface Refusal {
  readonly remote: string;
  readonly status: number;
  readonly method: string;
  readonly path: string;
  readonly errorId?: string;
}

/** Logs refusals of requests whose sender has not proven a secret. Their number is up to strangers. */
export type RefusalLog = ReturnType<typeof createRefusalLog>;

const WINDOW_MS = 60_000;

/** Networks with lines of their own in one minute. The refusals of all others are counted together. */
const NETWORKS = 100;
const OTHERS = 'other addresses';

/** Characters of a path: a stranger may send 16 KiB. */
const PATH_LENGTH = 200;

/** Counts per network that failed-secrets uses: an IPv4 address or a /64 of IPv6. At debug level every refusal is logged. */
export function createRefusalLog(logger: Logger) {
  /** For each network, how many refusals of each status are not logged yet. */
  const counts = new Map<string, Map<number, number>>();
  let timer: NodeJS.Timeout | undefined;

  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    for (const [remote, statuses] of counts) {
      const refused = [...statuses.values()].reduce((sum, count) => sum + count, 0);
      if (refused === 0) continue;
      logger.warn(
        { remote, refused, statuses: Object.fromEntries(statuses) },
        `refused ${countOf(refused, 'more request')} without a proven secret in the last minute`,
      );
    }
    counts.clear();
  };

  return {
    /** Logs the counts so far, and begins a new minute. */
    flush,
    /** Logs the first refusal of a network in a minute, and counts the others. */
    add(refusal: Refusal, message: string): void {
      const line = { ...refusal, path: refusal.path.slice(0, PATH_LENGTH) };
      timer ??= setTimeout(flush, WINDOW_MS).unref();
      const network = networkOf(refusal.remote);
      if (!counts.has(network) && counts.size < NETWORKS) {
        counts.set(network, new Map());
        logger.warn(line, message);
        return;
      }
      const key = counts.has(network) ? network : OTHERS;
      const statuses = counts.get(key) ?? new Map<number, number>();
      counts.set(key, statuses.set(refusal.status, (statuses.get(refusal.status) ?? 0) + 1));
      logger.debug(line, message);
    },
  };
}
