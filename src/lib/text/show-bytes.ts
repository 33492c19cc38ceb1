import { revealHidden } from './hidden-characters.ts';

const MAX_DUMPED_BYTES = 4_096;

const BYTES_A_LINE = 16;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The bytes as text; undefined when they are not UTF-8. */
export function asText(bytes: Buffer): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Bytes for a person: text with its hidden characters escaped, otherwise a hexadecimal dump of at most 4 KiB. `rest`
 * completes the line after a shortened dump: how to get all bytes.
 */
export function showBytes(bytes: Buffer, rest: string): string {
  const text = asText(bytes);
  return text === undefined ? hexDump(bytes, rest) : revealHidden(text);
}

/** Lines of offset, 16 bytes, and their characters of ASCII. */
function hexDump(bytes: Buffer, rest: string): string {
  const shown = bytes.subarray(0, MAX_DUMPED_BYTES);
  const lines = Array.from({ length: Math.ceil(shown.length / BYTES_A_LINE) }, (_, index) => {
    const line = shown.subarray(index * BYTES_A_LINE, (index + 1) * BYTES_A_LINE);
    const offset = (index * BYTES_A_LINE).toString(16).padStart(8, '0');
    const digits = line.toString('hex').replaceAll(/../g, '$& ');
    return `${offset}  ${digits.padEnd(BYTES_A_LINE * 3)} ${line.toString('latin1').replaceAll(/[^ -~]/g, '.')}`;
  });
  const left = bytes.length - shown.length;
  return [...lines, ...(left > 0 ? [`${left} more bytes: ${rest}`] : [])].join('\n');
}
