import { z } from 'zod';
import { readCertificate } from '../../store/certificate.ts';
import type { Db } from '../../store/database.ts';
import { VIEW } from '../access/rule.ts';
import { month } from '../api/moment.ts';
import { readAsked } from '../api/route.ts';
import type { Area } from '../area.ts';
import { html } from '../html/html.ts';
import { certificateContent } from './certificate-page.ts';

const asked = z.object({ query: z.object({ month, source: z.string().optional() }) });

/** What is proven of a month, as a page to print. */
export function certificateArea({ db }: { readonly db: Db }): Area {
  return {
    tag: 'certificate',
    navigation: [
      {
        path: '/certificate',
        label: 'Certificate',
        group: 'Administer',
        icon: 'M3 2h10v9H3zM5 5h6M5 8h4M6 11v4l2-1 2 1v-4',
      },
    ],
    routes: [],
    pages: [
      {
        path: '/certificate',
        ...VIEW,
        async render(request, { scope }) {
          const { month, source } = readAsked(asked, request).query;
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
