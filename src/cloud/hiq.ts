import { z } from 'zod';
import { isMissing } from './cloud-api-error.ts';
import { idSchema } from './contract/shared.ts';
import type { Call } from './exchange.ts';
import { readJson } from './json.ts';
import { readItems } from './paging.ts';
import type { Request } from './request.ts';
import { MINUTE_MS, type Clock } from '../lib/clock.ts';

/** Answer of `GET /hiq/context` (published description; the specification shows no members). */
const contextSchema = z.looseObject({ reading_org_ids: z.array(idSchema).nullish() });

const organizationSchema = z.looseObject({ id: idSchema });

/** An account without the feature HIQ, or a token that may not ask (specification, Status codes). */
const NOT_FOR_US = [403, 404, 405];

/** Such an answer is remembered for so long: the feature may be enabled. */
const ASK_AGAIN_MS = 9 * MINUTE_MS;

export type Hiq = ReturnType<typeof createHiq>;

/** The organizations of an account with the feature HIQ: whoever reads sees those that the context names, without an error. */
export function createHiq(request: Request<Call>, clock: Clock) {
  let askAgainAt = 0;

  return {
    /**
     * The ids of the organizations to which the context restricts what the cloud returns. Empty: all of them, or the account
     * has none, or the token may not read the context.
     */
    restrictedTo: async (signal?: AbortSignal): Promise<readonly string[]> => {
      if (clock.now() < askAgainAt) return [];
      let reading: readonly string[] | undefined;
      try {
        const answer = await request({ method: 'GET', path: '/hiq/context', signal });
        reading = readJson(contextSchema, answer).reading_org_ids ?? [];
        if (reading.length === 0) return [];
        const listed = await request({ method: 'GET', path: '/hiq/organizations', signal });
        const { items } = readItems(listed, organizationSchema);
        return items.every(({ id }) => reading?.includes(id)) ? [] : reading;
      } catch (error) {
        if (!isMissing(error, NOT_FOR_US)) throw error;
        if (reading === undefined) askAgainAt = clock.now() + ASK_AGAIN_MS;
        return reading ?? [];
      }
    },
  };
}

/** What a restricted context means. */
export const describeRestriction = (organizations: readonly string[]): string =>
  `the HIQ context restricts reading to the organizations ${organizations.join(', ')}: the cloud hides all others`;
