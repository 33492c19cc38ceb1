import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { FAMILIES } from '../../../src/events/domain.ts';

const STYLE = new URL('../../../src/console/browser/console.css', import.meta.url);

/** A colour of the style, as red, green and blue from 0 to 1, in one of the two themes. */
async function colourOf(token: string, theme: 'light' | 'dark'): Promise<number[]> {
  const style = await readFile(STYLE, 'utf8');
  const found = new RegExp(`--${token}: light-dark\\(#(\\w{6}), #(\\w{6})\\)`).exec(style);
  const hex = found?.[theme === 'light' ? 1 : 2] ?? '';
  return [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255);
}

const linear = (channel: number) =>
  channel <= 0.040_45 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;

/** WCAG 2.2, "contrast ratio". */
function contrast(one: readonly number[], other: readonly number[]): number {
  const [lighter = 0, darker = 0] = [one, other].map(luminance).toSorted((a, b) => b - a);
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(rgb: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = rgb.map(linear);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** How far apart two colours look (Björn Ottosson's Oklab; black and white are 1 apart). */
function distance(one: readonly number[], other: readonly number[]): number {
  const a = oklab(one);
  const b = oklab(other);
  return Math.hypot(...a.map((value, index) => value - (b[index] ?? 0)));
}

function oklab(rgb: readonly number[]): number[] {
  const [r = 0, g = 0, b = 0] = rgb.map(linear);
  const l = Math.cbrt(0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b);
  const m = Math.cbrt(0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b);
  const s = Math.cbrt(0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b);
  return [
    0.210_454_255_3 * l + 0.793_617_785 * m - 0.004_072_046_8 * s,
    1.977_998_495_1 * l - 2.428_592_205 * m + 0.450_593_709_9 * s,
    0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766 * s,
  ];
}

test.each(['light', 'dark'] as const)('the colours of families differ in the %s theme', async (theme) => {
  const panel = await colourOf('panel', theme);
  const colours = await Promise.all(FAMILIES.map((family) => colourOf(family, theme)));
  for (const colour of colours) expect(contrast(colour, panel)).toBeGreaterThanOrEqual(3);
  const distances = colours.flatMap((colour, index) =>
    colours.slice(index + 1).map((other) => distance(colour, other)),
  );
  expect(Math.min(...distances)).toBeGreaterThan(0.08);
});
