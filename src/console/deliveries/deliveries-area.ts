import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { sumDeliveries } from '../../store/search-deliveries.ts';
import { jsonRoute, readAsked } from '../api/route.ts';
import type { Area } from '../area.ts';
import { eventSchema, toEventAnswer } from '../events/event-schemas.ts';
import { quarantinedSchema, toQuarantinedAnswer } from '../quarantine/quarantine-schemas.ts';
import { deliveryPage, renderDeliveries } from './deliveries-pages.ts';
import { deliveryQuery, deliverySchema, filterOf, sumsSchema, toDeliveryAnswer } from './delivery-schemas.ts';
import { describeDelivery, MOST_OF_EACH, readDeliveries } from './read-deliveries.ts';

const oneDelivery = z.object({ path: z.object({ delivery_id: z.uuid('takes the id of a delivery') }) });

/** What arrived, and what each delivery came to. */
export function deliveriesArea({ db }: { readonly db: Db }): Area {
  return {
    navigation: [{ path: '/deliveries', label: 'Deliveries' }],
    routes: [listRoute(db), oneRoute(db)],
    pages: [
      { path: '/deliveries', render: (request) => renderDeliveries(db, request) },
      {
        path: '/deliveries/:delivery_id',
        async render(request) {
          const { path } = readAsked(oneDelivery, request);
          return deliveryPage(await describeDelivery(db, path.delivery_id));
        },
      },
    ],
  };
}

const listRoute = (db: Db) =>
  jsonRoute({
    method: 'get',
    path: '/deliveries',
    tag: 'deliveries',
    summary: 'deliveries that match all conditions, newest first',
    asks: z.object({ query: deliveryQuery }),
    answer: z.object({
      items: z.array(deliverySchema),
      next_cursor: z.string().nullable(),
      looked_back_to: z
        .string()
        .nullable()
        .meta({ description: 'set when looking further back than this took too long' }),
      sums: sumsSchema,
    }),
    async work({ query }) {
      const [page, sums] = await Promise.all([readDeliveries(db, query), sumDeliveries(db, filterOf(query))]);
      return {
        items: page.deliveries.map(toDeliveryAnswer),
        next_cursor: page.next ?? null,
        looked_back_to: page.lookedBackTo?.toISOString() ?? null,
        sums: sums ?? null,
      };
    },
  });

const oneRoute = (db: Db) =>
  jsonRoute({
    method: 'get',
    path: '/deliveries/{delivery_id}',
    tag: 'deliveries',
    summary: 'one delivery, its events and what of it went to quarantine',
    asks: oneDelivery,
    answer: z.object({
      delivery: deliverySchema,
      replay_of: z.string().nullable().meta({ description: 'the id in quarantine that it is a replay of' }),
      events: z
        .array(eventSchema)
        .nullable()
        .meta({ description: `the first ${MOST_OF_EACH}; null when they were not all found in time` }),
      quarantined: z.array(quarantinedSchema).meta({ description: `the first ${MOST_OF_EACH}` }),
    }),
    async work({ path }) {
      const { delivery, events, quarantined, replayOf } = await describeDelivery(db, path.delivery_id);
      return {
        delivery: toDeliveryAnswer(delivery),
        replay_of: replayOf ?? null,
        events: events?.map(toEventAnswer) ?? null,
        quarantined: quarantined.map(toQuarantinedAnswer),
      };
    },
  });
