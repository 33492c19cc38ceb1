import type { VNode } from 'preact';
import { sentenceOfEvent, titleOfEvent } from '../../event-words.ts';
import { viewEvent, type StoredEvent } from '../../store/stored-event.ts';
import { addressOf, eventAddress, searchAddress } from '../addresses.ts';
import { type Written } from '../api/query.ts';
import { html } from '../html/html.ts';
import { timeOf, timeHeading } from '../html/time-zone.ts';
import { searchWith } from './search-line.ts';

/** Events in lines of one height, each with a link to its page; on a phone as cards of two lines. */
export function eventList(events: readonly StoredEvent[], written: Written): VNode {
  const isOldest = written['order'] === 'oldest';
  const turned = { ...written, order: isOldest ? undefined : 'oldest', cursor: undefined };
  return html`
    <table class="events">
      <caption class="visually-hidden">
        Events, ${isOldest ? 'oldest' : 'newest'} first
      </caption>
      <thead>
        <tr>
          <th scope="col" class="time" aria-sort=${isOldest ? 'ascending' : 'descending'}>
            <a
              href=${addressOf('/events', turned)}
              title=${isOldest ? 'Show newest first' : 'Show oldest first'}
              >${timeHeading('Time')} <span aria-hidden="true">${isOldest ? '↑' : '↓'}</span></a
            >
          </th>
          <th scope="col" class="title">What happened</th>
          <th scope="col" class="person">Who</th>
          <th scope="col" class="details">Details</th>
          <th scope="col" class="source">Source</th>
        </tr>
      </thead>
      <tbody>
        ${events.map((event) => lineOf(event, written))}
      </tbody>
    </table>
  `;
}

/** Longer sentences are shown in full on the page of the event. */
const LONGEST = 300;

function lineOf(event: StoredEvent, written: Written): VNode {
  const { user, clientMac, code } = viewEvent(event);
  const person = user ?? clientMac;
  const only = user === null ? 'client' : 'user';
  const sentence = sentenceOfEvent(event).slice(0, LONGEST);
  return html`
    <tr>
      <td class="time"><a href=${eventAddress(event)}>${timeOf(event.occurredAt)}</a></td>
      <td class="title" title=${event.messageType}>
        <span class=${`swatch ${event.family}`}></span>${titleOfEvent(event)}
        ${code !== null && html`<span class="dim">${code}</span>`}
      </td>
      <td class="person" title=${person}>
        ${
          person === null
            ? html`<span class="dim">–</span>`
            : html`<a href=${searchAddress(searchWith(written, only, person))}>${person}</a>`
        }
      </td>
      <td class="details" title=${sentence}>${sentence}</td>
      <td class="source">${event.source}</td>
    </tr>
  `;
}
