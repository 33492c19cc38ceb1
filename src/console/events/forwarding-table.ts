import { badge } from '../html/badge.ts';
import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';
import { tableOf } from '../html/table.ts';
import { timeOf } from '../html/time.ts';
import { outcomeOf } from './describe-event.ts';
import type { EventOutcome } from './describe-event.ts';

/** How an event stands with each destination. */
export function forwardingTable(forwarding: readonly EventOutcome[]): Content {
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
      Events stored before a destination was added count as sent, unless its filter leaves them out.
    </p>`,
  ];
}

function outcomeBadge(one: EventOutcome): Content {
  const outcome = outcomeOf(one);
  switch (outcome) {
    case 'sent':
    case 'sent again':
      return badge('good', outcome);
    case 'filtered':
      return badge('plain', 'left out by the filter');
    case 'refused':
      return badge('bad', 'refused by the destination');
    case 'waiting':
      return one.state === 'running' ? badge('plain', 'not yet') : badge('warn', `not yet: ${one.state}`);
  }
}
