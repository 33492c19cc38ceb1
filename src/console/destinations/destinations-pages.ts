import type { Destination } from '../../forward/parse-destinations.ts';
import type { DestinationChanges } from '../../forward/change-destinations.ts';
import { HttpError } from '../../lib/errors.ts';
import { describeDestinations, type DescribedDestination } from '../../store/destinations/destinations.ts';
import type { Db } from '../../store/server/database.ts';
import type { Rejected } from '../../store/destinations/rejected-events.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { statusOfDestination } from '../../observe/status.ts';
import { countOf, formatCount, formatDuration } from '../../lib/text/units.ts';
import { type Visitor, CHANGE_DESTINATIONS, CHANGE_OUTPUTS, hasAccess } from '../access/access.ts';
import { destinationAddress, eventAddress } from '../addresses.ts';
import type { PageOf } from '../api/paging.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { agoOf, badge, pagerOf, panelOf, timeOf } from '../html/elements.ts';
import { actionButton, timeField } from '../html/form.ts';
import { numberColumn, tableOf, type Column } from '../browser/shared/table.ts';
import { factsOf } from '../browser/shared/facts.ts';
import { addLinks } from './destination-form.ts';
import { readRejected } from './rejected-events.ts';

export interface ConfiguredDestinations {
  readonly db: Db;
  /** The destinations of the settings and of the database, which may change at any time. */
  readonly configured: () => readonly Destination[];
  readonly changes: DestinationChanges;
}

function stateOf(described: DescribedDestination): Content {
  const { level, word } = statusOfDestination(described, new Date());
  return badge(level, word);
}

function behindOf({ behind, behind_since: since }: DescribedDestination): string {
  if (behind === null) return 'unknown';
  if (behind === 0) return 'none';
  const age = since === null ? '' : ` (${formatDuration((Date.now() - since.getTime()) / 1_000)})`;
  return `${countOf(behind, 'event')}${age}`;
}

function lastErrorOf({ last_error: error, last_error_at: at }: DescribedDestination): Content {
  if (error === null) return html`<span class="dim">none</span>`;
  return [error, at !== null && html` <span class="dim">(${agoOf(at)})</span>`];
}

const sentOf = ({ sent }: DescribedDestination) => formatCount(Number(sent ?? 0));

/** Where a destination is changed. */
const ORIGINS = { settings: 'the settings (XIQ_SINK_CONFIG or FORWARD_TO)', database: 'the console' };

const isStopped = ({ state }: DescribedDestination) => state === 'paused' || state === 'refused';

function stateForm(described: DescribedDestination): Content {
  const { name } = described;
  const path = destinationAddress(name);
  return isStopped(described)
    ? actionButton(`${path}/resume`, 'Resume', {
        name: `Resume ${name}`,
        kind: 'quiet',
        done: `${name} resumes within a second.`,
      })
    : actionButton(`${path}/pause`, 'Pause', {
        name: `Pause ${name}`,
        kind: 'quiet',
        confirm: `Pause forwarding to ${name}? Its position is kept.`,
        done: `${name} is paused.`,
      });
}

const changeForms = ({ name }: DescribedDestination): Content =>
  html`<div class="row tight">
    <a class="button quiet" href=${`${destinationAddress(name)}/edit`}>Change</a>
    ${actionButton(`${destinationAddress(name)}/delete`, 'Delete', {
      name: `Delete ${name}`,
      kind: 'danger',
      confirm: `Delete ${name}? Nothing more is sent to it. Its position is kept until you also delete its state.`,
      done: `${name} was deleted.`,
    })}
  </div>`;

const forgetForm = ({ name }: DescribedDestination): Content =>
  actionButton(`${destinationAddress(name)}/forget`, 'Delete', {
    name: `Delete the state of ${name}`,
    kind: 'danger',
    confirm: `Delete the state of ${name}? Its position and its rejected events are deleted permanently.`,
    done: `The state of ${name} was deleted.`,
  });

export async function destinationsPage(options: ConfiguredDestinations, visitor: Visitor): Promise<Page> {
  const { db, configured } = options;
  const { scope } = visitor;
  const seesAll = scope === ALL_SOURCES;
  const destinations = await describeDestinations(db, scope, configured());
  return {
    title: 'Destinations',
    modules: ['pages/destinations.ts'],
    content: html`
      ${
        destinations.length === 0
          ? seesAll
            ? EMPTY
            : html`<p class="empty">No destination receives events from your sources.</p>`
          : tableOf('Destinations', columnsFor(visitor, destinations), destinations)
      }
      ${hasAccess(visitor, CHANGE_OUTPUTS) && addLinks()}
    `,
  };
}

