import { vi } from 'vitest';

/** What some work writes to standard output and to standard error, where it then does not appear. */
export async function printedBy(
  work: () => unknown,
): Promise<{ readonly out: string; readonly err: string }> {
  const spies = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockReturnValue(true),
  );
  try {
    await work();
    const [out = '', err = ''] = spies.map(({ mock }) =>
      Buffer.concat(mock.calls.map(([chunk]) => Buffer.from(chunk))).toString(),
    );
    return { out, err };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
