import { html } from 'htm/preact';
import { localText } from './local-time.js';
import { tableOf } from './table.js';

// The list of live events. The server renders it too, so this module must not access the page.

/**
 * An event in one line, as in the stream.
 *
 * @typedef {object} LiveEvent
 * @property {string} event_id
 * @property {string} message_type
 * @property {string} source
 * @property {string} occurred_at
 * @property {string | null} user
 * @property {string | null} client_mac
 * @property {string | null} ap_mac
 * @property {string} summary
 */

/**
 * Newest first. Screen readers do not announce rows by themselves: there can be hundreds per second.
 *
 * @param {{ events: readonly LiveEvent[], zone: string }} props
 */
export const LiveList = ({ events, zone }) =>
  tableOf(
    'Live events, newest first',
    [
      {
        heading: { time: 'Time' },
        cell: ({ event_id: id, occurred_at: time }) => html`
          <a href=${`/events/${id}?at=${encodeURIComponent(time)}`}>
            <time datetime=${time}>${localText(time, zone)}</time>
          </a>
        `,
      },
      { heading: 'Type', cell: ({ message_type: type }) => type },
      { heading: 'User', cell: ({ user }) => user },
      { heading: 'Client', kind: 'mono nowrap', cell: ({ client_mac: client }) => client },
      { heading: 'Access point', kind: 'mono nowrap', cell: ({ ap_mac: ap }) => ap },
      { heading: 'Summary', kind: 'wrap', cell: ({ summary }) => summary },
      { heading: 'Source', cell: ({ source }) => source },
    ],
    events,
    { keyOf: ({ event_id: id }) => id, isLive: true },
  );
