import { z } from 'zod';
import type { Db } from '../../store/server/database.ts';
import { recordAction } from '../../store/access/operator-log.ts';
import { hasAccess } from '../access/access.ts';
import { jsonRoute } from '../api/route.ts';
import type { Area } from '../area.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { factsOf, type Fact } from '../browser/shared/facts.ts';

const names = z.array(z.string()).readonly();

const reloadedSchema = z.object({
  changed: names.describe('changed settings, sources and destinations that were applied'),
  needs_restart: names.describe('changed settings that take effect only after a restart'),
  errors: names.describe('changes that could not be applied'),
});

export type Reloaded = z.output<typeof reloadedSchema>;

interface SettingsOptions {
  readonly db: Db;
  readonly settings: () => Readonly<Record<string, unknown>>;
  /** What was added in the console, as YAML for the settings file; empty if nothing was. */
  readonly added: () => Promise<string>;
  /** Reads the settings again. Throws a SettingsError if one is wrong: nothing has changed then. */
  readonly reload: () => Promise<Reloaded>;
}

export function settingsArea({ db, settings, added, reload }: SettingsOptions): Area {
  return {
    tag: 'settings',
    routes: [
      jsonRoute({
        route: 'GET /settings',
        summary: 'get the settings of this process, without secrets',
        ...READ,
        answer: z.record(z.string(), z.unknown()),
        work: async () => settings(),
      }),
      jsonRoute({
        route: 'GET /settings/added',
        summary: 'get the destinations and alert rules in the database as YAML for the settings file',
        description: 'Secrets are replaced by references to environment variables.',
        ...READ,
        answer: z.object({ yaml: z.string() }),
        work: async () => ({ yaml: await added() }),
      }),
      jsonRoute({
        route: 'POST /reload',
        summary: 'reload the settings of this process',
        description:
          'The same as the signal SIGHUP. If a setting is invalid, the answer is 400 and nothing changes.',
        ...RELOAD,
        answer: reloadedSchema,
        work: (_asked, { operator }) =>
          recordAction(db, { operator, action: 'settings.reload' }, reload, (reloaded) => ({ ...reloaded })),
      }),
    ],
    pages: [
      {
        path: '/settings',
        entry: { label: 'Settings', group: 'Administer', icon: 'settings' },
        ...READ,
        render: async (_request, visitor): Promise<Page> => ({
          title: 'Settings',
          modules: ['pages/sources.ts'],
          content: html`
            <p>
              The settings of this process. To change sources, secrets, destinations, retention or the log
              level, edit <code>.env</code> or the file named by <code>XIQ_SINK_CONFIG</code>, and reload. All
              other settings need a restart.
            </p>
            ${
              hasAccess(visitor, RELOAD) &&
              html`
                <form class="row" data-action="/reload" data-reload>
                  <button class="quiet">Reload settings</button>
                </form>
                <div class="shown"></div>
              `
            }
            ${factsOf(
              Object.entries(settings()).map(([name, value]): Fact => [name, show(value)]),
              'panel',
            )}
            ${addedPanel(await added())}
          `,
        }),
      },
    ],
  };
}

const addedPanel = (yaml: string): Content =>
  yaml !== '' &&
  html`
    <h2>Added in the console</h2>
    <p>
      These destinations and alert rules as YAML for the file named by <code>XIQ_SINK_CONFIG</code>. To move
      them there, set the variables, delete them in the console, and reload.
    </p>
    <pre>${yaml}</pre>
  `;

const READ = { needs: 'settings.read', data: 'whole' } as const;
const RELOAD = { needs: 'settings.reload', data: 'whole' } as const;

function show(value: unknown): Content {
  if (value === undefined) return html`<span class="dim">not set</span>`;
  if (!Array.isArray(value)) return typeof value === 'string' ? value : JSON.stringify(value);
  if (value.length === 0) return html`<span class="dim">none</span>`;
  return value.map((one) => html`<div>${show(one)}</div>`);
}
