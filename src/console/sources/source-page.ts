import { HttpError } from '../../lib/errors.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { countOf, formatCount } from '../../lib/text/units.ts';
import type { SourceChanges } from '../../sources/change-sources.ts';
import { limitsOf, type SourceLine } from '../../sources/describe-sources.ts';
import { readLastArrivals, recentArrivals } from '../../store/counts/read-arrivals.ts';
import { readLastComparison } from '../../store/reconcile/coverage.ts';
import type { Db } from '../../store/server/database.ts';
import { findSubscriptions } from '../../store/sources/subscriptions.ts';
import { CHANGE_SOURCES, hasAccess, type Visitor } from '../access/access.ts';
import { addressOf, searchAddress } from '../addresses.ts';
import { factsOf } from '../browser/shared/facts.ts';
import { tableOf, type Column } from '../browser/shared/table.ts';
import { agoOf, badge, freshnessOf, livePart, panelOf, timeOf } from '../html/elements.ts';
import { actionButton } from '../html/form.ts';
import { html, type Content, type Page } from '../html/html.ts';

const HOURS = 24;

/** A comparison of an older quarter of an hour says nothing about the set-up as it is now. */
const COMPARED_DAYS = 7;

interface Step {
  readonly title: string;
  readonly isDone: boolean;
  readonly detail: Content;
}

/** A message type of a source. */
interface TypeLine {
  readonly type: string;
  readonly address: string;
  /** Whether the source is to be subscribed to it; others may arrive. */
  readonly isWanted: boolean;
  /** As the cloud said last; undefined: none is on record. */
  readonly status: string | undefined;
  readonly lastReceivedAt: Date | undefined;
}

/** The page of one source: the progress of its set-up, what to enter in the cloud, and its changes. */
export async function renderSource(
  db: Db,
  changes: SourceChanges,
  name: string,
  visitor: Visitor,
): Promise<Page> {
  const source = (await changes.list(visitor.scope)).find((one) => one.name === name);
  if (source === undefined) throw new HttpError(404, 'UNKNOWN_SOURCE', `there is no source "${name}"`);
  const scope = [name];
  const [last, recent, subscriptions, comparedAt] = await Promise.all([
    readLastArrivals(db, scope),
    recentArrivals(db, scope, HOURS),
    findSubscriptions(db, name),
    readLastComparison(db, name, new Date(Date.now() - COMPARED_DAYS * DAY_MS)),
  ]);
  const { messageTypes, publicUrl } = changes.usual();
  const arrivals = last.filter(({ lastReceivedAt }) => lastReceivedAt !== undefined);
  const wanted: readonly string[] = source.message_types ?? messageTypes;
  const all = new Set<string>([...wanted, ...arrivals.map(({ messageType }) => messageType)]);
  const types = [...all].map((type): TypeLine => ({
    type,
    address: `${publicUrl ?? 'https://ADDRESS'}/ingest/${name}/${type}`,
    isWanted: wanted.includes(type),
    status: subscriptions.find(({ message_type: subscribed }) => subscribed === type)?.status,
    lastReceivedAt: arrivals.find(({ messageType }) => messageType === type)?.lastReceivedAt,
  }));
  const events = (recent.get(name)?.events ?? []).reduce((sum, count) => sum + count, 0);
  return {
    title: name,
    modules: ['pages/overview.ts', 'pages/sources.ts'],
    beside: html`<a href="/sources">All sources</a>`,
    content: html`
      ${freshnessOf(new Date())}
      <div class="shown" role="status"></div>
      ${livePart(
        'set-up',
        html`<h2>Set-up</h2>
          ${tableOf('Set-up', STEPS, [...stepsOf(source, types, events, comparedAt)])}
          ${
            arrivals.length === 0 &&
            html`<p class="dim">
              If nothing arrives within ten minutes, <code>xiq-sink doctor</code> names the step that failed.
            </p>`
          }`,
        'panel',
      )}
      ${livePart(
        'types',
        html`<h2>Message types</h2>
          ${tableOf('Message types', TYPES, types)}
          <p class="dim">
            Each subscription needs its address and the webhook secret of the source.
            ${publicUrl === undefined && html`Replace <code>ADDRESS</code> by the public name of this service, or set <code>PUBLIC_URL</code>.`}
          </p>`,
        'panel',
      )}
      ${panelOf('Source', [
        factsOf([
          ['defined in', source.origin],
          ['secrets', secretsOf(source)],
          ['API', source.api_url],
          ['message types', source.message_types?.join(', ') ?? 'default'],
          ['limits', limitsOf(source) || null],
        ]),
        hasAccess(visitor, CHANGE_SOURCES) && changesOf(source),
      ])}
    `,
  };
}

