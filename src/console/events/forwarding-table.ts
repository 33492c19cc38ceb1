import type { EventForwarding } from '../../store/rejected-events.ts';
import { badge } from '../html/badge.ts';
import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';
import { tableOf } from '../html/table.ts';
import { timeOf } from '../html/time.ts';
import { outcomeOf } from './describe-event.ts';

/** How an event stands with each destination. */
export function forwardingTable(forwarding: readonly EventForwarding[]): Content {
  if (forwarding.length === 0) {
    return html`<p class="empty">
      No destinations are set up. The setting <code>FORWARD_TO</code> names one.
    </p>`;
  }
  return [
    tableOf(
      'Where the event was forwarded to',
      [
        { heading: 'Destination', cell: ({ destination }) => destination },
        { heading: 'This event', cell: outcomeBadge },
        { heading: 'Destination now', cell: ({ state }) => state },
        { heading: 'Reason', kind: 'wrap', cell: ({ reason }) => reason },
        { heading: 'Refused', cell: ({ rejectedAt }) => rejectedAt && timeOf(rejectedAt) },
        { heading: 'Sent again', cell: ({ replayedAt }) => replayedAt && timeOf(replayedAt) },
      ],
      forwarding,
    ),
    html`<p class="dim">
      Passed means sent, unless the destination's filter leaves the event out or it was set up to begin behind
      it.
    </p>`,
  ];
}

function outcomeBadge(one: EventForwarding): Content {
  const outcome = outcomeOf(one);
  switch (outcome) {
    case 'passed':
    case 'sent again':
      return badge('good', outcome);
    case 'refused':
      return badge('bad', 'refused by the destination');
    case 'waiting':
      return one.state === 'running' ? badge('plain', 'not yet') : badge('warn', `not yet: ${one.state}`);
  }
}
