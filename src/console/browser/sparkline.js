// Numbers of days as small bars. The server renders them too, so this module must not access the page.

import { html } from 'htm/preact';

const BAR = 3;
const HEIGHT = 18;

/**
 * One bar for each number, the oldest first.
 *
 * @param {{ days: readonly number[], label: string }} props `label` says what is counted, for screen readers and on hovering
 */
export function Sparkline({ days, label }) {
  const most = Math.max(1, ...days);
  return html`
    <svg
      class="sparkline"
      viewBox=${`0 0 ${days.length * BAR} ${HEIGHT}`}
      width=${days.length * BAR}
      height=${HEIGHT}
      role="img"
      aria-label=${label}
    >
      <title>${label}</title>
      ${days.map((count, index) => {
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
