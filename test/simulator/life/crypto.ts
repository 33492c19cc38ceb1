/** `node:crypto` with the chance of one life of a process. */
import { getRandomValues } from './globals.ts';

export * from 'node:crypto';

export const randomBytes = (bytes: number) => getRandomValues(Buffer.alloc(bytes));

/** A UUIDv4 (RFC 9562, section 5.4). */
export function randomUUID(): string {
  const bytes = randomBytes(16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
