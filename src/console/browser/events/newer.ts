import { html } from 'htm/preact';
import { render } from 'preact';
import type { Histogram } from '../../events/describe-event.ts';
import { request } from '../shared/api.ts';
import { formatCount } from '../shared/numbers.ts';

// Tells how many events are newer than those of the list, which stays until the reader asks for them.

const INTERVAL_MS = 10_000;

const place = document.querySelector('[data-newer]');
if (place instanceof HTMLElement) setInterval(() => void look(place), INTERVAL_MS);

async function look(place: HTMLElement) {
  if (document.hidden) return;
  // A look that fails is no news: the next one may do.
  const histogram = await request<Histogram>(place.dataset['newer'] ?? '').catch(() => undefined);
  const counts = histogram?.bars.flatMap((bar) => Object.values(bar.counts)) ?? [];
  const count = counts.reduce((all, one) => all + one, 0);
  if (histogram === undefined || count === 0) return;
  const about = histogram.is_complete ? '' : 'about ';
  render(
    html`<button class="quiet" type="button" onClick=${showThem}>${about}${formatCount(count)} new</button>`,
    place,
  );
}

function showThem() {
  // Of an open event, too: it may no longer be on the first page.
  history.replaceState(null, '', location.pathname + location.search);
  location.reload();
}
