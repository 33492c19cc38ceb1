import { auditRecord } from './deliveries.ts';
import { postDelivery } from './program.ts';

/** A load under way. */
export interface Load {
  /** How many deliveries have had a 2xx so far. */
  acknowledged(): number;
  /** What the deliveries without a 2xx got instead: a status, or the error of the connection. */
  refusals(): readonly string[];
  /** Ends it and gives the number that each acknowledged record carries as its user id. */
  stop(): Promise<number[]>;
}

/**
 * Posts audit deliveries of one record each, every record with a number of its own, from several senders at
 * once. What gets no 2xx is no obligation; a sender that finds nobody tries its next.
 */
export function startLoad(url: () => string, senders = 16): Load {
  const acknowledged: number[] = [];
  const refusals: string[] = [];
  let next = 0;
  const stopping = new AbortController();
  const send = async () => {
    while (!stopping.signal.aborted) {
      next += 1;
      const number = next;
      try {
        const record = auditRecord({ userId: number });
        const response = await postDelivery({ url: url() }, 'AUDIT_LOG_ALL', [record], {
          signal: AbortSignal.timeout(10_000),
        });
        const answer = await response.text();
        if (response.ok) acknowledged.push(number);
        else refusals.push(`${response.status}: ${answer}`);
      } catch (error) {
        refusals.push(String(error));
        // Nobody answered: the next try may find the program again.
        await new Promise(setImmediate);
      }
    }
  };
  const all = Promise.all(Array.from({ length: senders }, send));
  return {
    acknowledged: () => acknowledged.length,
    refusals: () => refusals,
    async stop() {
      stopping.abort();
      await all;
      return acknowledged;
    },
  };
}
