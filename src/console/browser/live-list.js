// The list of live events. The server renders it too, so this module must not access the page.

import { html } from 'htm/preact';
import { localText, zoneWord } from './local-time.js';

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
export function LiveList({ events, zone }) {
  return html`
    <div class="scroll live" tabindex="0" role="region" aria-label="Live events" aria-live="off">
      <table>
        <caption class="visually-hidden">
          Live events, newest first
        </caption>
        <thead>
          <tr>
            <th scope="col">Time (${zoneWord(zone)})</th>
            <th scope="col">Type</th>
            <th scope="col">User</th>
            <th scope="col">Client</th>
            <th scope="col">Access point</th>
            <th scope="col">Summary</th>
            <th scope="col">Source</th>
          </tr>
        </thead>
        <tbody>
          ${events.map((event) => html`<${Row} key=${event.event_id} event=${event} zone=${zone} />`)}
        </tbody>
      </table>
    </div>
  `;
}

/** @param {{ event: LiveEvent, zone: string }} props */
function Row({ event, zone }) {
  const { event_id: id, occurred_at: time, message_type: type, user, client_mac: client, ap_mac: ap } = event;
  return html`
    <tr>
      <td>
        <a href=${`/events/${id}?at=${encodeURIComponent(time)}`}>
          <time datetime=${time}>${localText(time, zone)}</time>
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
