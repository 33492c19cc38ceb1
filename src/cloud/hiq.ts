import { z } from 'zod';
import { isMissing } from './cloud-api-error.ts';
import { organizationSchema, type Organization } from './contract/organization.ts';
import { idSchema } from './contract/shared.ts';
import type { Call } from './exchange.ts';
import { readJson } from './json.ts';
import { readItems } from './paging.ts';
import type { Request } from './request.ts';
import { MINUTE_MS, type Clock } from '../lib/clock.ts';

/** Answer of `GET /hiq/context` (published description; the specification shows no members). */
const contextSchema = z.looseObject({ reading_org_ids: z.array(idSchema).nullish() });

/** An account without the feature HIQ, or a token that may not ask (specification, Status codes). */
const NOT_FOR_US = [403, 404, 405];

/** Such an answer is remembered for so long: the feature may be enabled. */
const ASK_AGAIN_MS = 9 * MINUTE_MS;

export type Hiq = ReturnType<typeof createHiq>;

/** The organizations of an account with the feature HIQ: whoever reads sees those that the context names, without an error. */
export function createHiq(request: Request<Call>, clock: Clock) {
  let askAgainAt = 0;

  /** The organizations of the account. Empty if it has none, or the token may not list them. */
  async function organizations(signal?: AbortSignal): Promise<readonly Organization[]> {
    try {
      const answer = await request({ method: 'GET', path: '/hiq/organizations', signal });
      return readItems(answer, organizationSchema).items;
    } catch (error) {
      if (!isMissing(error, NOT_FOR_US)) throw error;
      return [];
    }
  }

  return {
    organizations,
    /**
     * The ids of the organizations to which the context restricts what the cloud returns. Empty: all of them, or the account
     * has none, or the token may not read the context.
     */
    restrictedTo: async (signal?: AbortSignal): Promise<readonly string[]> => {
      if (clock.now() < askAgainAt) return [];
      try {
        const answer = await request({ method: 'GET', path: '/hiq/context', signal });
        const reading = readJson(contextSchema, answer).reading_org_ids ?? [];
        if (reading.length === 0) return [];
        const all = await organizations(signal);
        return all.length > 0 && all.every(({ id }) => reading.includes(id)) ? [] : reading;
      } catch (error) {
        if (!isMissing(error, NOT_FOR_US)) throw error;
        askAgainAt = clock.now() + ASK_AGAIN_MS;
        return [];
      }
    },
  };
}

/** What a restricted context means. */
export const describeRestriction = (organizations: readonly string[]): string =>
  `the HIQ context restricts reading to the organizations ${organizations.join(', ')}: the cloud hides all others`;
