import { MINUTE_MS } from '../../lib/clock.ts';
import { shared } from '../../lib/cached.ts';
import type { StoredEvent } from '../../events/stored-event.ts';
import type { Db } from '../server/database.ts';

/** The name of the organization of an event, as of its time. Undefined if the inventory had none. */
export type OrganizationNames = (
  event: Pick<StoredEvent, 'source' | 'orgId' | 'occurredAt'>,
) => string | undefined;

/** Reads the names of all organizations, of which an account has few, at most once a minute. */
export function openOrganizationNames(log: { readonly db: Db }): () => Promise<OrganizationNames> {
  const keyOf = (source: string, id: string | null) => `${id} ${source}`;
  return shared(async () => {
    const versions = await log.db
      .selectFrom('organizations')
      .select(['source', 'organization_id', 'name', 'valid_from', 'valid_to'])
      .execute();
    const byId = Map.groupBy(versions, ({ source, organization_id: id }) => keyOf(source, id));
    return ({ source, orgId, occurredAt }) => {
      const at = new Date(occurredAt);
      const isValid = ({ valid_from: from, valid_to: to }: (typeof versions)[number]) =>
        from <= at && (to === null || to > at);
      return byId.get(keyOf(source, orgId))?.find(isValid)?.name;
    };
  }, MINUTE_MS);
}
