import path from 'node:path';
import { z } from 'zod';
import { OutageError } from '../../errors.ts';
import { reportCsv } from '../../store/reports.ts';
import type { Sender } from '../sender.ts';
import { openLogFile, replaceFile, rotate, type LogFile } from './log-file.ts';

/** A file of lines, for a log collector. */
export const fileOptions = z.strictObject({
  path: z.string().refine((text) => path.isAbsolute(text), 'must be an absolute path'),
  /** Starts a new file before this one exceeds this size. */
  max_bytes: z.int().min(1_000_000, 'must be a whole number of bytes, at least 1000000').optional(),
  /** Starts a new file every day (UTC). */
  daily: z.boolean('must be true or false').default(false),
  /** How many full files are kept, as PATH.1 (the newest), PATH.2 and so on. */
  keep: z
    .int()
    .min(1, 'must be a whole number from 1 to 1000')
    .max(1000, 'must be a whole number from 1 to 1000')
    .default(10),
});

export type FileOptions = z.output<typeof fileOptions>;

export const FILE_FORMATS = ['json', 'ecs', 'ocsf', 'cef', 'leef', 'text'] as const;

/**
 * Appends a line for each event; a batch that is sent is on the disk. A report is a file of its own beside it. If the file was renamed or removed in the
 * meantime (logrotate), the next batch starts a new one.
 */
export function createFileSender(options: FileOptions): Sender {
  let open: LogFile | undefined;

  async function closeFile(): Promise<void> {
    const file = open;
    open = undefined;
    await file?.close();
  }

  async function fileFor(bytes: number): Promise<LogFile> {
    if (open !== undefined && !(await open.isInPlace())) await closeFile();
    open ??= await openLogFile(options.path);
    if (!isFull(open, bytes, options)) return open;
    await closeFile();
    await rotate(options.path, options.keep);
    open = await openLogFile(options.path);
    return open;
  }

  return {
    async send(batch) {
      const lines = Buffer.from(batch.map(({ text }) => `${text}\n`).join(''));
      try {
        const file = await fileFor(lines.length);
        await file.append(lines);
      } catch (cause) {
        await closeFile().catch(() => undefined);
        throw new OutageError(`can't write file ${options.path}`, { cause });
      }
      return [];
    },
    async sendReport(report) {
      const target = path.join(path.dirname(options.path), `${report.id}.csv`);
      try {
        await replaceFile(target, reportCsv(report.rows));
      } catch (cause) {
        throw new OutageError(`can't write file ${target}`, { cause });
      }
    },
    close: closeFile,
  };
}

function isFull(file: LogFile, bytes: number, { max_bytes: maxBytes, daily }: FileOptions): boolean {
  if (file.size() === 0) return false;
  const isTooLarge = maxBytes !== undefined && file.size() + bytes > maxBytes;
  return isTooLarge || (daily && dayOf(file.writtenAt()) !== dayOf(Date.now()));
}

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
