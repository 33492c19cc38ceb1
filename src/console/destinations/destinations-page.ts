import { describeDestinations } from '../../store/destinations.ts';
import type { DescribedDestination } from '../../store/destinations.ts';
import { html } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { numberOf } from '../html/number.ts';
import { tableOf } from '../html/table.ts';
import type { Column } from '../html/table.ts';
import {
  behindOf,
  destinationAddress,
  forgetForm,
  lastErrorOf,
  lastSentOf,
  sentOf,
  stateForm,
  stateOf,
  testForm,
} from './destination-cells.ts';
import type { DestinationsOptions } from './destinations-options.ts';

/** The list of destinations. */
export async function destinationsPage({
  db,
  configured,
}: Pick<DestinationsOptions, 'db' | 'configured'>): Promise<Page> {
  const destinations = await describeDestinations(db, configured);
  return {
    title: 'Destinations',
    modules: ['destinations.js'],
    content:
      destinations.length === 0
        ? EMPTY
        : html`
            <p>
              Where events are forwarded to. Each has a place of its own, and one that is away holds up no
              other.
            </p>
            ${tableOf('Destinations', COLUMNS, destinations)}
          `,
  };
}

const EMPTY = html`
  <p class="empty">
    Events are forwarded nowhere. Set <code>FORWARD_TO</code>, for example to
    <code> syslog+tls://siem.example:6514?format=cef</code>, and start again: docs/forwarding.md tells of all
    kinds of destinations.
  </p>
`;

const COLUMNS: readonly Column<DescribedDestination>[] = [
  { heading: 'Name', cell: ({ name }) => html`<a href=${destinationAddress(name)}>${name}</a>` },
  { heading: 'State', cell: stateOf },
  { heading: 'Type', cell: ({ type, format }) => (type === null ? '' : `${type}, ${format}`) },
  { heading: 'Behind', cell: behindOf },
  { heading: 'Sent', kind: 'number', cell: sentOf },
  { heading: 'Last sent (UTC)', cell: lastSentOf },
  {
    heading: 'Refused events',
    kind: 'number',
    cell: ({ name, rejected }) =>
      rejected === null || rejected === 0
        ? '0'
        : html`<a href=${destinationAddress(name)}>${numberOf(rejected)}</a>`,
  },
  { heading: 'Last error', kind: 'wrap', cell: lastErrorOf },
  {
    heading: 'Do',
    cell: (one) =>
      one.state === 'not configured'
        ? forgetForm(one)
        : html`<div class="row tight">${stateForm(one)} ${testForm(one)}</div>`,
  },
];
