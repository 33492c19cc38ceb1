import { z } from 'zod';
import { jsonRoute, NOTHING } from '../api/route.ts';
import type { Area } from '../area.ts';
import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';
import { factsOf } from '../html/values.ts';
import type { Fact } from '../html/values.ts';

/** The settings of this process, without secrets. */
export function settingsArea(settings: Readonly<Record<string, unknown>>): Area {
  return {
    navigation: [{ path: '/settings', label: 'Settings' }],
    routes: [
      jsonRoute({
        method: 'get',
        data: 'whole',
        path: '/settings',
        tag: 'settings',
        summary: 'get the settings of this process, without secrets',
        needs: 'settings.read',
        asks: NOTHING,
        answer: z.record(z.string(), z.unknown()),
        work: async () => settings,
      }),
    ],
    pages: [
      {
        path: '/settings',
        needs: 'settings.read',
        data: 'whole',
        render: async () => ({
          title: 'Settings',
          content: html`
            <p>
              The settings of this process. To change one, edit the environment or the file that${' '}
              <code>XIQ_SINK_CONFIG</code> names, and restart.
            </p>
            ${factsOf(
              Object.entries(settings).map(([name, value]): Fact => [name, show(value)]),
              'panel',
            )}
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
