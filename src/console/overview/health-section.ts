import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';
import { badge } from '../html/badge.ts';
import type { Health } from './overview-schemas.ts';

const KINDS = { ok: 'good', degraded: 'warn', unavailable: 'bad' } as const;

/** How the service is in one sentence, and each reason with the page that mends it. */
export function healthSection({ status, sentence, reasons }: Health): Content {
  return html`
    <p class="health">${badge(KINDS[status], status)} ${sentence}</p>
    ${
      reasons.length > 0 &&
      html`<ul class="reasons">
        ${reasons.map(
          ({ what, why, page }) =>
            html`<li><a href=${page}>${what}</a>${why !== '' && html`<span> (${why})</span>`}</li>`,
        )}
      </ul>`
    }
  `;
}

/** What a person does first. */
export function firstDeliveryNote(line: string): Content {
  return html`
    <div class="empty">
      <h2>Nothing has arrived yet</h2>
      <p>Send a first delivery from a terminal, in the directory that the service was started in:</p>
      <pre>${line}</pre>
      <p>
        The webhook secret is in <code>data/webhook-secret</code> (in <code>DATA_DIR</code>) where the service
        made it, else in the setting <code>WEBHOOK_SECRET</code>.
      </p>
      <p>
        To have the cloud send, <a href="/subscriptions">look at the subscriptions</a>, or run${' '}
        <code>bin/xiq-sink subscribe plan</code> and then <code>bin/xiq-sink subscribe apply</code> with${' '}
        <code>PUBLIC_URL</code>, <code>CLOUD_API_URL</code> and <code>CLOUD_API_TOKEN</code> set.
      </p>
    </div>
  `;
}
