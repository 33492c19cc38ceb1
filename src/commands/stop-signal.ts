/** A signal that fires at the first Ctrl-C or SIGTERM, and when nobody reads the output any more (`| head`). */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  process.stdout.once('error', () => stop.abort());
  return stop.signal;
}
