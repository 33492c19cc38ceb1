import { MESSAGE_TYPES } from '../../domain.ts';
import type { ClientSummary, SeenWith, UserSummary } from '../../store/timeline.ts';
import { addressOf } from '../addresses.ts';
import type { Query } from '../addresses.ts';
import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';
import { numberOf } from '../html/number.ts';
import { timeOf } from '../html/time.ts';

/** When somebody was first and last seen in a range, and how often in which type of event; each type filters. */
export function seenPanel(
  { firstSeen, lastSeen, countsByType, isComplete }: UserSummary | ClientSummary,
  path: string,
  query: Query,
): Content {
  return html`
    <section class="panel">
      <h2>Seen in this range</h2>
      ${
        firstSeen === undefined || lastSeen === undefined
          ? html`<p class="dim">Never.</p>`
          : html`<p>First ${timeOf(firstSeen)}<br />Last ${timeOf(lastSeen)}</p>`
      }
      <dl class="facts">
        ${MESSAGE_TYPES.map((type) => {
          const count = countsByType[type];
          return (
            count !== undefined &&
            html`
              <dt><a href=${addressOf(path, { ...query, type, cursor: undefined })}>${type}</a></dt>
              <dd>${numberOf(count)}</dd>
            `
          );
        })}
      </dl>
      ${
        !isComplete &&
        html`<p class="note warn">A part took too long to count and is missing. A shorter range helps.</p>`
      }
    </section>
  `;
}

/** What was seen with a user or a client, with how often and when last. */
export function seenWithPanel(
  title: string,
  seen: readonly SeenWith[],
  nameOf: (name: string) => Content,
): Content {
  return html`
    <section class="panel">
      <h2>${title}</h2>
      ${
        seen.length === 0
          ? html`<p class="dim">None in this range.</p>`
          : html`<ul class="seen" tabindex="0" aria-label=${title}>
              ${seen.map(
                ({ name, count, lastSeen }) => html`
                  <li>
                    <span>${nameOf(name)}</span>
                    <span class="dim">${numberOf(count)}, last ${timeOf(lastSeen)}</span>
                  </li>
                `,
              )}
            </ul>`
      }
    </section>
  `;
}
