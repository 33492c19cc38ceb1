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
  type DestinationChange,
} from '../../store/destinations/change-destination.ts';
import { describeDestinations, isDestinationOf, readCursors } from '../../store/destinations/destinations.ts';
import { ALL_SOURCES, type Scope } from '../../store/server/scope.ts';
import { recordAction } from '../../store/access/operator-log.ts';
import { CHANGE_DESTINATIONS, CHANGE_OUTPUTS, VIEW, type Rule } from '../access/access.ts';
import {
  changeRoute,
  toAnswer,
  jsonRoute,
  nameAnswer,
  orBadGateway,
  parseInput,
  type ApiRoute,
  type RouteContext,
} from '../api/route.ts';
import { text } from '../api/parameters.ts';
import { pageSchema, whole, wholeSchema } from '../api/paging.ts';
import type { Area } from '../area.ts';
import { SEARCH_MS } from '../events/conditions.ts';
import type { Notice } from '../html/navigation.ts';
import { addingPage, changingPage, optionsIn } from './destination-form.ts';
import {
  destinationBody,
  destinationSchema,
  oneDestination,
  rejectedQuery,
  rejectedSchema,
  resendBody,
  rewindBody,
} from './destination-schemas.ts';
import {
  destinationPage,
  destinationsPage,
  FORGET_DESTINATIONS,
  type ConfiguredDestinations,
} from './destinations-pages.ts';
import { readRejected, resendChosen, resentSchema } from './rejected-events.ts';

const oneProduct = { path: z.object({ product: text.max(63) }) };

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
          const known = await describeDestinations(options.db, ALL_SOURCES, options.configured());
          const { path } = parseInput(oneProduct, request);
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
  const stateRoute = (
    verb: string,
    summary: string,
    change: (change: DestinationChange) => Promise<void>,
    rule: Rule = CHANGE_DESTINATIONS,
  ) =>
    changeRoute(`POST /destinations/{name}/${verb}`, summary, rule, (name, context) =>
      change(changeOf(options, name, context)),
    );
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
    stateRoute('pause', 'pause after the current batch', (change) =>
      changeDestinationState(change, 'paused'),
    ),
    stateRoute('resume', 'resume from the last position', (change) =>
      changeDestinationState(change, 'running'),
    ),
    jsonRoute({
      route: 'POST /destinations/{name}/rewind',
      summary: 'resend events received since a given time',
      ...CHANGE_DESTINATIONS,
      input: { ...oneDestination, body: rewindBody },
      answer: nameAnswer,
      async work({ path: { name }, body }, context) {
        await rewindDestination(changeOf(options, name, context), body.to);
        return { name };
      },
    }),
    stateRoute(
      'forget',
      'delete the state of a removed destination',
      forgetUnconfigured,
      FORGET_DESTINATIONS,
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
      async work({ path: { name }, body }, context) {
        return resendChosen(db, findDestination(configured(), name), body, context);
      },
    }),
  ];
}

function changeOf(
  { db, configured }: ConfiguredDestinations,
  name: string,
  { operator }: RouteContext,
): DestinationChange {
  return { db, operator, configured: configured().map((one) => one.name), name };
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
