import path from 'node:path';
import { open, rename, stat, type FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { OutageError } from '../../lib/errors.ts';
import { reportCsv } from '../../store/reports/reports.ts';
import type { Sender } from '../sender.ts';
import { appendDurably, replaceFile, syncDirectory, unlessMissing } from '../../lib/files/durable-file.ts';

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

type FileOptions = z.output<typeof fileOptions>;

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
        await replaceFile(target, reportCsv(report.rows), MODE);
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

type LogFile = Awaited<ReturnType<typeof openLogFile>>;

/** Only owner and group may read the file: events name people. */
const MODE = 0o640;

/** Opens a file for appending and creates it if necessary. Throws the system's error. */
async function openLogFile(filePath: string) {
  const handle = await open(filePath, 'a+', MODE);
  try {
    const { ino, dev, mtimeMs } = await handle.stat();
    await endLine(handle);
    await syncDirectory(path.dirname(filePath));
    let { size } = await handle.stat();
    let writtenAt = mtimeMs;

    return {
      size: () => size,
      writtenAt: () => writtenAt,
      async isInPlace(): Promise<boolean> {
        const there = await unlessMissing(stat(filePath), undefined);
        return there?.ino === ino && there.dev === dev;
      },
      /** Resolves once the lines are on the disk. After an error the file is truncated to its previous size. */
      async append(lines: Buffer): Promise<void> {
        await appendDurably(handle, lines, size);
        size += lines.length;
        writtenAt = Date.now();
      },
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Ends a partial line that a killed program left behind, so that the next line stands alone. */
async function endLine(handle: FileHandle): Promise<void> {
  const { size } = await handle.stat();
  if (size === 0) return;
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  if (buffer.toString() !== '\n') await handle.appendFile('\n');
}

/**
 * Renames `path` to `path.1`, the previous `path.1` to `path.2`, and so on; the last of `keep` files is lost. An
 * interrupted rotation leaves a gap in the numbers, which the next one closes.
 */
async function rotate(path: string, keep: number): Promise<void> {
  for (let number = keep - 1; number >= 1; number--) {
    await unlessMissing(rename(`${path}.${number}`, `${path}.${number + 1}`), undefined);
  }
  await unlessMissing(rename(path, `${path}.1`), undefined);
}
