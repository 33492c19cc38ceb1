import { z } from 'zod';
import { findDestination } from '../../forward/parse-destinations.ts';
import { createFilter } from '../../forward/destination-filter.ts';
import { sendTest } from '../../forward/send-to-destination.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { revealHidden } from '../../lib/text/hidden-characters.ts';
import { countOf } from '../../lib/text/units.ts';
import { eventHistogram } from '../../store/events/event-histogram.ts';
import { searchEvents } from '../../store/events/search-events.ts';
import {
  changeDestinationState,
  forgetUnconfigured,
  rewindDestination,
} from '../../store/destinations/change-destination.ts';
import { describeDestinations, isDestinationOf, readCursors } from '../../store/destinations/destinations.ts';
import { ALL_SOURCES, type Scope } from '../../store/server/scope.ts';
import { recordAction } from '../../store/access/operator-log.ts';
import { CHANGE_DESTINATIONS, CHANGE_OUTPUTS, VIEW } from '../access/access.ts';
import {
  changeRoute,
  toAnswer,
  jsonRoute,
  nameAnswer,
  namePath,
  orBadGateway,
  parseInput,
  type ApiRoute,
  type RouteContext,
} from '../api/route.ts';
import { isoTime, moment, text } from '../api/parameters.ts';
import { pageSchema, whole, wholeSchema } from '../api/paging.ts';
import type { Area } from '../area.ts';
import { SEARCH_MS } from '../events/conditions.ts';
import type { Notice } from '../html/navigation.ts';
import { addingPage, changingPage, optionsIn } from './destination-form.ts';
import {
  destinationPage,
  destinationsPage,
  FORGET_DESTINATIONS,
  type ConfiguredDestinations,
} from './destinations-pages.ts';
import {
  readRejected,
  rejectedQuery,
  rejectedSchema,
  resendBody,
  resendChosen,
  resentSchema,
} from './rejected-events.ts';

const time = isoTime.nullable();

const destinationSchema = z
  .object({
    name: z.string(),
    type: z.string().nullable(),
    format: z.string().nullable(),
    origin: z
      .enum(['settings', 'database'])
      .nullable()
      .describe('database: added in the console or by the API; null: removed'),
    state: z
      .enum(['running', 'paused', 'refused', 'not configured', 'not started'])
      .describe(
        'refused: the destination rejected the connection, the credentials or ten events in a row; resume it after fixing the cause',
      ),
    behind: z.number().int().nullable().describe('backlog: stored events that have not been forwarded yet'),
    behind_since: time.describe('when the oldest event of the backlog was received'),
    sent: z.string().nullable(),
    last_sent_at: time,
    rejected: z.number().int().nullable().describe('rejected events that have not been resent'),
    last_error: z.string().nullable(),
    last_error_at: time,
  })
  .meta({ id: 'Destination', description: 'A destination and its state' });

/** The members of a destination in the settings file. The console sends those without a field of their own as YAML. */
const destinationBody = z
  .looseObject({ name: text.max(63), type: text, more: text.max(50_000).optional() })
  .describe('the options in docs/forwarding.md; credentials as text, which is stored encrypted');

const rewindBody = z.strictObject({
  to: z
    .union([z.literal('now').transform(() => undefined), moment])
    .describe('now, ISO 8601, or relative: 90m, 12h, 7d'),
});

const oneProduct = { path: z.object({ product: text.max(63) }) };

const oneDestination = { path: namePath };

const onePage = { ...oneDestination, query: rejectedQuery };

export function destinationsArea(options: ConfiguredDestinations): Area {
  return {
    tag: 'destinations',
    routes: destinationRoutes(options),
    pages: [
      {
        path: '/destinations',
        entry: {
          label: 'Destinations',
          group: 'Delivery',
          icon: 'destinations',
          needsPerson: ({ scope }) => refusing(options, scope),
        },
        ...VIEW,
        render: (_request, visitor) => destinationsPage(options, visitor),
      },
      {
        path: '/destinations/add/:product',
        ...CHANGE_OUTPUTS,
        async render(request) {
          const { path } = parseInput(oneProduct, request);
          const known = await describeDestinations(options.db, ALL_SOURCES, options.configured());
          return addingPage(
            path.product,
            known.map(({ name }) => name),
          );
        },
      },
      {
        path: '/destinations/:name/edit',
        ...CHANGE_OUTPUTS,
        render: (request) => changingPage(options.changes, parseInput(oneDestination, request).path.name),
      },
      {
        path: '/destinations/:name',
        ...VIEW,
        async render(request, visitor) {
          const { path, query } = parseInput(onePage, request);
          return destinationPage(options, visitor, path.name, query.cursor?.id);
        },
      },
    ],
  };
}

/** The configured destinations that have refused what they were sent. */
async function refusing(
  { db, configured }: ConfiguredDestinations,
  scope: Scope,
): Promise<Notice | undefined> {
  const seen = configured().filter((one) => isDestinationOf(scope, one));
  const names = new Set(seen.map(({ name }) => name));
  const refused = (await readCursors(db)).filter(({ name, state }) => state === 'refused' && names.has(name));
  if (refused.length === 0) return undefined;
  return {
    kind: 'bad',
    mark: '!',
    text: `Destinations: ${refused.map(({ name }) => name).join(', ')} refused`,
  };
}

