import { z } from 'zod';
import { CLIENT_VIEWS } from '../src/cloud/contract/client.ts';
import { found } from './api-error.ts';
import { int64, int64Path } from './int64.ts';
import { pageOf, pageQuery } from './paging.ts';
import { object, page, route } from './route.ts';
import type { Route } from './route.ts';
import { createSelection } from './selection.ts';
import { clientRecord } from './world-clients.ts';
import type { World } from './world.ts';

const selection = createSelection(CLIENT_VIEWS);
const clientSchema = z.looseObject({ id: int64 });

/**
 * Clients with their views (specification, Dynamic response selection). The specification has no rows for them; the two
 * paths are those of the published interface.
 */
export function clientRoutes(world: World): Route[] {
  const tag = 'Clients';
  return [
    route({
      method: 'GET',
      path: '/clients/active',
      tag,
      summary: 'List clients on the network',
      access: ['client:r'],
      input: z.object({ query: pageQuery().extend(selection.query) }),
      success: page(clientSchema),
      handle({ query }) {
        const active = [...world.clients.values()].filter(({ deviceId }) => deviceId !== null);
        const { pagination, data } = pageOf(active, query);
        return { pagination, data: data.map((client) => selection.pick(clientRecord(world, client), query)) };
      },
    }),
    route({
      method: 'GET',
      path: '/clients/{id}',
      tag,
      summary: 'One client',
      access: ['client:r'],
      input: z.object({ id: int64Path, query: z.object(selection.query) }),
      success: object(clientSchema),
      handle: ({ id, query }) =>
        selection.pick(clientRecord(world, found(world.clients.get(id), 'client', id)), query),
    }),
  ];
}
