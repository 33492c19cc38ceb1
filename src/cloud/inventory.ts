import { CloudApiError, isMissing } from './cloud-api-error.ts';
import { listedDeviceSchema, type ListedDevice } from './contract/device.ts';
import { locationSchema, type Location } from './contract/location.ts';
import { userSchema, type User } from './contract/user.ts';
import type { Call } from './exchange.ts';
import { describeRestriction, type Hiq } from './hiq.ts';
import { listWhole, readItems } from './paging.ts';
import type { Request } from './request.ts';

/** What an account consists of. Each list is complete, or the call rejects. */
export type Inventory = ReturnType<typeof createInventory>;

const PAGE_LIMIT = 100;

/** Views in the specification, where no view has the identifier, and in the published description, which refuses the other form with 422. */
export const VIEW_FORMS = [
  { views: 'basic,location', fields: 'id' },
  { views: ['BASIC', 'LOCATION'] },
] as const;

/** The status of an answer to a query that the cloud does not understand. */
export const NOT_UNDERSTOOD = [400, 422];

export function createInventory(request: Request<Call>, { restrictedTo, organizations }: Hiq) {
  /** The form that was understood last is tried first. */
  let forms: readonly NonNullable<Call['query']>[] = VIEW_FORMS;

  /** A list that was read just now. What an organization hides would seem to be gone. */
  async function ofAll<T>(list: readonly T[], signal: AbortSignal | undefined): Promise<readonly T[]> {
    const organizations = await restrictedTo(signal);
    if (organizations.length === 0) return list;
    throw new CloudApiError(describeRestriction(organizations), { method: 'GET', path: '/hiq/context' });
  }

  return {
    organizations,
    /** All devices, with the members of the views `basic` and `location`. */
    async devices(signal?: AbortSignal): Promise<readonly ListedDevice[]> {
      const [usual, other] = forms;
      const list = (query: Call['query'] = {}) =>
        Array.fromAsync(
          listWhole(request, {
            path: '/devices',
            query,
            limit: PAGE_LIMIT,
            item: listedDeviceSchema,
            signal,
          }),
        );
      try {
        return await ofAll(await list(usual), signal);
      } catch (error) {
        if (!isMissing(error, NOT_UNDERSTOOD)) throw error;
      }
      const devices = await list(other);
      forms = forms.toReversed();
      return ofAll(devices, signal);
    },
    /** The outermost locations, each with those that it contains. */
    async locations(signal?: AbortSignal): Promise<readonly Location[]> {
      const answer = await request({ method: 'GET', path: '/locations/tree', signal });
      return ofAll(readItems(answer, locationSchema).items, signal);
    },
    async users(signal?: AbortSignal): Promise<readonly User[]> {
      const users = listWhole(request, { path: '/users', limit: PAGE_LIMIT, item: userSchema, signal });
      return ofAll(await Array.fromAsync(users), signal);
    },
  };
}
