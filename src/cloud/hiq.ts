import { CloudApiError, isMissing } from './cloud-api-error.ts';
import type { ViqInfo } from './contract/account.ts';
import { hiqContextSchema, organizationSchema, type Organization } from './contract/organization.ts';
import type { Call } from './exchange.ts';
import { readJson } from './json.ts';
import { readItems } from './paging.ts';
import type { Request } from './request.ts';
import { MINUTE_MS, type Clock } from '../lib/clock.ts';

/** An account without the feature HIQ, or a token that may not ask (specification, Status codes). */
const NOT_FOR_US = [403, 404, 405];

/** Such an answer is remembered for so long: the feature may be enabled. */
const ASK_AGAIN_MS = 9 * MINUTE_MS;

export type Hiq = ReturnType<typeof createHiq>;

/**
 * The organizations of an account with the feature HIQ: readers see only those in the context, without an error.
 * `viq` reads the account, because a refusal (403) does not reveal whether the feature or the permission is missing.
 */
export function createHiq(
  request: Request<Call>,
  viq: (signal?: AbortSignal) => Promise<ViqInfo>,
  clock: Clock,
) {
  let askAgainAt = 0;

  /** Whether the account has the feature. Undefined: the token may not read that, or the cloud does not say. */
  async function isEnabled(signal?: AbortSignal): Promise<boolean | undefined> {
    try {
      const { standalone } = await viq(signal);
      return typeof standalone === 'boolean' ? !standalone : undefined;
    } catch (error) {
      if (!isMissing(error, NOT_FOR_US)) throw error;
      return undefined;
    }
  }

  /** The organizations of the account. Empty if it has none. Rejects with 403 if it may have some that the token may not list. */
  async function organizations(signal?: AbortSignal): Promise<readonly Organization[]> {
    try {
      const answer = await request({ method: 'GET', path: '/hiq/organizations', signal });
      return readItems(answer, organizationSchema).items;
    } catch (error) {
      if (isMissing(error)) return [];
      if (isMissing(error, [403]) && (await isEnabled(signal)) === false) return [];
      throw error;
    }
  }

  return {
    organizations,
    /**
     * The ids of the organizations to which the context restricts what the cloud returns. Empty: all of them, or the account
     * has none, as far as the token may know. Rejects with 403 if the account has some, and the token may not read the context.
     */
    restrictedTo: async (signal?: AbortSignal): Promise<readonly string[]> => {
      if (clock.now() < askAgainAt) return [];
      try {
        const answer = await request({ method: 'GET', path: '/hiq/context', signal });
        const reading = readJson(hiqContextSchema, answer).reading_org_ids ?? [];
        if (reading.length === 0) return [];
        const all = await organizations(signal).catch((error: unknown) => {
          if (isMissing(error, [403])) return [];
          throw error;
        });
        return all.length > 0 && all.every(({ id }) => reading.includes(id)) ? [] : reading;
      } catch (error) {
        if (!isMissing(error, NOT_FOR_US)) throw error;
        if (error.status === 403 && (await isEnabled(signal)) === true) {
          const { message, method, path, status } = error;
          const unknown = `the account has organizations (HIQ), but it is unknown which of them the cloud shows: ${message}`;
          throw new CloudApiError(unknown, { method, path, status, cause: error });
        }
        askAgainAt = clock.now() + ASK_AGAIN_MS;
        return [];
      }
    },
  };
}

/** What a restricted context means. */
export const describeRestriction = (organizations: readonly string[]): string =>
  `the HIQ context restricts reading to the organizations ${organizations.join(', ')}: the cloud hides all others`;
