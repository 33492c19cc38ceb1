import type { Content } from '../html/html.ts';
import { fieldOf } from '../html/field.ts';
import { html } from '../html/html.ts';
import { addressOf } from '../addresses.ts';
import { textOf } from './asked-query.ts';
import type { Problems, Written } from './asked-query.ts';

/** The two fields of a time range. */
export function rangeFields(written: Written, problems: Problems): Content {
  return [
    fieldOf({
      name: 'since',
      label: 'From (UTC)',
      value: textOf(written, 'since'),
      placeholder: '24h, 2026-01-31 08:00',
      problem: problems.get('since'),
    }),
    fieldOf({
      name: 'until',
      label: 'To (UTC)',
      value: textOf(written, 'until'),
      placeholder: 'now',
      problem: problems.get('until'),
    }),
  ];
}

const RANGES = [
  ['1h', 'last hour'],
  ['24h', 'day'],
  ['7d', '7 days'],
  ['30d', '30 days'],
] as const;

/** Links to the same page with a range that ends now and stays relative in the address. */
export function rangeLinks(path: string, written: Written): Content {
  const { since, until, cursor: _cursor, ...others } = written;
  return html`
    <ul class="ranges" aria-label="Time range">
      ${RANGES.map(
        ([range, label]) => html`
          <li>
            <a
              href=${addressOf(path, { since: range, ...others })}
              aria-current=${since === range && until === undefined ? 'true' : undefined}
              >${label}</a
            >
          </li>
        `,
      )}
    </ul>
  `;
}
