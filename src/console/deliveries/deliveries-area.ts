import { z } from 'zod';
import type { Db } from '../../store/server/database.ts';
import { VIEW } from '../access/access.ts';
import { isoTime } from '../api/parameters.ts';
import { pageSchema } from '../api/paging.ts';
import { jsonRoute, parseInput } from '../api/route.ts';
import type { Area } from '../area.ts';
import { eventSchema, toEventAnswer } from '../events/describe-event.ts';
import { quarantinedSchema, toQuarantinedAnswer } from '../quarantine/read-quarantine.ts';
import { deliveryPage, renderDeliveries } from './deliveries-pages.ts';
import {
  deliveryQuery,
  deliverySchema,
  describeDelivery,
  MOST_OF_EACH,
  readDeliveries,
} from './read-deliveries.ts';

const oneDelivery = { path: z.object({ delivery_id: z.uuid('must be the id of a delivery') }) };

export function deliveriesArea({ db }: { readonly db: Db }): Area {
  return {
    tag: 'deliveries',
    routes: [
      jsonRoute({
        route: 'GET /deliveries',
        summary: 'list deliveries, newest first',
        ...VIEW,
        input: { query: deliveryQuery },
        answer: pageSchema(deliverySchema).extend({
          looked_back_to: isoTime
            .nullable()
            .describe('set if the search stopped at this time because it took too long'),
        }),
        async work({ query }, { scope }) {
          const { lookedBackTo, ...page } = await readDeliveries(db, scope, query);
          return { ...page, looked_back_to: lookedBackTo ?? null };
        },
      }),
      jsonRoute({
        route: 'GET /deliveries/{delivery_id}',
        summary: 'get one delivery with its events and its quarantined records',
        ...VIEW,
        input: oneDelivery,
        answer: z.object({
          delivery: deliverySchema,
          replay_of: z.string().nullable().describe('id of the quarantined item that this delivery replayed'),
          events: z
            .array(eventSchema)
            .nullable()
            .describe(`at most ${MOST_OF_EACH}; null if the search timed out`),
          quarantined: z.array(quarantinedSchema).describe(`at most ${MOST_OF_EACH}`),
        }),
        async work({ path }, { scope }) {
          const { delivery, events, quarantined, replayOf } = await describeDelivery(
            db,
            scope,
            path.delivery_id,
          );
          return {
            delivery,
            replay_of: replayOf ?? null,
            events: events?.map(toEventAnswer) ?? null,
            quarantined: quarantined.map(toQuarantinedAnswer),
          };
        },
      }),
    ],
    pages: [
      {
        path: '/deliveries',
        entry: { label: 'Deliveries', group: 'Delivery', icon: 'deliveries' },
        ...VIEW,
        render: (request, { scope }) => renderDeliveries(db, scope, request),
      },
      {
        path: '/deliveries/:delivery_id',
        ...VIEW,
        async render(request, { scope }) {
          const { path } = parseInput(oneDelivery, request);
          return deliveryPage(await describeDelivery(db, scope, path.delivery_id));
        },
      },
    ],
  };
}
