import { z } from 'zod';
import { jsonRoute, NOTHING } from '../api/route.ts';
import type { Area } from '../area.ts';
import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';

/** The settings as they run, with nothing in them that is secret. */
export function settingsArea(settings: Readonly<Record<string, unknown>>): Area {
  return {
    navigation: [{ path: '/settings', label: 'Settings' }],
    routes: [
      jsonRoute({
        method: 'get',
        path: '/settings',
        tag: 'settings',
        summary: 'the settings as they run, secrets left out',
        asks: NOTHING,
        answer: z.record(z.string(), z.unknown()),
        work: async () => settings,
      }),
    ],
    pages: [
      {
        path: '/settings',
        render: async () => ({
          title: 'Settings',
          content: html`
            <p>
              As this process runs. A change is made in its environment or in the file that
              <code> XIQ_SINK_CONFIG</code> names, and holds from its next start.
            </p>
            <dl class="facts panel">
              ${Object.entries(settings).map(
                ([name, value]) => html`
                  <dt>${name}</dt>
                  <dd>${show(value)}</dd>
                `,
              )}
            </dl>
          `,
        }),
      },
    ],
  };
}

function show(value: unknown): Content {
  if (value === undefined) return html`<span class="dim">not set</span>`;
  if (!Array.isArray(value)) return typeof value === 'string' ? value : JSON.stringify(value);
  if (value.length === 0) return html`<span class="dim">none</span>`;
  return value.map((one) => html`<div>${show(one)}</div>`);
}
