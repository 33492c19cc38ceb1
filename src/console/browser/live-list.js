// The list of live events. The server renders it too, so this module must not access the page.

import { html } from 'htm/preact';

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
 * @param {{ events: readonly LiveEvent[] }} props
 */
export function LiveList({ events }) {
  return html`
    <div class="scroll live" tabindex="0" role="region" aria-label="Live events" aria-live="off">
      <table>
        <caption class="visually-hidden">
          Live events, newest first
        </caption>
        <thead>
          <tr>
            <th scope="col">Time (UTC)</th>
            <th scope="col">Type</th>
            <th scope="col">User</th>
            <th scope="col">Client</th>
            <th scope="col">Access point</th>
            <th scope="col">Summary</th>
            <th scope="col">Source</th>
          </tr>
        </thead>
        <tbody>
          ${events.map((event) => html`<${Row} key=${event.event_id} event=${event} />`)}
        </tbody>
      </table>
    </div>
  `;
}

/** @param {{ event: LiveEvent }} props */
function Row({ event }) {
  const { event_id: id, occurred_at: time, message_type: type, user, client_mac: client, ap_mac: ap } = event;
  return html`
    <tr>
      <td>
        <a href=${`/events/${id}?at=${encodeURIComponent(time)}`}>
          <time datetime=${time}>${time.slice(0, 19).replace('T', ' ')}</time>
        </a>
      </td>
      <td>${type}</td>
      <td>${user}</td>
      <td class="mono nowrap">${client}</td>
      <td class="mono nowrap">${ap}</td>
      <td class="wrap">${event.summary}</td>
      <td>${event.source}</td>
    </tr>
  `;
}
