import type { VNode } from 'preact';
import { DAY_MS } from '../../lib/clock.ts';
import { countOf } from '../../lib/text/units.ts';
import type { ComparedDay } from '../../store/reconcile/coverage.ts';
import type { CoverageState } from '../../store/server/schema/cloud-tables.ts';
import { COVERAGE_WORDS } from '../coverage/coverage-words.ts';
import { html } from '../html/html.ts';
import { barPath, picture } from '../html/sparkline.ts';

const DAYS = 30;
const CELL = 6;

interface Look {
  /** Undefined: nothing of the day was compared. */
  readonly state: CoverageState | undefined;
  readonly word: string;
  readonly kind: 'good' | 'warn' | 'bad' | 'dim';
  readonly top: number;
  readonly height: number;
}

/** The worst state first. No two differ by their colour alone. */
const LOOKS: readonly Look[] = [
  { state: 'unrecoverable', word: COVERAGE_WORDS.unrecoverable, kind: 'bad', top: 0, height: 18 },
  { state: 'not comparable', word: COVERAGE_WORDS['not comparable'], kind: 'warn', top: 6, height: 6 },
  { state: 'pending', word: COVERAGE_WORDS.pending, kind: 'dim', top: 12, height: 3 },
  { state: 'healed', word: COVERAGE_WORDS.healed, kind: 'good', top: 3, height: 12 },
  { state: 'whole', word: COVERAGE_WORDS.whole, kind: 'good', top: 7, height: 4 },
  { state: undefined, word: 'not compared', kind: 'dim', top: 17, height: 1 },
];

const startOf = (index: number) => (Math.floor(Date.now() / DAY_MS) - DAYS + 1 + index) * DAY_MS;

/** The first of the days that have a cell, in UTC. */
export const firstCell = () => new Date(startOf(0));

/** A cell for each of the last days, by the worst that the comparison with the cloud found. */
export function coverageCells(days: readonly ComparedDay[]): VNode {
  const byStart = new Map(days.map(({ day, states }) => [Date.parse(day), states]));
  const looks = Array.from({ length: DAYS }, (_, index) => {
    const states = byStart.get(startOf(index));
    return LOOKS.find(({ state }) => state === undefined || states?.includes(state));
  });
  const shown = LOOKS.filter((look) => looks.includes(look));
  const words = shown.map(
    (look) => `${countOf(looks.filter((one) => one === look).length, 'day')} ${look.word}`,
  );
  const paths = shown.map((look) => {
    const bars = looks.map((one, index) => (one === look ? barOf(look, index) : ''));
    return html`<path class=${look.kind} d=${bars.join('')} />`;
  });
  return picture(DAYS * CELL, words.join(', '), paths);
}

const barOf = ({ top, height }: Look, index: number) => barPath(index * CELL, top, CELL - 1, height);

export const coverageLegend = html`
  <p class="row dim legend">
    Coverage per day:
    ${LOOKS.map(
      (look) => html`
        <span class="row">
          <svg class="sparkline" width=${CELL} height="18" aria-hidden="true">
            <path class=${look.kind} d=${barOf(look, 0)} />
          </svg>
          ${look.word}
        </span>
      `,
    )}
  </p>
`;

export const hasLost = (days: readonly ComparedDay[]) =>
  days.some(({ states }) => states.includes('unrecoverable'));
