import type { VNode } from 'preact';
import { formatCount } from '../../lib/text/units.ts';
import { html } from './html.ts';

const BAR = 3;
const HEIGHT = 18;

/** A bar for each count of a period, the oldest first. */
export function sparkline(counts: readonly number[], period: string): VNode {
  const all = counts.reduce((sum, count) => sum + count, 0);
  const label = `${formatCount(all)} events in ${period}`;
  const most = Math.max(1, ...counts);
  const width = counts.length * BAR;
  return html`
    <svg
      class="sparkline"
      viewBox=${`0 0 ${width} ${HEIGHT}`}
      width=${width}
      height=${HEIGHT}
      role="img"
      aria-label=${label}
    >
      <title>${label}</title>
      ${counts.map((count, index) => {
        // The smallest number is still to be seen.
        const height = count === 0 ? 1 : Math.max(3, Math.round((count / most) * HEIGHT));
        return html`<rect
          class=${count === 0 ? 'none' : undefined}
          x=${index * BAR}
          y=${HEIGHT - height}
          width=${BAR - 1}
          height=${height}
        />`;
      })}
    </svg>
  `;
}
