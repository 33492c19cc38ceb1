// Shows new events: <div id="live" data-stream="/api/v1/events/stream?...">.

import { html, render } from 'htm/preact';
import { localText } from '../shared/local-time.js';
import { tableOf } from '../shared/table.js';
import { zone } from '../shared/time-zone.js';

/** Rows of the list; the search has all events. */
const MAX_ROWS = 500;

/** If the server rejects a stream, the browser does not reconnect by itself. */
const RETRY_MS = 5_000;

/** How often screen readers announce the counters. */
const ANNOUNCE_MS = 10_000;

const place = document.querySelector('#live');
if (place instanceof HTMLElement) watch(place, place.dataset['stream'] ?? '');

/**
 * @param {HTMLElement} place
 * @param {string} address
 */
function watch(place, address) {
  /** @type {LiveEvent[]} newest first */
  let shown = [];
  /** @type {LiveEvent[]} received while paused, newest first */
  let waiting = [];
  let state = {
    seen: 0,
    waiting: 0,
    isPaused: false,
    /** @type {string | undefined} when listening began */
    since: undefined,
    pausedAt: '',
    connection: 'connecting',
    /** @type {string | undefined} */
    trouble: undefined,
    hasGap: false,
    announced: '',
  };
  let lastId = '';
  let isDrawing = false;

  /** @param {Partial<typeof state>} change */
  function set(change) {
    state = { ...state, ...change };
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(() => {
      isDrawing = false;
      render(html`<${Live} />`, place);
    });
  }

  /** @param {LiveEvent} event */
  function take(event) {
    if (state.isPaused) {
      waiting = [event, ...waiting].slice(0, MAX_ROWS);
      set({ seen: state.seen + 1, waiting: state.waiting + 1 });
    } else {
      shown = [event, ...shown].slice(0, MAX_ROWS);
      set({ seen: state.seen + 1 });
    }
  }

  function togglePause() {
    if (state.isPaused) {
      shown = [...waiting, ...shown].slice(0, MAX_ROWS);
      waiting = [];
    }
    set({ isPaused: !state.isPaused, pausedAt: new Date().toISOString(), waiting: 0 });
    announce();
  }

  function clear() {
    shown = [];
    set({});
  }

  function connect() {
    const url = new URL(address, location.href);
    if (lastId !== '') url.searchParams.set('after', lastId);
    const stream = new EventSource(url);
    /** @param {string} name @param {(data: any) => void} work */
    const on = (name, work) =>
      stream.addEventListener(name, (message) => {
        if (message.lastEventId !== '') lastId = message.lastEventId;
        work(JSON.parse(message.data));
      });
    on('listening', ({ since }) => {
      set({ connection: 'open', since: state.since ?? since, trouble: undefined });
      announce();
    });
    on('stored', take);
    on('gap', () => set({ hasGap: true }));
    on('trouble', ({ message }) => set({ trouble: message ?? undefined }));
    stream.addEventListener('error', () => {
      set({ connection: 'lost' });
      announce();
      if (stream.readyState === EventSource.CLOSED) setTimeout(connect, RETRY_MS);
    });
  }

  function describe() {
    const { connection, isPaused, pausedAt, seen, trouble } = state;
    const since = isPaused ? pausedAt : state.since;
    if (connection === 'connecting') return 'Connecting…';
    if (connection === 'lost') return 'Connection lost. Reconnecting; no events are skipped.';
    const listening = isPaused ? 'Paused' : 'Live';
    const counted = seen === 0 ? 'no events yet' : `${seen} ${seen === 1 ? 'event' : 'events'}`;
    const problem = trouble === undefined ? '' : ` The database does not answer: ${trouble}.`;
    return `${listening} since ${since === undefined ? 'now' : localText(since, zone).slice(11)}, ${counted}.${problem}`;
  }

  function announce() {
    set({ announced: describe() });
  }

  function Live() {
    const { isPaused, waiting, connection, hasGap, announced } = state;
    return html`
      <div class="row apart live-bar">
        <p class=${connection === 'lost' ? 'bad-text' : ''} data-state=${connection}>${describe()}</p>
        <div class="row">
          <button type="button" class="quiet" onClick=${togglePause} aria-pressed=${isPaused}>
            ${isPaused ? `Resume${waiting > 0 ? ` (${waiting} new)` : ''}` : 'Pause'}
          </button>
          <button type="button" class="quiet" onClick=${clear}>Clear</button>
        </div>
      </div>
      <p class="visually-hidden" role="status">${announced}</p>
      ${
        hasGap &&
        html`<p class="note warn">
          Too many events arrived while disconnected; some are missing here.${' '}
          <a href="/events">Search events</a> to see them.
        </p>`
      }
      ${
        shown.length > 0
          ? html`<${LiveList} events=${shown} />`
          : html`<p class="empty">
              ${isPaused ? 'No events in the list.' : 'Waiting for events.'} New events appear here within a
              second. <a href="/events">Search events</a> for older ones.
            </p>`
      }
    `;
  }

  set({});
  connect();
  setInterval(announce, ANNOUNCE_MS);
}

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
const LiveList = ({ events }) =>
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
