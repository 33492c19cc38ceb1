import { QUESTIONS, type Question } from '../../service-status.ts';
import { html, type Content } from '../html/html.ts';
import { badge, sinceOf, withTimes } from '../html/elements.ts';
import type { Overview, StatusLine } from './overview-schemas.ts';

const TITLES: Readonly<Record<Question, string>> = {
  arriving: 'Arriving',
  stored: 'Stored',
  forwarded: 'Forwarded',
  proven: 'Proven',
};

/** The answer to each of the four questions: its status in a word and a sentence, with the page behind it. */
export function answersPanel({ at, answers }: Overview): Content {
  return QUESTIONS.map((question) => {
    const { status, needs } = answers[question];
    return html`
      <section class="panel answer">
        <div class="row apart">
          <h2><a href=${status.page}>${TITLES[question]}</a></h2>
          ${badge(status.level, status.word)}
        </div>
        <p>${withTimes(status.what)}</p>
        ${statusFacts(at, status)}
        ${needs.length > 1 && html`<p class="dim"><a href="#needs">${needs.length - 1} more</a></p>`}
      </section>
    `;
  });
}

const statusFacts = (at: string, { since, remedy, page }: StatusLine): Content => [
  since !== null && html`<p class="dim">Since ${sinceOf(at, since)}</p>`,
  remedy !== null && html`<p><a href=${page}>${remedy}</a></p>`,
];

/** Everything that needs attention, the worst of each question first. */
export function needsPanel({ at, answers }: Overview): Content {
  const needs = QUESTIONS.flatMap((question) => answers[question].needs);
  return html`
    <h2>Needs attention</h2>
    ${
      needs.length === 0
        ? html`<p class="dim">Nothing needs attention.</p>`
        : html`<ul class="plain needs">
            ${needs.map(
              (need) => html`
                <li>
                  ${badge(need.level, need.word)}
                  <span>${withTimes(need.what)}${need.since !== null && sinceNote(at, need.since)}</span>
                  <a href=${need.page}>${need.remedy ?? 'Open'}</a>
                </li>
              `,
            )}
          </ul>`
    }
  `;
}

const sinceNote = (at: string, since: string) =>
  html` <span class="dim">(since ${sinceOf(at, since)})</span>`;
