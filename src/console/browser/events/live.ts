import { html, render } from 'htm/preact';
import { localText } from '../shared/local-time.ts';
import { zone } from '../shared/time-zone.ts';
import { countOf, formatCount } from '../shared/numbers.ts';

// While Live is on, new events that match the search appear on top of its list, as the rows that the server draws.
// The list stands still while someone scrolls or has an event open.

/** Rows of the list; the search has all events. */
const MAX_ROWS = 500;

/** Rows that are added at once: more would pass unread. */
const MAX_NEW = 50;

const DRAW_MS = 250;

/** If the server rejects a stream, the browser does not reconnect by itself. */
const RETRY_MS = 5_000;

/** How often screen readers announce the counters. */
const ANNOUNCE_MS = 10_000;

/** What the stream of events sends, by the name of the message. */
interface Messages {
  readonly listening: { readonly since: string };
  readonly stored: { readonly event_id: string; readonly row?: string };
  readonly gap: unknown;
  readonly trouble: { readonly message: string | null };
}

const place = document.querySelector('[data-stream]');
const list = document.querySelector('table.events tbody');
if (place instanceof HTMLElement && list instanceof HTMLTableSectionElement) follow(place, list);

function follow(place: HTMLElement, list: HTMLTableSectionElement) {
  /** Events that the page had already when the stream began. */
  const listed = [...list.querySelectorAll('.time a')].map((link) => link.getAttribute('href'));
  /** Rows to add, newest last. */
  let waiting: string[] = [];
  let seen = 0;
  let skipped = 0;
  let arrivedPaused = 0;
  let pausedAt: string | undefined;
  /** When listening began. */
  let since: string | undefined;
  let connection = 'connecting';
  let trouble: string | undefined;
  let hasGap = false;
  let announced = '';
  let lastId = '';
  let drawing: ReturnType<typeof setTimeout> | undefined;

  function draw() {
    clearTimeout(drawing);
    drawing = undefined;
    if (pausedAt === undefined) addRows();
    render(html`<${Bar} />`, place);
  }

  function addRows() {
    const rows = new DOMParser().parseFromString(
      `<table>${waiting.toReversed().join('')}</table>`,
      'text/html',
    );
    list.prepend(...rows.querySelectorAll('tr'));
    while (list.rows.length > MAX_ROWS) list.deleteRow(-1);
    nameDays();
    waiting = [];
  }

  function nameDays() {
    const first = document.querySelector('.first-day');
    if (first !== null) first.textContent = list.rows[0]?.dataset['day'] ?? first.textContent;
    for (const row of list.querySelectorAll('tr:not(.day)')) {
      const above = row.previousElementSibling;
      const day = row instanceof HTMLElement ? row.dataset['day'] : undefined;
      if (!(above instanceof HTMLElement) || above.dataset['day'] === day) continue;
      const separator = document.createElement('tr');
      separator.className = 'day';
      separator.dataset['day'] = day;
      render(html`<th colspan="20" scope="rowgroup">${day}</th>`, separator);
      row.before(separator);
    }
  }

  function take({ event_id: id, row }: Messages['stored']) {
    if (listed.some((href) => href?.includes(id))) return;
    seen += 1;
    if (pausedAt !== undefined) arrivedPaused += 1;
    if (row === undefined) skipped += 1;
    else waiting.push(row);
    if (waiting.length > (pausedAt === undefined ? MAX_NEW : MAX_ROWS)) {
      waiting.shift();
      skipped += 1;
    }
  }

  function pause() {
    if (pausedAt !== undefined) return;
    // What arrived before is shown.
    draw();
    pausedAt = new Date().toISOString();
    arrivedPaused = 0;
    announce();
  }

  function resume() {
    pausedAt = undefined;
    scrollTo({ top: 0 });
    announce();
  }

  function connect() {
    const url = new URL(place.dataset['stream'] ?? '', location.href);
    if (lastId !== '') url.searchParams.set('after', lastId);
    const stream = new EventSource(url);
    const on = <Name extends keyof Messages>(name: Name, work: (data: Messages[Name]) => unknown) =>
      stream.addEventListener(name, (message) => {
        if (message.lastEventId !== '') lastId = message.lastEventId;
        work(JSON.parse(message.data));
        drawing ??= setTimeout(draw, DRAW_MS);
      });
    on('listening', (listening) => {
      connection = 'open';
      since ??= listening.since;
      trouble = undefined;
      announce();
    });
    on('stored', take);
    on('gap', () => (hasGap = true));
    on('trouble', ({ message }) => (trouble = message ?? undefined));
    stream.addEventListener('error', () => {
      connection = 'lost';
      announce();
      if (stream.readyState === EventSource.CLOSED) setTimeout(connect, RETRY_MS);
    });
  }

  function describe() {
    if (connection === 'connecting') return 'Connecting…';
    if (connection === 'lost') return 'Connection lost. Reconnecting; no events are skipped.';
    const listening = pausedAt === undefined ? 'Live' : 'Paused';
    const at = localText(pausedAt ?? since ?? Date.now(), zone).slice(11);
    const counted = seen === 0 ? 'no events yet' : countOf(seen, 'event');
    const left = skipped === 0 ? '' : `, ${formatCount(skipped)} of them not in the list`;
    const problem = trouble === undefined ? '' : ` The database is not responding: ${trouble}.`;
    return `${listening} since ${at}, ${counted}${left}.${problem}`;
  }

  function announce() {
    announced = describe();
    draw();
  }

  function Bar() {
    const isPaused = pausedAt !== undefined;
    return html`
      <div class="row apart">
        <p data-state=${connection}>${describe()}</p>
        <button type="button" class="quiet" onClick=${isPaused ? resume : pause}>
          ${isPaused ? `Resume${arrivedPaused > 0 ? ` (${formatCount(arrivedPaused)} new)` : ''}` : 'Pause'}
        </button>
      </div>
      <p class="visually-hidden" role="status">${announced}</p>
      ${
        hasGap &&
        html`<p class="problem">
          Too many events arrived while this page was disconnected; some are missing here. Turn Live off to
          see them.
        </p>`
      }
    `;
  }

  list.addEventListener('click', pause);
  addEventListener('scroll', () => scrollY > 0 && pause());
  place.replaceChildren();
  draw();
  if (location.hash !== '') pause();
  connect();
  setInterval(announce, ANNOUNCE_MS);
}
