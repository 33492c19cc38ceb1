import { z } from 'zod';
import { capitalized } from '../../lib/text/capitalized.ts';
import { recordEnded } from '../../store/access/operator-log.ts';
import type { Db } from '../../store/server/database.ts';
import { accessPointNames, accessPointPositions, clientPositions } from '../../store/events/positions.ts';
import { summarizeClient, summarizeUser } from '../../store/events/timeline.ts';
import { VIEW } from '../access/access.ts';
import { toAnswer, jsonRoute } from '../api/route.ts';
import { limit } from '../api/parameters.ts';
import type { Area } from '../area.ts';
import { withValidRange, mac, rangeShape, userName } from '../events/conditions.ts';
import { renderAccessPoint } from './access-point-page.ts';
import { renderDirectory } from './directory-page.ts';
import { directoryQuery, directorySchema, readDirectory } from './directory-schemas.ts';
import { clientSchema, positionsSchema, wholeRange, userSchema } from './people-schemas.ts';
import { renderClient, renderUser } from './timeline-pages.ts';

const DIRECTORIES = [
  ['people', 'list administrators and users, with their logins, changes and keys in 30 days'],
  ['devices', 'list clients and access points, with their events in 30 days'],
] as const;

const RANGE_NOTE = 'The default range is the last 7 days. The operator log records each request.';

const range = withValidRange(rangeShape);
const clientPath = z.object({ mac: mac('MAC address of the client, in any notation') });

export function peopleArea({ db }: { readonly db: Db }): Area {
  return {
    tag: 'people',
    routes: [
      ...DIRECTORIES.map(([name, summary]) =>
        jsonRoute({
          route: `GET /${name}`,
          summary,
          ...VIEW,
          input: { query: directoryQuery(name) },
          answer: directorySchema,
          work: ({ query }, { scope }) => readDirectory(db, scope, name, query),
        }),
      ),
      jsonRoute({
        route: 'GET /users/{name}',
        summary: 'summarize a user: first and last seen, event types, devices and access points',
        description: RANGE_NOTE,
        ...VIEW,
        input: { path: z.object({ name: userName }), query: range },
        answer: userSchema,
        async work({ path: { name }, query }, { operator, scope }) {
          const period = wholeRange(query);
          await recordEnded(db, { operator, action: 'timeline.read', subject: name, details: period });
          const user = await summarizeUser(db, scope, name, period.since, period.until);
          const access_points = user.accessPoints.map(toAnswer);
          return { name, ...period, ...toAnswer(user), access_points, devices: user.devices.map(toAnswer) };
        },
      }),
      jsonRoute({
        route: 'GET /clients/{mac}',
        summary: 'summarize a client: first and last seen, event types, users, access points and SSIDs',
        description: RANGE_NOTE,
        ...VIEW,
        input: { path: clientPath, query: range },
        answer: clientSchema,
        async work({ path, query }, { operator, scope }) {
          const period = wholeRange(query);
          await recordEnded(db, { operator, action: 'timeline.read', subject: path.mac, details: period });
          const client = await summarizeClient(db, scope, path.mac, period.since, period.until);
          return {
            ...path,
            ...period,
            ...toAnswer(client),
            users: client.users.map(toAnswer),
            access_points: client.accessPoints.map(toAnswer),
            ssids: client.ssids.map(toAnswer),
          };
        },
      }),
      jsonRoute({
        route: 'GET /clients/{mac}/positions',
        summary: 'list the positions of a client, with estimated positions of the access points',
        description: `Returns the newest observations of the range. ${RANGE_NOTE}`,
        ...VIEW,
        input: {
          path: clientPath,
          query: withValidRange({ ...rangeShape, limit: limit(500, 5_000) }),
        },
        answer: positionsSchema,
        async work({ path, query }, { operator, scope }) {
          const period = wholeRange(query);
          await recordEnded(db, { operator, action: 'timeline.read', subject: path.mac, details: period });
          const positions = await clientPositions(db, scope, path.mac, period, query.limit);
          const macs = [...new Set(positions.flatMap(({ apMac }) => apMac ?? []))];
          const [placed, names] = await Promise.all([
            accessPointPositions(db, scope, macs),
            accessPointNames(db, scope, macs),
          ]);
          return {
            ...period,
            items: positions.map(toAnswer),
            access_points: placed.map((one) => ({ ...toAnswer(one), name: names.get(one.apMac) ?? null })),
          };
        },
      }),
    ],
    pages: [
      ...DIRECTORIES.map(([name]): Area['pages'][number] => ({
        path: `/${name}`,
        entry: { label: capitalized(name), group: 'Investigate', icon: name },
        ...VIEW,
        render: (request, visitor) => renderDirectory(db, visitor, request, name),
      })),
      {
        path: '/devices/access-point',
        ...VIEW,
        render: (request, { scope }) => renderAccessPoint(db, scope, request),
      },
      { path: '/people/user', ...VIEW, render: (request, visitor) => renderUser(db, visitor, request) },
      { path: '/devices/client', ...VIEW, render: (request, visitor) => renderClient(db, visitor, request) },
    ],
  };
}