function destinationRoutes(options: ConfiguredDestinations): readonly ApiRoute[] {
  const { db, configured, changes } = options;
  const changeOf = (name: string, { operator }: RouteContext) => ({
    db,
    operator,
    configured: configured().map((one) => one.name),
    name,
  });
  return [
    jsonRoute({
      route: 'GET /destinations',
      summary: 'list destinations, including those removed from the settings',
      ...VIEW,
      answer: wholeSchema(destinationSchema),
      work: async (_asked, { scope }) => whole(await describeDestinations(db, scope, configured())),
    }),
    jsonRoute({
      route: 'POST /destinations',
      summary: 'add a destination, which receives events stored from now on',
      ...CHANGE_OUTPUTS,
      input: { body: destinationBody },
      answer: nameAnswer,
      async work({ body }, { operator }) {
        await changes.add(operator, body.name, optionsIn(body));
        return { name: body.name };
      },
    }),
    jsonRoute({
      route: 'POST /destinations/try',
      summary: 'send a test event to a destination before it is saved',
      ...CHANGE_OUTPUTS,
      input: { body: destinationBody },
      answer: testAnswer,
      work: ({ body }, { operator }) =>
        testing(body.name, () => changes.test(operator, body.name, optionsIn(body))),
    }),
    jsonRoute({
      route: 'POST /destinations/preview',
      summary: 'count the events of the last day that a destination would receive, and format the latest one',
      ...CHANGE_OUTPUTS,
      input: { body: destinationBody },
      answer: z.object({ summary: z.string(), lines: z.array(z.string()) }),
      async work({ body }, { scope }) {
        const { filter, format } = await changes.read(body.name, optionsIn(body));
        const until = new Date();
        const range = { since: new Date(until.getTime() - DAY_MS), until, terms: filter.terms };
        const [{ bars, isComplete }, { events }] = await Promise.all([
          eventHistogram(db, scope, range, 2),
          searchEvents(db, scope, range, { limit: 1, milliseconds: SEARCH_MS }),
        ]);
        const sum = bars.flatMap((bar) => Object.values(bar.counts)).reduce((all, one) => all + one, 0);
        const count = `${isComplete ? '' : 'about '}${countOf(sum, 'event')}`;
        const meant = filter.ruleAlerts === 'only' ? 'Only alerts are sent. The' : 'The';
        const lines = events.filter(createFilter(filter)).map((event) => revealHidden(format(event)));
        return { summary: `${meant} filter matches ${count} of the last day.`, lines };
      },
    }),
    jsonRoute({
      route: 'POST /destinations/{name}/change',
      summary: 'change a destination that was added to the database; omitted credentials are kept',
      ...CHANGE_OUTPUTS,
      input: { ...oneDestination, body: destinationBody.omit({ name: true }) },
      answer: nameAnswer,
      async work({ path: { name }, body }, { operator }) {
        await changes.change(operator, name, optionsIn(body));
        return { name };
      },
    }),
    changeRoute(
      'POST /destinations/{name}/delete',
      'delete a destination that was added to the database; its state stays',
      CHANGE_OUTPUTS,
      (name, { operator }) => changes.remove(operator, name),
    ),
    changeRoute(
      'POST /destinations/{name}/pause',
      'pause after the current batch',
      CHANGE_DESTINATIONS,
      (name, context) => changeDestinationState(changeOf(name, context), 'paused'),
    ),
    changeRoute(
      'POST /destinations/{name}/resume',
      'resume from the last position',
      CHANGE_DESTINATIONS,
      (name, context) => changeDestinationState(changeOf(name, context), 'running'),
    ),
    jsonRoute({
      route: 'POST /destinations/{name}/rewind',
      summary: 'resend events received since a given time',
      ...CHANGE_DESTINATIONS,
      input: { ...oneDestination, body: rewindBody },
      answer: nameAnswer,
      async work({ path: { name }, body }, context) {
        await rewindDestination(changeOf(name, context), body.to);
        return { name };
      },
    }),
    changeRoute(
      'POST /destinations/{name}/forget',
      'delete the state of a removed destination',
      FORGET_DESTINATIONS,
      (name, context) => forgetUnconfigured(changeOf(name, context)),
    ),
    jsonRoute({
      route: 'POST /destinations/{name}/test',
      summary: 'send a test event and return the result',
      ...CHANGE_DESTINATIONS,
      input: oneDestination,
      answer: testAnswer,
      async work({ path: { name } }, { operator }) {
        const destination = findDestination(configured(), name);
        const action = { operator, action: 'destination.test', subject: name } as const;
        return testing(name, () =>
          recordAction(db, action, () => sendTest(destination, () => undefined), toAnswer),
        );
      },
    }),
    jsonRoute({
      route: 'GET /destinations/{name}/rejected',
      summary: 'list rejected events that have not been resent',
      ...VIEW,
      input: onePage,
      answer: pageSchema(rejectedSchema),
      work: ({ path: { name }, query: { limit, cursor } }, { scope }) =>
        readRejected(db, scope, name, limit, cursor?.id),
    }),
    jsonRoute({
      route: 'POST /destinations/{name}/replay',
      summary: 'resend rejected events',
      description:
        'With all, each request resends one part: repeat with cursor set to next_cursor until it is null.',
      ...CHANGE_DESTINATIONS,
      input: { ...oneDestination, body: resendBody },
      answer: z.object({ results: z.array(resentSchema), next_cursor: z.string().nullable() }),
      work: async ({ path: { name }, body }, context) =>
        resendChosen(db, findDestination(configured(), name), body, context),
    }),
  ];
}

const testAnswer = nameAnswer.extend({
  event_id: z.string(),
  refusal: z
    .string()
    .nullable()
    .describe('why the destination rejected the event; null if it accepted the event'),
});

const testing = async (name: string, test: () => ReturnType<typeof sendTest>) => ({
  name,
  ...toAnswer(await orBadGateway('DESTINATION_FAILED', `can't send to ${name}`, test)),
});
