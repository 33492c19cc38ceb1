import { html } from 'htm/preact';
import { render } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import type { Family } from '../../../events/domain.ts';
import { countFamilies, FAMILIES } from './families.ts';
import { localText } from '../shared/local-time.ts';
import { zone } from '../shared/time-zone.ts';
import { countOf, formatCount } from '../shared/numbers.ts';

// The chart of the console: events over time, stacked by family. The pointer shows a bar in numbers, a drag chooses a
// range, and a double click leads back. With the focus, arrows go from bar to bar, with Shift they choose a range, Enter
// opens it, and Backspace leads back.

export interface Bar {
  readonly start: string;
  /** By message type. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Numbers of the first bar, and of the first bar after it. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

type Counts = ReturnType<typeof countFamilies>;

/** A pointer that moves less than this, in pixels, chooses nothing. */
const CLICK_PX = 5;

/** A chart that is not higher has no numbers at its side: two would fit. */
const LOW_PX = 100;

const STEPS = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat();

const axisNumbers = new Intl.NumberFormat('en', { notation: 'compact' });

const clock = (seconds: number) => localText(seconds * 1000, zone);

interface ChartProps {
  readonly label: string;
  readonly bars: readonly Bar[];
  /** The events of the period before, drawn as an outline. */
  readonly before: readonly number[] | undefined;
  /** The width of a bar. */
  readonly seconds: number;
  /** In pixels. */
  readonly height: number;
  readonly isEstimate: boolean;
  /** Called at the end of a drag. */
  readonly onChoose: (range: Range) => void;
  readonly onBack: () => void;
}

export function Chart({ label, bars, before, seconds, height, isEstimate, onChoose, onBack }: ChartProps) {
  const [tip, setTip] = useState<{ x: number; share: number; text: string } | undefined>(undefined);
  const whole = useRef<HTMLElement | null>(null);
  const place = useRef<HTMLElement | null>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const began = useRef<number | undefined>(undefined);
  const keyed = useRef({ first: bars.length, at: bars.length });
  const counted = useMemo(() => bars.map(({ counts }) => countFamilies(counts)), [bars]);
  const starts = bars.map(({ start }) => Date.parse(start) / 1000);
  const about = isEstimate ? 'about ' : '';

  useEffect(() => {
    const legend = document.querySelector('[data-legend]');
    if (legend === null || place.current === null || bars.length === 0) return undefined;
    render(html`<${Legend} counted=${counted} before=${before} about=${about} />`, legend);
    const drawn = draw(legend, place.current, { starts, seconds, height, counted, before });
    plot.current = drawn.plot;
    return () => drawn.stop();
  }, [bars]);

  const at = ({ clientX }: PointerEvent) => {
    const { left = 0, width = 1 } = plot.current?.over.getBoundingClientRect() ?? {};
    return { x: clientX - left, share: Math.max(0, Math.min(1, (clientX - left) / width)) };
  };
  const barAt = (share: number) => Math.min(bars.length - 1, Math.floor(share * bars.length));
  const choose = (event: PointerEvent, isOver: boolean) => {
    if (began.current === undefined) return;
    const start = began.current;
    const { x, share } = at(event);
    const width = plot.current?.over.clientWidth ?? 1;
    const [from = 0, to = 0] = [barAt(start), barAt(share)].toSorted((a, b) => a - b);
    const range = { from, to: to + 1 };
    mark(plot.current, starts, seconds, range);
    if (!isOver) return;
    began.current = undefined;
    if (Math.abs(x - start * width) >= CLICK_PX) onChoose(range);
  };
  /** `share` is where the bar is told. */
  const tell = (index: number, share: number) => {
    const start = starts[index] ?? 0;
    const told = FAMILIES.filter(([family]) => (counted[index]?.[family] ?? 0) > 0)
      .map(([family, title]) => `${title} ${about}${formatCount(counted[index]?.[family] ?? 0)}`)
      .join(', ');
    const left =
      (plot.current?.over.getBoundingClientRect().left ?? 0) -
      (whole.current?.getBoundingClientRect().left ?? 0);
    setTip({
      x: left + share * (plot.current?.over.clientWidth ?? 0),
      share,
      text: `${clock(start)} – ${clock(start + seconds)} ${zone}: ${told === '' ? 'no events' : told}${before === undefined ? '' : `; before: ${formatCount(before[index] ?? 0)}`}`,
    });
  };
  const show = (event: PointerEvent) => {
    const { x, share } = at(event);
    // uPlot loses the pointer while a drag holds it.
    plot.current?.setCursor({ left: x, top: 0 });
    tell(barAt(share), share);
    choose(event, false);
  };
  const onKey = (event: KeyboardEvent) => {
    const { first, at: last } = keyed.current;
    const step = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0;
    if (step !== 0) {
      const next = Math.max(0, Math.min(bars.length - 1, last + step));
      keyed.current = { first: event.shiftKey ? Math.min(first, bars.length - 1) : next, at: next };
      tell(next, (next + 0.5) / bars.length);
    } else if (event.key === 'Backspace') onBack();
    else if (event.key !== 'Enter' || last === bars.length) return;
    event.preventDefault();
    const range = {
      from: Math.min(keyed.current.first, keyed.current.at),
      to: Math.max(keyed.current.first, keyed.current.at) + 1,
    };
    mark(plot.current, starts, seconds, range);
    if (event.key === 'Enter') onChoose(range);
  };
  return html`
    <div class="chart" ref=${whole}>
      <div
        class="plot"
        role="group"
        tabindex="0"
        aria-label=${`${label}. Arrows move between bars, Shift and arrows choose a range, Enter opens it.`}
        ref=${place}
        onKeyDown=${onKey}
        onBlur=${() => setTip(undefined)}
        onPointerDown=${(event: PointerEvent) => {
          if (event.button !== 0) return;
          began.current = at(event).share;
          place.current?.setPointerCapture(event.pointerId);
          choose(event, false);
        }}
        onPointerMove=${show}
        onPointerUp=${(event: PointerEvent) => choose(event, true)}
        onPointerCancel=${() => (began.current = undefined)}
        onPointerLeave=${() => setTip(undefined)}
        onDblClick=${onBack}
      ></div>
      ${
        tip !== undefined &&
        html`<div
          class="tip"
          role="status"
          style=${{ left: `${tip.x}px`, transform: `translateX(-${tip.share * 100}%)` }}
        >
          ${tip.text}
        </div>`
      }
    </div>
  `;
}

type LegendProps = Pick<Drawing, 'counted' | 'before'> & { readonly about: string };

/** The number of events, and those of each family. */
function Legend({ counted, before, about }: LegendProps) {
  const sumOf = (family: Family) => counted.reduce((sum, counts) => sum + counts[family], 0);
  const sum = FAMILIES.reduce((all, [family]) => all + sumOf(family), 0);
  return html`
    <div class="legend" role="group" tabindex="0" aria-label="Events by family">
      <span class="dim">${about}${countOf(sum, 'event')}</span>
      ${before && html`<span class="dim">before: ${formatCount(before.reduce((all, count) => all + count, 0))} (outline)</span>`}
      ${about !== '' && html`<span class="badge warn">estimate from a sample</span>`}
      ${FAMILIES.map(
        ([family, title]) => html`
          <span key=${family} hidden=${sumOf(family) === 0}>
            <span class=${`swatch ${family}`}></span> ${title}${' '}
            <span class="value">${formatCount(sumOf(family))}</span>
          </span>
        `,
      )}
    </div>
  `;
}

/** Marks a range with a band. */
function mark(plot: uPlot | undefined, [first = 0]: readonly number[], seconds: number, range: Range) {
  if (plot === undefined) return;
  const left = plot.valToPos(first + range.from * seconds, 'x');
  const right = plot.valToPos(first + range.to * seconds, 'x');
  plot.setSelect({ left, width: right - left, top: 0, height: plot.over.clientHeight }, false);
}

interface Drawing {
  /** Of the bars, in epoch seconds. */
  readonly starts: number[];
  readonly seconds: number;
  readonly height: number;
  readonly counted: readonly Counts[];
  readonly before: readonly number[] | undefined;
}

/** Draws the bars. `stop` removes them. `legend` has the swatches, whose colours depend on the theme. */
function draw(legend: Element, place: HTMLElement, { starts, seconds, height, counted, before }: Drawing) {
  let below = counted.map(() => 0);
  const stacked = FAMILIES.map(([family]) => {
    below = counted.map((counts, index) => counts[family] + (below[index] ?? 0));
    return below;
  });
  const path = uPlot.paths.bars?.({ size: [0.9, 60], align: 1 });
  const series = (family: string) => ({
    fill: () => styleOf(legend.querySelector(`.swatch.${family}`)).backgroundColor,
    width: 0,
    points: { show: false },
    ...(path !== undefined && { paths: path }),
  });
  const text = () => styleOf(place).color;
  const step = uPlot.paths.stepped?.({ align: 1 });
  const outline = {
    stroke: text,
    width: 1,
    points: { show: false },
    ...(step !== undefined && { paths: step }),
  };
  const line = { stroke: () => styleOf(place).borderTopColor, width: 1 };
  const axis = { stroke: text, grid: line, ticks: line };
  const plot = new uPlot(
    {
      width: Math.max(place.clientWidth, 200),
      height,
      // Ticks are at whole hours and days of the reader's time zone.
      tzDate: (time) => uPlot.tzDate(new Date(time * 1000), zone),
      scales: {
        x: { range: [starts[0] ?? 0, (starts.at(-1) ?? 0) + seconds] },
        y: { range: (_plot, _min, max) => [0, Math.max(max * 1.1, 1)] },
      },
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false, setScale: false } },
      // The tallest first: the others are drawn over it.
      series: [{}, ...FAMILIES.map(([family]) => series(family)).toReversed(), ...(before ? [outline] : [])],
      axes: [
        // A date is 70 pixels wide.
        { ...axis, size: 24, space: 80, values: timeLabels },
        {
          ...axis,
          show: height > LOW_PX,
          size: 60,
          space: 20,
          incrs: STEPS,
          values: (_plot, splits) => splits.map((value) => axisNumbers.format(value)),
        },
      ],
    },
    [starts, ...stacked.toReversed(), ...(before ? [[...before]] : [])],
    place,
  );
  const resizing = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height }));
  resizing.observe(place);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const redraw = () => plot.redraw();
  dark.addEventListener('change', redraw);
  return {
    plot,
    stop() {
      resizing.disconnect();
      dark.removeEventListener('change', redraw);
      plot.destroy();
    },
  };
}

const styleOf = (element: Element | null) => getComputedStyle(element ?? document.body);

/** Labels of the time axis in the reader's time zone: at midnight the date. `step` is in seconds. */
function timeLabels(_plot: unknown, splits: number[], _axis: number, _space: number, step: number) {
  return splits.map((seconds) => {
    const [date = '', time = ''] = clock(seconds).split(' ');
    return step >= 86_400 || time === '00:00:00' ? date : time.slice(0, step < 60 ? 8 : 5);
  });
}
