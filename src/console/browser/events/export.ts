// Export links are plain downloads. This module shows the progress, which the browser does not know, and a button to
// cancel. The links also work without it.

import { html } from 'htm/preact';
import { render } from 'preact';
import { useState } from 'preact/hooks';
import type { ExportProgress } from '../../events/describe-event.ts';
import { request } from '../shared/api.ts';
import { notify } from '../shared/page.ts';
import { countOf, formatCount } from '../shared/numbers.ts';

const INTERVAL_MS = 500;

/** Attempts until the export is known: the browser may first ask where to save the file. */
const PATIENCE = 240;

document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a[data-export]') : null;
  if (!(link instanceof HTMLAnchorElement)) return;
  const id = newId();
  const address = new URL(link.href);
  address.searchParams.set('export_id', id);
  link.href = address.href;
  void follow(id);
});

/** 32 hexadecimal digits: `crypto.randomUUID` is missing where the console is not served by HTTPS. */
const newId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  );

async function follow(id: string) {
  const place = document.querySelector('#export-progress');
  if (place === null) return;
  const show = (progress?: ExportProgress) => render(html`<${Panel} id=${id} progress=${progress} />`, place);
  show();
  let isKnown = false;
  for (let asked = 0; isKnown || asked < PATIENCE; asked += 1) {
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
    const progress = await request<ExportProgress>(`/exports/${id}`).catch(() => undefined);
    if (progress === undefined) continue;
    isKnown = true;
    show(progress);
    if (progress.state === 'running') continue;
    render(null, place);
    const what = amountOf(progress);
    if (progress.state === 'done') notify(`Exported ${what}.`);
    else notify(`The export failed after ${what}. The file is incomplete.`, 'bad');
    return;
  }
  render(null, place);
}

const sizeOf = (bytes: number) =>
  bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`;

const amountOf = ({ rows, bytes }: ExportProgress) => `${countOf(rows, 'event')}, ${sizeOf(bytes)}`;

function Panel({ id, progress }: { id: string; progress: ExportProgress | undefined }) {
  const [isCancelled, setCancelled] = useState(false);
  const expected = progress?.expected_rows ?? null;
  const whole = expected === null ? '' : ` of about ${formatCount(expected)}`;
  const cancel = () => {
    setCancelled(true);
    request(`/exports/${id}/cancel`, { method: 'POST', body: {} }).catch((error) =>
      notify(String(error), 'bad'),
    );
  };
  return html`
    <div class="note row">
      <p>
        ${
          progress === undefined
            ? 'Starting the export…'
            : `${formatCount(progress.rows)}${whole} events, ${sizeOf(progress.bytes)}`
        }
      </p>
      <button type="button" class="quiet" disabled=${isCancelled} onClick=${cancel}>Cancel export</button>
      <progress
        aria-label="Export"
        value=${progress === undefined || expected === null || expected === 0 ? undefined : Math.min(1, progress.rows / expected)}
      ></progress>
    </div>
  `;
}
