import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { summarizeClient, summarizeUser } from '../../store/timeline.ts';
import { VIEW } from '../access/rule.ts';
import { limit } from '../api/query.ts';
import { jsonRoute, type ApiRoute } from '../api/route.ts';
import type { Area } from '../area.ts';
import { isInOrder, mac, NOT_IN_ORDER, rangeShape, userName } from '../events/conditions.ts';
import { recordLook } from './looks.ts';
import { renderPeople } from './people-page.ts';
import {
  clientSchema,
  positionsSchema,
  toClientAnswer,
  toPositionAnswer,
  toUserAnswer,
  userSchema,
  wholeRange,
} from './people-schemas.ts';
import { renderClient, renderUser } from './timeline-pages.ts';
import { readPlaces } from './whereabouts.ts';

/** The activity of users and clients, and where they were. */
export function peopleArea({ db }: { readonly db: Db }): Area {
  return {
    navigation: [
      {
        path: '/people',
        label: 'People and devices',
        group: 'Investigate',
        icon: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c.5-3 2.5-4.5 5.5-4.5s5 1.5 5.5 4.5',
      },
    ],
    routes: peopleRoutes(db),
    pages: [
      { path: '/people', ...VIEW, render: (request, { scope }) => renderPeople(db, scope, request) },
      { path: '/people/user', ...VIEW, render: (request, visitor) => renderUser(db, visitor, request) },
      { path: '/people/client', ...VIEW, render: (request, visitor) => renderClient(db, visitor, request) },
    ],
  };
}

const RANGE_NOTE = 'The default range is the last 7 days. The operator log records each request.';

const range = z.object(rangeShape).refine(isInOrder, NOT_IN_ORDER);
const clientPath = z.object({ mac: mac('MAC address of the client, in any notation') });

function peopleRoutes(db: Db): readonly ApiRoute[] {
  return [
    jsonRoute({
      method: 'get',
      path: '/users/{name}',
      tag: 'people',
      summary: 'summarize a user: first and last seen, event types, devices and access points',
      description: RANGE_NOTE,
      ...VIEW,
      asks: z.object({ path: z.object({ name: userName }), query: range }),
      answer: userSchema,
      async work({ path: { name }, query }, { operator, scope }) {
        const asked = wholeRange(query);
        await recordLook(db, operator, name, asked);
        return toUserAnswer(name, asked, await summarizeUser(db, scope, name, asked.since, asked.until));
      },
    }),
    jsonRoute({
      method: 'get',
      path: '/clients/{mac}',
      tag: 'people',
      summary: 'summarize a client: first and last seen, event types, users, access points and SSIDs',
      description: RANGE_NOTE,
      ...VIEW,
      asks: z.object({ path: clientPath, query: range }),
      answer: clientSchema,
      async work({ path, query }, { operator, scope }) {
        const asked = wholeRange(query);
        await recordLook(db, operator, path.mac, asked);
        return toClientAnswer(
          path.mac,
          asked,
          await summarizeClient(db, scope, path.mac, asked.since, asked.until),
        );
      },
    }),
    positionsRoute(db),
  ];
}

const positionsRoute = (db: Db) =>
  jsonRoute({
    method: 'get',
    path: '/clients/{mac}/positions',
    tag: 'people',
    summary: 'list the positions of a client, with estimated positions of the access points',
    description: `Returns the newest observations of the range. ${RANGE_NOTE}`,
    ...VIEW,
    asks: z.object({
      path: clientPath,
      query: z.object({ ...rangeShape, limit: limit(500, 5_000) }).refine(isInOrder, NOT_IN_ORDER),
    }),
    answer: positionsSchema,
    async work({ path, query }, { operator, scope }) {
      const asked = wholeRange(query);
      await recordLook(db, operator, path.mac, asked);
      const { positions, accessPoints } = await readPlaces(db, scope, path.mac, asked, query.limit);
      return {
        ...asked,
        items: positions.map(toPositionAnswer),
        access_points: accessPoints.map(({ mac: apMac, name, ...others }) => ({
          ap_mac: apMac,
          name: name ?? null,
          ...others,
        })),
      };
    },
  });
