import type { VNode } from 'preact';
import { formatCount } from '../../lib/text/units.ts';
import { html } from './html.ts';

const BAR = 3;
const HEIGHT = 18;

/** A bar for each count of a period, the oldest first. */
export function sparkline(counts: readonly number[], period: string): VNode {
  const all = counts.reduce((sum, count) => sum + count, 0);
  const most = Math.max(1, ...counts);
  const bars = counts.map((count, index) => {
    // The smallest number is still to be seen.
    const height = count === 0 ? 1 : Math.max(3, Math.round((count / most) * HEIGHT));
    return barPath(index * BAR, HEIGHT - height, BAR - 1, height);
  });
  const label = `${formatCount(all)} events in ${period}`;
  return picture(counts.length * BAR, label, html`<path d=${bars.join('')} />`);
}

/** A bar as a part of the path of an SVG: a page has thousands. */
export const barPath = (x: number, y: number, width: number, height: number) =>
  `M${x} ${y}h${width}v${height}h-${width}z`;

/** A picture in a line of text. It may become narrower. */
export const picture = (width: number, label: string, content: VNode | readonly VNode[]): VNode => html`
  <svg
    class="sparkline"
    viewBox=${`0 0 ${width} ${HEIGHT}`}
    preserveAspectRatio="none"
    width=${width}
    height=${HEIGHT}
    role="img"
    aria-label=${label}
  >
    <title>${label}</title>
    ${content}
  </svg>
`;
