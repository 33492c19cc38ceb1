import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { OutageError } from '../../lib/errors.ts';
import { freeBytes } from '../../lib/files/free-bytes.ts';
import { formatBytes } from '../../lib/text/units.ts';
import { framePayload, readFrames, type SegmentWriter } from './segment-file.ts';
import { CORRUPT_SUFFIX, newSegmentName, ownDirectory, segmentMadeAt } from './ownership.ts';
import { createSegment, SegmentTakenError } from './segment-file.ts';
import type { SpoolBudget } from './ownership.ts';
import { unlessMissing } from '../../lib/files/durable-file.ts';

export interface SpoolSettings {
  readonly directory: string;
  /** The limit of the total size of its segments. */
  readonly maxBytes: number;
  /** What this spool and others may have together. By default: no other limit. */
  readonly budget?: SpoolBudget | undefined;
  /** The spool accepts nothing that would leave less free space on the disk than this. */
  readonly minFreeBytes: number;
  /** Spools of one directory with different owners do not share their segments. By default: none. */
  readonly owner?: string | undefined;
}

/** The contents of the spool, without kept segments. */
export interface SpoolFigures {
  readonly bytes: number;
  readonly segments: number;
  /** When the oldest segment was created, in epoch milliseconds; undefined if there is none. */
  readonly oldestAt: number | undefined;
}

export interface SpoolRoom {
  /** `nearly full`: less than a fifth of its room is left. `full`: it would not accept a batch. */
  readonly state: 'ok' | 'nearly full' | 'full';
  readonly bytesLeft: number;
}

/** Payloads on the disk, in segments. A segment is appended to, and read and removed as a whole. */
export type Spool = ReturnType<typeof openSpool>;

/** Small enough to be read at once, large enough that creating and removing files costs little. */
const SEGMENT_BYTES = 8 * 1024 * 1024;

/** A spool with less room than this is full: most batches of a busy hour would not fit. */
const ROOM_FOR_A_BATCH = 1024 * 1024;

/** A spool that uses more than this share of its room is nearly full, and so is a disk with twice what must stay free. */
const NEARLY_FULL_SHARE = 0.8;

