import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { summarizeClient, summarizeUser } from '../../store/timeline.ts';
import { VIEW } from '../access/rule.ts';
import { toAnswer } from '../api/answer.ts';
import { limit } from '../api/query.ts';
import { jsonRoute, type ApiRoute } from '../api/route.ts';
import type { Area } from '../area.ts';
import { inOrder, mac, rangeShape, userName } from '../events/conditions.ts';
import { recordLook } from './looks.ts';
import { renderAccessPoint } from './access-point-page.ts';
import { renderDirectory } from './directory-page.ts';
import { directoryQuery, directorySchema, readDirectory } from './directory-schemas.ts';
import { clientSchema, positionsSchema, wholeRange, userSchema } from './people-schemas.ts';
import { renderClient, renderUser } from './timeline-pages.ts';
import { readPlaces } from './whereabouts.ts';

/** The activity of users and clients, and where they were. */
export function peopleArea({ db }: { readonly db: Db }): Area {
  return {
    tag: 'people',
    navigation: [
      {
        path: '/people',
        label: 'People',
        group: 'Investigate',
        icon: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c.5-3 2.5-4.5 5.5-4.5s5 1.5 5.5 4.5',
      },
      {
        path: '/devices',
        label: 'Devices',
        group: 'Investigate',
        icon: 'M2 3h12v8H2zM5.5 14h5M8 11v3',
      },
    ],
    routes: peopleRoutes(db),
    pages: [
      {
        path: '/people',
        ...VIEW,
        render: (request, { scope }) => renderDirectory(db, scope, request, 'people'),
      },
      {
        path: '/devices',
        ...VIEW,
        render: (request, { scope }) => renderDirectory(db, scope, request, 'devices'),
      },
      {
        path: '/devices/access-point',
        ...VIEW,
        render: (request, { scope }) => renderAccessPoint(db, scope, request),
      },
      { path: '/people/user', ...VIEW, render: (request, visitor) => renderUser(db, visitor, request) },
      { path: '/people/client', ...VIEW, render: (request, visitor) => renderClient(db, visitor, request) },
    ],
  };
}

const RANGE_NOTE = 'The default range is the last 7 days. The operator log records each request.';

const range = inOrder(rangeShape);
const clientPath = z.object({ mac: mac('MAC address of the client, in any notation') });

function peopleRoutes(db: Db): readonly ApiRoute[] {
  return [
    jsonRoute({
      route: 'GET /people',
      summary: 'list administrators and users of the network, with their logins, changes and keys of 30 days',
      ...VIEW,
      asks: z.object({ query: directoryQuery('people') }),
      answer: directorySchema,
      work: ({ query }, { scope }) => readDirectory(db, scope, 'people', query),
    }),
    jsonRoute({
      route: 'GET /devices',
      summary: 'list clients and access points, with their events of 30 days',
      ...VIEW,
      asks: z.object({ query: directoryQuery('devices') }),
      answer: directorySchema,
      work: ({ query }, { scope }) => readDirectory(db, scope, 'devices', query),
    }),
    jsonRoute({
      route: 'GET /users/{name}',
      summary: 'summarize a user: first and last seen, event types, devices and access points',
      description: RANGE_NOTE,
      ...VIEW,
      asks: z.object({ path: z.object({ name: userName }), query: range }),
      answer: userSchema,
      async work({ path: { name }, query }, { operator, scope }) {
        const asked = wholeRange(query);
        await recordLook(db, operator, name, asked);
        const user = await summarizeUser(db, scope, name, asked.since, asked.until);
        const access_points = user.accessPoints.map(toAnswer);
        return { name, ...asked, ...toAnswer(user), access_points, devices: user.devices.map(toAnswer) };
      },
    }),
    jsonRoute({
      route: 'GET /clients/{mac}',
      summary: 'summarize a client: first and last seen, event types, users, access points and SSIDs',
      description: RANGE_NOTE,
      ...VIEW,
      asks: z.object({ path: clientPath, query: range }),
      answer: clientSchema,
      async work({ path, query }, { operator, scope }) {
        const asked = wholeRange(query);
        await recordLook(db, operator, path.mac, asked);
        const client = await summarizeClient(db, scope, path.mac, asked.since, asked.until);
        return {
          ...path,
          ...asked,
          ...toAnswer(client),
          users: client.users.map(toAnswer),
          access_points: client.accessPoints.map(toAnswer),
          ssids: client.ssids.map(toAnswer),
        };
      },
    }),
    positionsRoute(db),
  ];
}

const positionsRoute = (db: Db) =>
  jsonRoute({
    route: 'GET /clients/{mac}/positions',
    summary: 'list the positions of a client, with estimated positions of the access points',
    description: `Returns the newest observations of the range. ${RANGE_NOTE}`,
    ...VIEW,
    asks: z.object({
      path: clientPath,
      query: inOrder({ ...rangeShape, limit: limit(500, 5_000) }),
    }),
    answer: positionsSchema,
    async work({ path, query }, { operator, scope }) {
      const asked = wholeRange(query);
      await recordLook(db, operator, path.mac, asked);
      const { positions, accessPoints } = await readPlaces(db, scope, path.mac, asked, query.limit);
      return {
        ...asked,
        items: positions.map(toAnswer),
        access_points: accessPoints.map((one) => ({ ...toAnswer(one), ap_mac: one.mac })),
      };
    },
  });
