/** One message of RELP, in either direction. */
export interface RelpFrame {
  /** The transaction: counted from 1 by the sender; an answer has that of its command, a hint has 0. */
  readonly txnr: number;
  readonly command: string;
  readonly data: string;
}

/** After this transaction comes 1 again. */
export const MAX_TXNR = 999_999_999;

/** Answers contain a code and a short text; the answer to `open` also has some lines. */
const MAX_DATA_BYTES = 16_384;

/** The longest header: two numbers of 9 digits, a command of 32 letters, and the character behind each. */
const MAX_HEADER_BYTES = 53;

/** A frame of the specification: `TXNR SP COMMAND SP DATALEN [SP DATA] LF`, DATALEN in bytes. */
export function writeFrame({ txnr, command, data }: RelpFrame): string {
  const header = `${txnr} ${command} ${Buffer.byteLength(data)}`;
  return data === '' ? `${header}\n` : `${header} ${data}\n`;
}

/**
 * Reads frames from a stream. The function that it returns takes each chunk and returns the frames that are complete
 * with it. It throws if the bytes are not RELP or a frame is too long; the stream can't be read on then.
 */
export function createFrameReader(): (chunk: Buffer) => RelpFrame[] {
  let unread = Buffer.alloc(0);
  return (chunk) => {
    unread = Buffer.concat([unread, chunk]);
    const frames: RelpFrame[] = [];
    let start = 0;
    for (;;) {
      const found = readFrame(unread, start);
      if (found === undefined) break;
      frames.push(found.frame);
      start = found.end;
    }
    unread = unread.subarray(start);
    return frames;
  };
}

/** The header with the character after it: a space before data, the line feed if there is none. */
const HEADER = /^(\d{1,9}) ([A-Za-z]{1,32}) (\d{1,9})([ \n])/;

/** The beginnings of a header. */
const PARTIAL_HEADER = /^(?:\d{1,9}(?: (?:[A-Za-z]{1,32}(?: \d{0,9})?)?)?)?$/;

/** Undefined if the frame is not complete yet. */
function readFrame(bytes: Buffer, start: number): { frame: RelpFrame; end: number } | undefined {
  const text = bytes.toString('latin1', start, start + MAX_HEADER_BYTES);
  const [header, txnr, command = '', length, separator] = HEADER.exec(text) ?? [];
  if (header === undefined) {
    if (PARTIAL_HEADER.test(text)) return undefined;
    throw new Error(`the receiver does not answer in RELP but ${JSON.stringify(text)}`);
  }
  const dataLength = Number(length);
  if (dataLength > MAX_DATA_BYTES) throw new Error(`the receiver announces an answer of ${dataLength} bytes`);
  const dataStart = start + header.length;
  // Without data, the line feed is the character after the header; librelp also accepts a space before it.
  const end = separator === '\n' ? dataStart : dataStart + dataLength + 1;
  if (separator === '\n' && dataLength > 0) throw new Error(`the receiver's frame ${txnr} lacks its data`);
  if (bytes.length < end) return undefined;
  if (bytes[end - 1] !== 0x0a) throw new Error(`the receiver's frame ${txnr} does not end after its data`);
  return {
    frame: { txnr: Number(txnr), command, data: bytes.toString('utf8', dataStart, dataStart + dataLength) },
    end,
  };
}
