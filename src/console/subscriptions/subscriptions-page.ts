import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import type { SubscriptionsOptions } from './subscriptions-area.ts';

/** The page of subscriptions. Asking the cloud takes time, so the browser does it. */
export function subscriptionsPage({
  sources,
  missing,
}: Pick<SubscriptionsOptions, 'sources' | 'missing'>): Page {
  return {
    title: 'Subscriptions',
    modules: ['subscriptions.js'],
    content:
      sources.length === 0
        ? emptyState(missing)
        : html`
            <p>
              What the cloud sends to this program, compared with the settings. Subscriptions of other
              applications are never touched.
            </p>
            ${sources.map(
              ({ source }) => html`
                <section class="panel source" data-source=${source} aria-label=${`Source ${source}`}>
                  <h2>${source}</h2>
                  <p>Asking the cloud.</p>
                </section>
              `,
            )}
          `,
  };
}

const emptyState = (missing: SubscriptionsOptions['missing']): Content => html`
  <div class="empty">
    <p>This program does not keep its subscriptions in the cloud: not all that it needs is set.</p>
    <ul>
      ${missing.map(({ setting, purpose }) => html`<li><code>${setting}</code>: ${purpose}</li>`)}
    </ul>
    <p>docs/subscribing.md tells more; by hand, README.md has the address for each message type.</p>
  </div>
`;