const EMPTY = html`
  <p class="empty">
    No destinations are configured. An admin can add one on this page, or set <code>FORWARD_TO</code>, for
    example to${' '}<code>syslog+tls://siem.example:6514?format=cef</code>. docs/forwarding.md describes all
    types of destinations.
  </p>
`;

const NAME_COLUMNS: readonly Column<DescribedDestination>[] = [
  {
    heading: 'Name',
    kind: 'nowrap',
    cell: ({ name }) => html`<a href=${destinationAddress(name)}>${name}</a>`,
  },
  { heading: 'State', cell: stateOf },
  {
    heading: 'Type',
    kind: 'nowrap',
    cell: ({ type, format }) => (type === null ? '' : `${type}, ${format}`),
  },
];

const REJECTED_COLUMN = numberColumn('Rejected', ({ name, rejected }: DescribedDestination) =>
  rejected === null || rejected === 0
    ? '0'
    : html`<a href=${destinationAddress(name)}>${formatCount(rejected)}</a>`,
);

/** What the others show depends on all sources. */
const COLUMNS_BY_SOURCE = [...NAME_COLUMNS, REJECTED_COLUMN];

const LIST_COLUMNS: readonly Column<DescribedDestination>[] = [
  ...NAME_COLUMNS,
  { heading: 'Backlog', kind: 'nowrap', cell: behindOf },
  numberColumn('Sent', sentOf),
  { heading: 'Last sent', cell: ({ last_sent_at: at }) => agoOf(at) },
  REJECTED_COLUMN,
  { heading: 'Last error', kind: 'wrap', cell: lastErrorOf },
];

/** Destinations that do not run have an action in the list. */
function columnsFor(visitor: Visitor, destinations: readonly DescribedDestination[]) {
  const columns = visitor.scope === ALL_SOURCES ? LIST_COLUMNS : COLUMNS_BY_SOURCE;
  const cell = (one: DescribedDestination) =>
    one.state === 'not configured'
      ? hasAccess(visitor, FORGET_DESTINATIONS) && forgetForm(one)
      : isStopped(one) && hasAccess(visitor, CHANGE_DESTINATIONS) && stateForm(one);
  return destinations.some(cell) ? [...columns, { heading: 'Action', cell }] : columns;
}

/** The rule of deleting the state of a destination that was removed from the settings. */
export const FORGET_DESTINATIONS = { needs: 'destinations.forget', data: 'whole' } as const;

const REJECTED_ON_A_PAGE = 50;

/** The page of one destination. Throws HttpError 404 if it is neither configured nor stored. */
export async function destinationPage(
  { db, configured }: ConfiguredDestinations,
  visitor: Visitor,
  name: string,
  after: string | undefined,
): Promise<Page> {
  const { scope } = visitor;
  const described = (await describeDestinations(db, scope, configured())).find((one) => one.name === name);
  if (described === undefined) {
    throw new HttpError(404, 'UNKNOWN_DESTINATION', `there is no destination "${name}"`);
  }
  const rejected = await readRejected(db, scope, name, REJECTED_ON_A_PAGE, after);
  const isConfigured = described.state !== 'not configured';
  return {
    title: name,
    modules: ['pages/destinations.ts'],
    content: html`
      <div class="panels broad">
        ${destinationFacts(described, scope === ALL_SOURCES)} ${actionsOn(described, visitor)}
      </div>
      <h2>Rejected events</h2>
      ${rejectedOf(described, rejected, isConfigured ? visitor : undefined, after)}
    `,
  };
}

function actionsOn(described: DescribedDestination, visitor: Visitor): Content {
  if (described.state !== 'not configured')
    return hasAccess(visitor, CHANGE_DESTINATIONS) && panelOf('Actions', changesOf(described, visitor));
  return (
    hasAccess(visitor, FORGET_DESTINATIONS) &&
    panelOf('Actions', [
      html`<p>This destination was removed. Retention keeps its backlog until its state is deleted.</p>`,
      forgetForm(described),
    ])
  );
}

