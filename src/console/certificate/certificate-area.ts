import { z } from 'zod';
import { readCertificate } from '../../store/seal/certificate.ts';
import type { Db } from '../../store/server/database.ts';
import { VIEW } from '../access/access.ts';
import { month } from '../api/parameters.ts';
import { parseInput } from '../api/route.ts';
import type { Area } from '../area.ts';
import { html } from '../html/html.ts';
import { certificateContent } from './certificate-page.ts';

const input = z.object({ query: z.object({ month, source: z.string().optional() }) });

export function certificateArea({ db }: { readonly db: Db }): Area {
  return {
    tag: 'certificate',
    routes: [],
    pages: [
      {
        path: '/certificate',
        entry: {
          label: 'Certificate',
          group: 'Administer',
          icon: 'M3 2h10v9H3zM5 5h6M5 8h4M6 11v4l2-1 2 1v-4',
        },
        ...VIEW,
        async render(request, { scope }) {
          const { month, source } = parseInput(input, request).query;
          const certificate = await readCertificate(db, scope, { ...month, source });
          return {
            title: `Certificate ${month.month}`,
            content: html`
              <form class="row" action="/certificate" aria-label="Month">
                <label>Month <input type="month" name="month" value=${month.month} required /></label>
                <label>Source <input name="source" value=${source} /></label>
                <button>Show</button>
              </form>
              ${certificateContent(certificate)}
            `,
          };
        },
      },
    ],
  };
}
