import { parse } from 'libpg-query';

/**
 * How many rows any part of a statement reads at most because of a limit: the sum of all limits and offsets that it names.
 * Undefined if one of them is no number that is known before it runs.
 */
export async function limitOf(text: string, values: readonly unknown[]): Promise<number | undefined> {
  const parsed: unknown = await parse(text).catch(() => undefined);
  const limits = parsed === undefined ? [undefined] : limitsIn(parsed, values);
  return limits.reduce<number | undefined>(
    (sum, one) => (sum === undefined || one === undefined ? undefined : sum + one),
    // A minimum or a maximum reads the first row.
    1,
  );
}

function limitsIn(node: unknown, values: readonly unknown[]): readonly (number | undefined)[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) =>
    key === 'limitCount' || key === 'limitOffset' ? [numberOf(value, values)] : limitsIn(value, values),
  );
}

const Member = (node: unknown, name: string): unknown =>
  typeof node === 'object' && node !== null ? Reflect.get(node, name) : undefined;

function numberOf(node: unknown, values: readonly unknown[]): number | undefined {
  const cast = Member(node, 'TypeCast');
  if (cast !== undefined) return numberOf(Member(cast, 'arg'), values);
  const parameter = Member(node, 'ParamRef');
  const constant = Member(node, 'A_Const');
  const value =
    parameter === undefined
      ? (Member(Member(constant, 'ival'), 'ival') ?? (Member(constant, 'ival') === undefined ? undefined : 0))
      : values[Number(Member(parameter, 'number')) - 1];
  const number = Number(value ?? undefined);
  return Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}
