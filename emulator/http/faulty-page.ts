import type { Faults } from '../sending/faults.ts';
import { pageOf } from './query.ts';

type Page = Parameters<typeof pageOf>[1];

interface Listed {
  readonly id: number | bigint | string;
}

/** One page of a log, with the faults of the list. Records without a time are the same ones on each call. */
export function faultyPage<T extends Listed>(faults: Faults, items: readonly T[], { page, limit }: Page) {
  const listed = faults.silent_logs ? [] : items.map((item) => withoutTime(item, faults.lose_times));
  const asked = { page, limit: faults.short_pages ? Math.ceil(limit / 2) : limit };
  const { pagination, data } = pageOf(listed, asked);
  const { total } = pagination;
  const totals = { lower: Math.floor(total / 2), higher: total + 10, zero: 0 };
  return {
    pagination: { ...pagination, total: faults.wrong_totals === null ? total : totals[faults.wrong_totals] },
    data: page === 1 ? data : laterPage(faults, listed, data, asked),
  };
}

function laterPage<T>(
  faults: Faults,
  listed: readonly T[],
  data: readonly T[],
  { page, limit }: Page,
): readonly T[] {
  if (faults.empty_pages) return [];
  const begin = (page - 1) * limit - 1;
  return faults.repeat_records && data.length > 0 ? listed.slice(begin, begin + data.length) : data;
}

function withoutTime<T extends Listed>(item: T, share: number): T | Omit<T, 'timestamp'> {
  const digits = Number(String(item.id).replaceAll(/\D/g, '').slice(-9));
  return (digits * 37) % 100 < share * 100 ? { ...item, timestamp: null } : item;
}