function destinationFacts(described: DescribedDestination, seesAll: boolean): Content {
  const { type, format, origin } = described;
  return panelOf(
    'State',
    factsOf([
      ['State', stateOf(described)],
      ['Type', type === null ? 'removed' : `${type}, format ${format}`],
      ['Defined in', origin && ORIGINS[origin]],
      seesAll && ['Backlog', behindOf(described)],
      seesAll && ['Sent', html`${sentOf(described)}, last ${agoOf(described.last_sent_at)}`],
      seesAll && ['Last error', lastErrorOf(described)],
    ]),
  );
}

/** The actions on a destination, each with what it does. */
function changesOf(described: DescribedDestination, visitor: Visitor): Content {
  const { name, behind, origin } = described;
  const action = `${destinationAddress(name)}/rewind`;
  const waiting = behind === null ? 'Waiting events' : `Up to ${countOf(behind, 'event')}`;
  const question = `Send ${name} all events received since that time? Events already sent are resent.`;
  const resendForm = html`
    <form class="filters" data-action=${action} data-confirm=${question} data-done="Resending.">
      ${timeField('to', 'Resend from', '24h, 2026-01-31 08:00', { required: '' })}
      <button class="quiet">Resend</button>
    </form>
  `;
  const skipButton = actionButton(action, 'Skip backlog', {
    kind: 'danger',
    confirm: `Skip the backlog of ${name}? ${waiting} waiting now will not be sent to it.`,
    done: 'The backlog was skipped.',
    values: { to: 'now' },
  });
  // browser/pages/destinations.ts reports the result.
  const testButton = actionButton(`${destinationAddress(name)}/test`, 'Test', {
    name: `Send a test event to ${name}`,
    kind: 'quiet',
  });
  const isOwn = origin === 'database' && hasAccess(visitor, CHANGE_OUTPUTS);
  const lines: readonly (readonly [text: string, control: Content] | false)[] = [
    ['Send a test event, which is marked as one', testButton],
    [
      isStopped(described)
        ? 'Send the backlog, oldest first'
        : 'Stop after the current batch; the position is kept',
      stateForm(described),
    ],
    ['Send older events again, as duplicates', resendForm],
    behind !== 0 && [`${waiting} stay stored, to be resent if needed`, skipButton],
    isOwn && ['Address, credentials, format and filter', changeForms(described)],
  ];
  return html`<ul class="lines">
    ${lines.map((line) => line && html`<li class="apart"><span>${line[0]}</span> ${line[1]}</li>`)}
  </ul>`;
}

const REJECTED_COLUMNS: readonly Column<Rejected>[] = [
  {
    heading: 'Event',
    cell: (one) => html`
      <a href=${eventAddress({ eventId: one.event_id, occurredAt: one.occurred_at.toISOString() })}>
        ${timeOf(one.occurred_at)}
      </a>
    `,
  },
  { heading: 'Type', cell: (one) => one.message_type },
  { heading: { time: 'Rejected' }, cell: (one) => timeOf(one.rejected_at) },
  { heading: 'Reason', kind: 'wrap', cell: (one) => one.reason },
];

const CHECKBOX: Column<Rejected> = {
  heading: 'Select',
  cell: (one) =>
    html`<input type="checkbox" name="ids" value=${one.event_id} aria-label=${`Select ${one.event_id}`} />`,
};

/** The rejected events after an id. The events are resent by this visitor; undefined: by nobody. */
function rejectedOf(
  { name, rejected }: DescribedDestination,
  { items, next_cursor: next }: PageOf<Rejected>,
  visitor: Visitor | undefined,
  after: string | undefined,
): Content {
  if (items.length === 0) return html`<p class="empty">No rejected events.</p>`;
  const canReplay = visitor !== undefined && hasAccess(visitor, CHANGE_DESTINATIONS);
  return html`
    <form id="rejected" data-name=${name} data-total=${rejected ?? 0}>
      <div class="row apart">
        <p>${countOf(rejected ?? 0, 'event')} rejected because of their content. All others were sent.</p>
        ${
          canReplay &&
          html`
            <div class="row">
              <button type="button" class="quiet" name="some">Resend selected</button>
              ${visitor.scope === ALL_SOURCES && html`<button type="button" class="quiet" name="every">Resend all</button>`}
            </div>
          `
        }
      </div>
      <div id="outcome"></div>
      ${tableOf('Rejected events', canReplay ? [CHECKBOX, ...REJECTED_COLUMNS] : REJECTED_COLUMNS, items)}
    </form>
    ${pagerOf(destinationAddress(name), after === undefined ? {} : { cursor: after }, next)}
  `;
}
