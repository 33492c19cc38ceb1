import { FAMILIES } from '../../domain.ts';
import type { PartitionSize, StorageSize } from '../../store/storage-size.ts';
import type { Storage } from './overview-schemas.ts';

/** What the database takes, by family and by partition, as the API tells it. */
export function sumStorage({ databaseBytes, defaultRows, partitions }: StorageSize): Storage {
  return {
    database_bytes: databaseBytes,
    default_rows: defaultRows,
    families: FAMILIES.map((family) => sumFamily(family, partitions)),
    partitions: partitions.map(({ family, partition, month, rows, bytes }) => ({
      family,
      partition,
      month,
      rows,
      bytes,
    })),
  };
}

function sumFamily(family: string, partitions: readonly PartitionSize[]): Storage['families'][number] {
  const own = partitions.filter((partition) => partition.family === family);
  const used = own.filter(({ isUsed }) => isUsed);
  const months = used.flatMap(({ month }) => month ?? []);
  const known = used.flatMap(({ rows }) => rows ?? []);
  return {
    family,
    rows: known.length === 0 && used.length > 0 ? null : known.reduce((sum, rows) => sum + rows, 0),
    bytes: own.reduce((sum, { bytes }) => sum + bytes, 0),
    oldest_month: months[0] ?? null,
    newest_month: months.at(-1) ?? null,
  };
}