/** Opens the spool. Nothing is written to the disk before the first payload. */
export function openSpool(settings: SpoolSettings, logger: Logger) {
  const { directory, minFreeBytes, owner, budget } = settings;
  const own = ownDirectory(directory, owner);
  const complete = new Map<string, number>();
  /** Sizes of the segments that are kept only as long as there is room. */
  const kept = new Map<string, number>();
  let writer: SegmentWriter | undefined;
  const inTurn = pLimit(1);

  const sumOf = (sizes: Map<string, number>) => sizes.values().reduce((sum, bytes) => sum + bytes, 0);
  const totalBytes = () => sumOf(complete) + (writer?.bytes ?? 0);
  budget?.count(totalBytes);
  const maxBytes = () => Math.min(settings.maxBytes, (budget?.left() ?? Infinity) + totalBytes());

  /** Removes kept segments, oldest first, until there is room for this many bytes. */
  async function makeRoom(bytes: number): Promise<void> {
    for (const segment of [...kept.keys()].toSorted()) {
      const hasRoom = totalBytes() + sumOf(kept) + bytes <= maxBytes();
      if (hasRoom && (await freeBytes(own.path)) - bytes >= minFreeBytes) return;
      logger.warn({ segment }, 'removed a kept spool segment early, because the spool needs its space');
      await remove(segment);
    }
  }

  async function remove(segment: string): Promise<void> {
    await rm(path.join(own.path, segment), { force: true });
    complete.delete(segment);
    kept.delete(segment);
  }

  async function assertRoom(bytes: number): Promise<void> {
    if (kept.size > 0) await makeRoom(bytes);
    if (totalBytes() + bytes > maxBytes()) {
      throw new OutageError(
        `the spool is full: it contains ${formatBytes(totalBytes())} of at most ${formatBytes(maxBytes())} (SPOOL_MAX_BYTES)`,
      );
    }
    const free = await freeBytes(own.path);
    if (free - bytes < minFreeBytes) {
      throw new OutageError(
        `the spool's disk has only ${formatBytes(free)} free (SPOOL_MIN_FREE_BYTES is ${formatBytes(minFreeBytes)})`,
      );
    }
  }

  async function room(): Promise<SpoolRoom> {
    const bytes = totalBytes();
    const free = (await freeBytes(own.path)) + sumOf(kept);
    const bytesLeft = Math.min(maxBytes() - bytes, free - minFreeBytes);
    if (bytesLeft < ROOM_FOR_A_BATCH) return { state: 'full', bytesLeft: Math.max(0, bytesLeft) };
    const isNearlyFull = bytes > NEARLY_FULL_SHARE * (bytes + bytesLeft) || free < 2 * minFreeBytes;
    return { state: isNearlyFull ? 'nearly full' : 'ok', bytesLeft };
  }

  function figures(): SpoolFigures {
    const names = [...complete.keys()];
    if (writer !== undefined && writer.bytes > 0) names.push(writer.name);
    const oldestAt = names.length === 0 ? undefined : Math.min(...names.map(segmentMadeAt));
    return { bytes: totalBytes(), segments: names.length, oldestAt };
  }

  async function appendTo(frame: Buffer): Promise<void> {
    try {
      if (writer === undefined) await own.ensure();
      writer ??= await createSegment(own.path, newSegmentName());
      await writer.append(frame);
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
    for await (const { name, bytes } of own.adopt()) {
      complete.set(name, bytes);
      // It comes back from a process that took it over from this one.
      kept.delete(name);
      logger.info({ segment: name, bytes }, 'took over a spool segment of a process that has ended');
    }
  }

  async function append(payload: Buffer): Promise<void> {
    const frame = framePayload(payload);
    await assertRoom(frame.length);
    try {
      await appendTo(frame);
    } catch (error) {
      if (!(error instanceof SegmentTakenError)) throw error;
      logger.warn(`${error.message}: writing to a new segment`);
      await appendTo(frame);
    }
  }

  return {
    /** Resolves once the payload is on the disk. Throws OutageError if the spool is full or the disk fails. */
    append: (payload: Buffer) => asOutage(inTurn(() => append(payload))),
    /**
     * The segments to drain, oldest first, including those of processes that have ended. The segment being written is
     * among them only if there is no other.
     */
    segments: () =>
      inTurn(async () => {
        await adopt();
        if (complete.size === 0) await endSegment();
        return [...complete.keys()].toSorted();
      }),
    /**
     * The payloads of a segment in the order of writing. Damaged parts are moved to a file and logged. Undefined if another
     * process has taken the segment over: that process drains it. Read as empty, it would count as stored, and be removed as
     * such if it came back.
     */
    async read(segment: string): Promise<readonly Buffer[] | undefined> {
      const payloads: Buffer[] = [];
      const damaged: Buffer[] = [];
      const content = await unlessMissing(readFile(path.join(own.path, segment)), undefined);
      if (content === undefined) {
        complete.delete(segment);
        return undefined;
      }
      for (const found of readFrames(content)) {
        if (found.kind === 'frame') payloads.push(found.payload);
        else if (found.kind === 'damaged') damaged.push(found.bytes);
        else
          logger.warn(
            { segment, bytes: found.bytes.length },
            'dropped the incomplete end of a spool segment',
          );
      }
      if (damaged.length > 0) {
        const file = path.join(directory, `${segment}${CORRUPT_SUFFIX}`);
        await writeFile(file, Buffer.concat(damaged), { mode: 0o600 });
        logger.error(
          { segment, file, pieces: damaged.length },
          'a spool segment is damaged; saved the damaged parts to a file',
        );
      }
      return payloads;
    },
    remove,
    /** Takes a segment off those to drain. It stays on the disk until it is removed or its space is needed. */
    keep(segment: string): void {
      kept.set(segment, complete.get(segment) ?? 0);
      complete.delete(segment);
    },
    /** Puts all kept segments back to those to drain. Returns their names. */
    recall(): readonly string[] {
      const recalled = [...kept.keys()];
      for (const [segment, bytes] of kept) complete.set(segment, bytes);
      kept.clear();
      return recalled;
    },
    get bytes() {
      return totalBytes();
    },
    figures,
    /** Throws the system's error if the free space of the disk can't be read. */
    room,
    /** Throws OutageError if the spool would not accept a payload now. */
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
    throw new OutageError("can't write to the spool", { cause: error });
  }
}
