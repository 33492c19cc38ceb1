import { writeFile } from 'node:fs/promises';
import { globSync } from 'node:fs';

/** Where Debian's package libfaketime puts its library for programs of several threads. */
const LIBRARY = '/usr/lib/*/faketime/libfaketimeMT.so.1';

/** The library that fakes a clock; undefined where it is not installed. */
export const fakeClockLibrary = (): string | undefined => globSync(LIBRARY)[0];

/** Settings under which a program reads the wall clock as this file says; the monotonic clock stays true. */
export function fakeClockSettings(library: string, clockFile: string): Record<string, string> {
  return {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: clockFile,
    // Read again at each look at the clock: a jump is then one jump, for all.
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
}

/** Sets the clock so many seconds off. */
export async function setClock(clockFile: string, seconds: number): Promise<void> {
  await writeFile(clockFile, `${seconds < 0 ? '' : '+'}${seconds}`);
}
