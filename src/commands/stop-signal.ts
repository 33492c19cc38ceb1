/** A signal that fires at the first Ctrl-C or SIGTERM. The second one ends the process at once, as by default. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  return stop.signal;
}