function* stepsOf(
  { name, state, api_url: url }: SourceLine,
  types: readonly TypeLine[],
  events: number,
  comparedAt: Date | null,
): Generator<Step> {
  yield {
    title: 'Enabled',
    isDone: state !== 'disabled',
    detail: state === 'disabled' ? 'its deliveries are refused' : undefined,
  };
  const wanted = types.filter(({ isWanted }) => isWanted);
  const enabled = wanted.filter(({ status }) => status === 'ENABLED').length;
  const subscriptions = html`<a href=${addressOf('/subscriptions', { source: name })}>Subscriptions</a>`;
  yield {
    title: 'Subscriptions on record',
    isDone: wanted.length > 0 && enabled === wanted.length,
    detail:
      url === null
        ? 'No API credentials: create a subscription for each message type with the addresses below.'
        : html`${enabled} of ${countOf(wanted.length, 'type')}; ${subscriptions} compares them with the cloud`,
  };
  const times = types.flatMap(({ lastReceivedAt }) => lastReceivedAt?.getTime() ?? []);
  yield {
    title: 'First delivery received',
    isDone: times.length > 0,
    detail:
      times.length > 0
        ? html`<span>the last one ${agoOf(new Date(Math.max(...times)))}</span>`
        : 'waiting for it',
  };
  yield {
    title: 'Events stored',
    isDone: events > 0,
    detail: html`<a href=${searchAddress({ source: name, since: `${HOURS}h` })}
      >${formatCount(events)} in ${HOURS} hours</a
    >`,
  };
  if (url === null) return;
  yield {
    title: 'Compared with the history of the cloud',
    isDone: comparedAt !== null,
    detail: html`<a href=${addressOf('/coverage', { source: name })}>${agoOf(comparedAt)}</a>`,
  };
}

const STEPS: readonly Column<Step>[] = [
  { heading: 'Step', cell: ({ title }) => title },
  { heading: 'State', cell: ({ isDone }) => (isDone ? badge('good', 'done') : badge('plain', 'open')) },
  { heading: 'Details', kind: 'wrap', cell: ({ detail }) => detail },
];

const TYPES: readonly Column<TypeLine>[] = [
  { heading: 'Type', cell: ({ type }) => type },
  { heading: 'Address for the cloud', kind: 'wrap', cell: ({ address }) => html`<code>${address}</code>` },
  { heading: 'Subscription', cell: ({ status }) => status ?? html`<span class="dim">none on record</span>` },
  { heading: 'Last delivery', cell: ({ lastReceivedAt }) => agoOf(lastReceivedAt ?? null) },
];

function secretsOf({ secrets, old_secrets_until: until }: SourceLine): Content {
  if (secrets < 2) return String(secrets);
  return html`${secrets} ${until === null ? '' : html`<span class="dim">(old until ${timeOf(until)})</span>`}`;
}

function changesOf({ name, origin, state, secrets }: SourceLine): Content {
  if (origin === 'settings' || state === 'disabled') return undefined;
  const path = `/sources/${name}`;
  return html`
    <div class="row">
      ${actionButton(`${path}/rotate`, 'Rotate', {
        name: `Rotate the secret of ${name}`,
        kind: 'quiet',
        secret: 'secret',
        confirm: `Add a new secret to ${name}? The old one is accepted until you drop it.`,
      })}
      ${
        secrets > 1 &&
        actionButton(`${path}/drop-old`, 'Drop old', {
          name: `Drop the old secrets of ${name}`,
          kind: 'quiet',
          confirm: `Drop the old secrets of ${name}? Deliveries that use them are refused.`,
          done: `The old secrets of ${name} were dropped.`,
        })
      }
      ${actionButton(`${path}/disable`, 'Disable', {
        name: `Disable ${name}`,
        kind: 'danger',
        confirm: `Disable ${name}? Its deliveries are refused; its events stay.`,
        done: `${name} is disabled.`,
      })}
    </div>
  `;
}
