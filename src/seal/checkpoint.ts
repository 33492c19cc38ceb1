import { HASH_BYTES } from './merkle-tree.ts';
import { signNote, type LogKey } from './signed-note.ts';

/** The head of the tree at a size (C2SP tlog-checkpoint). */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Buffer;
  /** Undefined: the checkpoint is of a log that does not write the time. */
  readonly time: Date | undefined;
  /** The signed note, as it was written. */
  readonly note: string;
}

/** The name of an installation's log, with which its checkpoints begin (C2SP tlog-checkpoint). */
export const originOf = (installation: string) => `xiq-sink/${installation}`;

/** Writes and signs a checkpoint. Its time is an extension line. */
export function writeCheckpoint(size: number, root: Buffer, time: Date, key: LogKey): string {
  const text = `${key.name}\n${size}\n${root.toString('base64')}\ntime ${time.toISOString()}\n`;
  return signNote(text, key);
}

const NOTE =
  /(?<origin>[^\n]+)\n(?<size>0|[1-9]\d*)\n(?<root>[\w+/]{43}=)\n(?<extensions>(?:[^\n]+\n)*)\n(?:— \S+ [\w+/=]+\n)+/y;

/** Reads a text of one or more checkpoints, one after another. Throws a TypeError if it is anything else. */
export function parseCheckpoints(text: string): readonly Checkpoint[] {
  const found: Checkpoint[] = [];
  const whole = `${text.replaceAll('\r\n', '\n').trim()}\n`;
  for (let at = 0; at < whole.length;) {
    while (whole[at] === '\n') at += 1;
    NOTE.lastIndex = at;
    const match = NOTE.exec(whole);
    const { origin = '', size = '', root = '', extensions = '' } = match?.groups ?? {};
    const bytes = Buffer.from(root, 'base64');
    if (match === null || bytes.length !== HASH_BYTES || !Number.isSafeInteger(Number(size))) {
      throw new TypeError(`no checkpoint of a log begins at character ${at}`);
    }
    found.push({ origin, size: Number(size), root: bytes, time: timeOf(extensions), note: match[0] });
    at = NOTE.lastIndex;
  }
  return found;
}

/** The checkpoint of a note. Undefined: it is damaged, or not alone. */
export function checkpointOf(note: string): Checkpoint | undefined {
  try {
    const [checkpoint, ...others] = parseCheckpoints(note);
    return others.length === 0 ? checkpoint : undefined;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** The end of a line in other formats: as JSON and CEF escape it, once or twice, or the space that LEEF has instead. */
const END = String.raw`(?:\n|\\+n| )`;

/** A checkpoint in a text of another format. */
const QUOTED_NOTE = new RegExp(
  String.raw`(?<origin>xiq-sink/[\da-f-]{36})${END}(?<size>\d+)${END}(?<root>[\w+/]{43})\\*=${END}` +
    String.raw`(?:(?<time>time [\d:.TZ-]+)${END})?${END}(?<signatures>(?:— \S+ [\w+/]+(?:\\*=)*${END})+)`,
  'g',
);

/** Finds the checkpoints, each once, in a text such as events that a SIEM exported, in whatever format. */
export function findCheckpoints(text: string): readonly Checkpoint[] {
  const notes = [...`${text}\n`.matchAll(QUOTED_NOTE)].map(({ groups = {} }) => {
    const { origin = '', size = '', root = '', time, signatures = '' } = groups;
    const head = [origin, size, `${root}=`, ...(time === undefined ? [] : [time])];
    const signed = [...signatures.matchAll(/— \S+ [\w+/]+(?:\\*=)*/g)].map(([line]) =>
      line.replaceAll('\\', ''),
    );
    return [...head, '', ...signed, ''].join('\n');
  });
  return [...new Set(notes)].flatMap((note) => parseCheckpoints(note));
}

function timeOf(extensions: string): Date | undefined {
  const text = /^time (?<time>\S+)$/m.exec(extensions)?.groups?.['time'];
  const time = text === undefined ? undefined : new Date(text);
  return time === undefined || Number.isNaN(time.getTime()) ? undefined : time;
}
