import { createReadStream, existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isMissingFile } from '../../lib/files/durable-file.ts';
import { checkpointOf, type Checkpoint } from '../checkpoint.ts';
import { timeOfAnswer } from '../time-stamp.ts';

/** The checkpoint that an authority has stamped. Undefined: one of the files is damaged or missing. */
export async function readStamp(noteFile: string, answerFile: string): Promise<Checkpoint | undefined> {
  try {
    const note = await readFile(noteFile, 'utf8');
    timeOfAnswer(await readFile(answerFile), note);
    return checkpointOf(note);
  } catch (error) {
    if (error instanceof TypeError || isMissingFile(error)) return undefined;
    throw error;
  }
}

const NEWLINE = 10;

/**
 * The lines of a file as bytes: a row may contain any character that is not a line break of this kind. None if the file is
 * missing, which is found by itself.
 */
export async function* linesOf(file: string): AsyncGenerator<Buffer> {
  if (!existsSync(file)) return;
  let rest: Buffer[] = [];
  const chunks: AsyncIterable<Uint8Array> = createReadStream(file);
  for await (const chunk of chunks) {
    let bytes = Buffer.from(chunk);
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE)) {
      yield Buffer.concat([...rest, bytes.subarray(0, end)]);
      rest = [];
      bytes = bytes.subarray(end + 1);
    }
    if (bytes.length > 0) rest.push(bytes);
  }
  if (rest.length > 0) yield Buffer.concat(rest);
}

/** The notes of a file: each has a text and signatures, with an empty line between, and another one before the next. */
export async function* notesOf(file: string): AsyncGenerator<string> {
  let note = '';
  for await (const bytes of linesOf(file)) {
    const line = bytes.toString();
    if (line === '' && note.includes('\n\n')) {
      yield note;
      note = '';
    } else {
      note += `${line}\n`;
    }
  }
  if (note !== '') yield note;
}
