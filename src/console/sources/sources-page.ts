import type { Visitor } from '../access/access.ts';
import { CHANGE_SOURCES, hasAccess } from '../access/rule.ts';
import { fieldOf } from '../html/form.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { badge, timeOf } from '../html/elements.ts';
import { tableOf, type Column } from '../browser/table.js';
import { limitsOf, type SourceLine } from './source-schema.ts';

/** The sources, with the forms that change those of the database. */
export function sourcesPage(sources: readonly SourceLine[], visitor: Visitor): Page {
  const mayChange = hasAccess(visitor, CHANGE_SOURCES);
  return {
    title: 'Sources',
    modules: ['sources.js'],
    content: html`
      <p>
        Cloud accounts that send deliveries. All processes with this database accept a new source within a
        second. Sources of the settings are changed there.
      </p>
      ${
        sources.length === 0
          ? html`<p class="empty">No sources.</p>`
          : tableOf('Sources', mayChange ? [...COLUMNS, CHANGES] : COLUMNS, sources)
      }
      <div class="shown" role="status"></div>
      ${mayChange && ADD}
    `,
  };
}

const STATES = { 'in use': 'good', disabled: 'plain', conflict: 'bad' } as const;

const COLUMNS: readonly Column<SourceLine>[] = [
  { heading: 'Name', cell: ({ name }) => html`<code class="nowrap">${name}</code>` },
  { heading: 'State', cell: ({ state }) => badge(STATES[state], state) },
  { heading: 'Defined in', cell: ({ origin }) => origin },
  { heading: 'Secrets', cell: secretsOf },
  { heading: 'API', cell: ({ api_url: url }) => url ?? html`<span class="dim">none</span>` },
  {
    heading: 'Message types',
    kind: 'wrap',
    cell: ({ message_types: types }) => types?.join(', ') ?? html`<span class="dim">default</span>`,
  },
  { heading: 'Limits', cell: (source) => limitsOf(source) || html`<span class="dim">none</span>` },
];

function secretsOf({ secrets, old_secrets_until: until }: SourceLine): Content {
  if (secrets < 2) return String(secrets);
  return html`${secrets} ${until === null ? '' : html`<span class="dim">(old until ${timeOf(until)})</span>`}`;
}

const CHANGES: Column<SourceLine> = { heading: 'Change', cell: changesOf };

function changesOf({ name, origin, state, secrets }: SourceLine): Content {
  if (origin === 'settings' || state === 'disabled') return undefined;
  const path = `/sources/${name}`;
  return html`
    <div class="row">
      <form
        data-action=${`${path}/rotate`}
        data-secret=${name}
        data-confirm=${`Add a new secret to ${name}? The old one is accepted until you drop it.`}
      >
        <button class="quiet" aria-label=${`Rotate the secret of ${name}`}>Rotate</button>
      </form>
      ${
        secrets > 1 &&
        html`
          <form
            data-action=${`${path}/drop-old`}
            data-confirm=${`Drop the old secrets of ${name}? Deliveries with them are refused.`}
            data-done=${`The old secrets of ${name} are dropped.`}
          >
            <button class="quiet" aria-label=${`Drop the old secrets of ${name}`}>Drop old</button>
          </form>
        `
      }
      <form
        data-action=${`${path}/disable`}
        data-confirm=${`Disable ${name}? Its deliveries are refused; its events stay.`}
        data-done=${`${name} is disabled.`}
      >
        <button class="danger" aria-label=${`Disable ${name}`}>Disable</button>
      </form>
    </div>
  `;
}

const ADD = html`
  <section class="panel">
    <h2>Add a source</h2>
    <form class="filters" data-action="/sources" data-secret="">
      ${fieldOf({}, 'name', 'Name', 'customer-a')}
      ${fieldOf({}, 'api_url', 'API of its cloud (optional)', 'https://…')}
      ${fieldOf({}, 'api_token', 'API token (optional)', '')}
      ${fieldOf({}, 'deliveries_per_second', 'Deliveries/s (optional)', '')}
      ${fieldOf({}, 'bytes_per_second', 'Bytes/s (optional)', '')}
      <div class="row"><button>Add</button></div>
    </form>
    <p class="dim">Its webhook secret is generated and shown once.</p>
  </section>
`;
