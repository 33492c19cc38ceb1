/** A fault that is put into the product, to see that it is found. */
export interface Plant {
  readonly name: string;
  /** The file below `src/`, a text in it, and what stands there instead. */
  readonly file: string;
  readonly text: string;
  readonly instead: string;
}

/** Faults of which each would lose, double or hold up deliveries. */
export const PLANTS: readonly Plant[] = [
  {
    name: 'file-sync-left-out',
    file: 'lib/files/durable-file.ts',
    text: 'await handle.datasync();',
    instead: '',
  },
  {
    name: 'directory-sync-left-out',
    file: 'queue/spool/segment-file.ts',
    text: 'await syncDirectory(directory);',
    instead: '',
  },
  {
    name: 'parent-sync-left-out',
    file: 'queue/spool/ownership.ts',
    text: 'await syncDirectory(directory);',
    instead: 'void directory;',
  },
  {
    name: 'segment-kept-open',
    file: 'queue/spool/segment-file.ts',
    text: 'await rm(file, { force: true });',
    instead: '',
  },
  {
    name: 'taken-segment-written-on',
    file: 'queue/spool/segment-file.ts',
    text: 'throw new SegmentTakenError(`${file} was taken over`);',
    instead: 'void 0;',
  },
  {
    name: 'segment-removed-before-queued',
    file: 'queue/spool/drain.ts',
    text: 'for (const group of groupsOf(deliveries)) {\n      if',
    instead: 'await spool.remove(segment);\n    for (const group of groupsOf(deliveries)) {\n      if',
  },
  {
    name: 'strict-segment-removed-early',
    file: 'queue/spool/drain.ts',
    text: 'missing.length === 0',
    instead: 'missing.length >= 0',
  },
  {
    name: 'failover-not-noticed',
    file: 'queue/spool/kept-segments.ts',
    text: 'const isSame = isSameServer(at);',
    instead: 'const isSame = true;',
  },
  {
    name: 'answered-before-durable',
    file: 'queue/delivery-queue.ts',
    text: 'if (added === undefined && spooling === undefined) await spoolBatch(deliveries);',
    instead:
      'if (added === undefined && spooling === undefined) spoolBatch(deliveries).catch(() => undefined);',
  },
  {
    name: 'failure-answered-as-success',
    file: 'lib/group-commit.ts',
    text: 'for (const { reject } of group) reject(error);',
    instead: "for (const { resolve } of group) resolve('queued');",
  },
  {
    name: 'job-finished-before-commit',
    file: 'handlers/delivery-worker.ts',
    text: 'await company.runBeside(() => add(job, deliveries));',
    instead: 'company.runBeside(() => add(job, deliveries)).catch(() => undefined);',
  },
  {
    name: 'job-finished-after-outage',
    file: 'handlers/delivery-worker.ts',
    text: 'return GIVE_BACK_DELAY_MS;',
    instead: 'return undefined;',
  },
  {
    name: 'stored-delivery-not-recognized',
    file: 'handlers/store-deliveries.ts',
    text: 'for (const deliveryId of stored) tallies.delete(deliveryId);',
    instead: '',
  },
  {
    name: 'quarantine-left-out',
    file: 'handlers/store-deliveries.ts',
    text: 'await insertQuarantine(trx, quarantined);',
    instead: '',
  },
  {
    name: 'duplicates-not-counted',
    file: 'handlers/delivery-tally.ts',
    text: 'duplicate_count: events - rejected.length - written,',
    instead: 'duplicate_count: 0,',
  },
  {
    name: 'outage-taken-for-a-bad-row',
    file: 'handlers/failure-rules.ts',
    text: "'connection lost': 'wait'",
    instead: "'connection lost': 'isolate records'",
  },
  {
    name: 'memory-not-given-back',
    file: 'ingest/admission.ts',
    text: '    inFlight -= bytes;',
    instead: '',
  },
  {
    name: 'late-commit-passed-over',
    file: 'store/log/extend-log.ts',
    text: 'const horizon = laterOf(xid, state.held_xid);',
    instead: 'const horizon = laterOf(String(BigInt(xid) + (isEarly ? 1n : 0n)), state.held_xid);',
  },
  {
    name: 'held-event-passed-over',
    file: 'store/log/extend-log.ts',
    text: '${isHeld ? state.held_xid : horizon}',
    instead: '${horizon}',
  },
  {
    name: 'cursor-saved-before-sent',
    file: 'forward/forward-events.ts',
    text: 'const { progress, refusal } =',
    instead:
      'await source.save({ ...holder, generation, start, position, sent: 0, rejected: [], rejectedInRow: 0 }); const { progress, refusal } =',
  },
  {
    name: 'rewind-overwritten',
    file: 'store/destinations/destinations.ts',
    text: 'and destinations.generation = made.generation and cursor_position = made.start',
    instead: '',
  },
  {
    name: 'failover-overwritten',
    file: 'store/destinations/destinations.ts',
    text: 'and made.timeline = ${TIMELINE}',
    instead: '',
  },
  {
    name: 'lease-not-compared',
    file: 'store/destinations/destinations.ts',
    text: 'and (lease_holder is null or lease_holder = taking.holder or lease_until < now())',
    instead: '',
  },
  {
    name: 'shares-not-compared',
    file: 'ingest/admission.ts',
    text: 'return (part?.bytes ?? 0) + more >= bytes / (parts.size + (part === undefined ? 1 : 0));',
    instead: 'return part?.bytes !== -1 || more >= bytes;',
  },
  {
    name: 'taken-job-removed-early',
    file: 'handlers/delivery-worker.ts',
    text: 'await company.runBeside(() => add({ id, attemptsStarted: 1 }, deliveries));',
    instead:
      'await connections.get(name)?.bullmq.getBackend().remove(id, false); await company.runBeside(() => add({ id, attemptsStarted: 1 }, deliveries));',
  },
  {
    name: 'rejected-not-set-aside',
    file: 'store/destinations/destinations.ts',
    text: 'await insertRejected(trx, name, event);',
    instead: 'void event;',
  },
];

/** Puts a fault into a source text. Throws an Error if the text has changed since. */
export function plantIn(source: string, { name, text, instead }: Plant): string {
  if (!source.includes(text)) throw new Error(`the place of the planted fault ${name} is gone: ${text}`);
  return source.replace(text, () => instead);
}
