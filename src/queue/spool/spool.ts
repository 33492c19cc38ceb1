import { readFile, rm, stat, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { isNotThere } from '../../durable-file.ts';
import { OutageError } from '../../errors.ts';
import { CORRUPT_SUFFIX, newSegmentName, ownDirectory, segmentMadeAt } from './ownership.ts';
import { frameRecord, readRecords } from './record-format.ts';
import { createSegment, SegmentTakenError } from './segment-writer.ts';
import type { SegmentWriter } from './segment-writer.ts';

/** Where the spool is and how much it may take. */
export interface SpoolSettings {
  readonly directory: string;
  /** The bytes of all segments together stay below this. */
  readonly maxBytes: number;
  /** The spool takes nothing more when the disk would have less free than this. */
  readonly minFreeBytes: number;
}

/** What the spool holds. */
export interface SpoolFigures {
  readonly bytes: number;
  readonly segments: number;
  /** When the oldest segment was made, in epoch milliseconds; undefined when there is none. */
  readonly oldestAt: number | undefined;
}

/** How much room a spool has left. */
export interface SpoolRoom {
  /** `nearly full`: less than a fifth of its room is left. `full`: it would not take a batch. */
  readonly state: 'ok' | 'nearly full' | 'full';
  readonly bytesLeft: number;
}

/** Payloads kept on the disk, in segments that are appended to, read as a whole and removed as a whole. */
export interface Spool {
  /** Resolves once the payload is on the disk. Throws OutageError when the spool is full or the disk fails. */
  append(payload: Buffer): Promise<void>;
  /**
   * The segments to replay, oldest first, those of processes that are gone among them. The one being written
   * becomes one of them when there is no other.
   */
  segments(): Promise<readonly string[]>;
  /** The payloads of a segment in the order of writing. What is damaged is set aside in a file and logged. */
  read(segment: string): Promise<readonly Buffer[]>;
  /** Removes a segment: its payloads are safe elsewhere. */
  remove(segment: string): Promise<void>;
  readonly bytes: number;
  figures(): SpoolFigures;
  /** Throws the system's error when the disk does not say. */
  room(): Promise<SpoolRoom>;
  /** Throws OutageError when the spool could not take a payload now. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Small enough to be read at once, large enough that making and removing files costs little. */
const SEGMENT_BYTES = 8 * 1024 * 1024;

/** A spool with less room than this is full: most batches of a busy hour would not fit. */
const ROOM_FOR_A_BATCH = 1024 * 1024;

/** A spool that has used this share of the room it has is nearly full. */
const NEARLY_FULL_SHARE = 0.8;

/** Opens the spool. Nothing is written to the disk before the first payload. */
export function openSpool({ directory, maxBytes, minFreeBytes }: SpoolSettings, logger: Logger): Spool {
  const own = ownDirectory(directory);
  /** Sizes of the segments that are not written any more. */
  const complete = new Map<string, number>();
  let writer: SegmentWriter | undefined;
  const inTurn = pLimit(1);

  const totalBytes = () =>
    [...complete.values()].reduce((sum, bytes) => sum + bytes, 0) + (writer?.bytes ?? 0);

  async function assertRoom(bytes: number): Promise<void> {
    if (totalBytes() + bytes > maxBytes) {
      throw new OutageError(
        `the spool holds ${totalBytes()} bytes and may hold ${maxBytes} (SPOOL_MAX_BYTES)`,
      );
    }
    const free = await freeBytes(own.path);
    if (free - bytes < minFreeBytes) {
      throw new OutageError(
        `the disk of the spool has ${free} bytes free (SPOOL_MIN_FREE_BYTES ${minFreeBytes})`,
      );
    }
  }

  async function room(): Promise<SpoolRoom> {
    const bytes = totalBytes();
    const bytesLeft = Math.min(maxBytes - bytes, (await freeBytes(own.path)) - minFreeBytes);
    if (bytesLeft < ROOM_FOR_A_BATCH) return { state: 'full', bytesLeft: Math.max(0, bytesLeft) };
    const isNearlyFull = bytes > NEARLY_FULL_SHARE * (bytes + bytesLeft);
    return { state: isNearlyFull ? 'nearly full' : 'ok', bytesLeft };
  }

  function figures(): SpoolFigures {
    const names = [...complete.keys()];
    if (writer !== undefined && writer.bytes > 0) names.push(writer.name);
    const oldestAt = names.length === 0 ? undefined : Math.min(...names.map(segmentMadeAt));
    return { bytes: totalBytes(), segments: names.length, oldestAt };
  }

  async function appendTo(record: Buffer): Promise<void> {
    try {
      if (writer === undefined) await own.ensure();
      writer ??= await createSegment(own.path, newSegmentName());
      await writer.append(record);
    } catch (error) {
      await endSegment();
      throw error;
    }
    if (writer.bytes >= SEGMENT_BYTES) await endSegment();
  }

  async function endSegment(): Promise<void> {
    if (writer === undefined) return;
    const ended = writer;
    writer = undefined;
    await ended.close();
    if (ended.bytes > 0) complete.set(ended.name, ended.bytes);
    else await rm(path.join(own.path, ended.name), { force: true });
  }

  async function adopt(): Promise<void> {
    for (const name of await own.adopt()) {
      const { size } = await stat(path.join(own.path, name));
      complete.set(name, size);
      logger.info({ segment: name, bytes: size }, 'took over a spool segment of a process that is gone');
    }
  }

  async function append(payload: Buffer): Promise<void> {
    const record = frameRecord(payload);
    await assertRoom(record.length);
    try {
      await appendTo(record);
    } catch (error) {
      if (!(error instanceof SegmentTakenError)) throw error;
      logger.warn(`${error.message}: writing into a new segment`);
      await appendTo(record);
    }
  }

  return {
    append: (payload) => asOutage(inTurn(() => append(payload))),
    segments: () =>
      inTurn(async () => {
        await adopt();
        if (complete.size === 0) await endSegment();
        return [...complete.keys()].toSorted();
      }),
    async read(segment) {
      const payloads: Buffer[] = [];
      const damaged: Buffer[] = [];
      for (const found of readRecords(await readSegment(path.join(own.path, segment)))) {
        if (found.kind === 'record') payloads.push(found.payload);
        else if (found.kind === 'damaged') damaged.push(found.bytes);
        else logger.warn({ segment, bytes: found.bytes.length }, 'cut off the torn end of a spool segment');
      }
      if (damaged.length > 0) {
        const file = path.join(directory, `${segment}${CORRUPT_SUFFIX}`);
        await writeFile(file, Buffer.concat(damaged), { mode: 0o600 });
        logger.error(
          { segment, file, pieces: damaged.length },
          'a spool segment is damaged; set the pieces aside',
        );
      }
      return payloads;
    },
    async remove(segment) {
      await rm(path.join(own.path, segment), { force: true });
      complete.delete(segment);
    },
    get bytes() {
      return totalBytes();
    },
    figures,
    room,
    check: () => asOutage(assertRoom(ROOM_FOR_A_BATCH)),
    close: () =>
      inTurn(async () => {
        await endSegment();
        await own.release();
      }),
  };
}

async function asOutage(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (error instanceof OutageError) throw error;
    throw new OutageError('the spool could not be written', { cause: error });
  }
}

/** A segment that another process has taken over since is empty: that process replays it. */
async function readSegment(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    if (isNotThere(error)) return Buffer.alloc(0);
    throw error;
  }
}

/** Bytes free to this process on the disk of a directory, or of the nearest that is there already. */
/** Bytes that are free on the disk of a directory, which need not be there yet. */
export async function freeBytes(directory: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  } catch (error) {
    if (!isNotThere(error)) throw error;
    return freeBytes(path.dirname(directory));
  }
}
