import { z } from 'zod';
import { jsonRoute, readAsked } from '../api/route.ts';
import type { Area } from '../area.ts';
import type { Db } from '../../store/database.ts';
import { operatorLogPage } from './operator-log-page.ts';
import { askedPage, readPage } from './operator-log-pages.ts';
import { actionSchema } from './operator-log-schemas.ts';

const asks = z.object({ query: askedPage });

/** What people have done with this service. */
export function operatorLogArea({ db }: { readonly db: Db }): Area {
  return {
    navigation: [{ path: '/operator-log', label: 'Operator log' }],
    routes: [
      jsonRoute({
        method: 'get',
        path: '/operator-log',
        tag: 'operator log',
        summary: 'what people have done, newest first',
        asks,
        answer: z.object({ items: z.array(actionSchema), next_cursor: z.string().nullable() }),
        work: ({ query }) => readPage(db, query),
      }),
    ],
    pages: [
      {
        path: '/operator-log',
        render: async (request) => {
          const { query } = readAsked(asks, request);
          return operatorLogPage(await readPage(db, query), query);
        },
      },
    ],
  };
}
