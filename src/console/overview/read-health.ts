import type { ReadinessReport } from './overview-options.ts';
import type { Conservation, Health } from './overview-schemas.ts';

/** What the page of a check's name is; the longest beginning that fits counts. */
const PAGES: readonly (readonly [beginning: string, page: string])[] = [
  ['forwarding', '/destinations'],
  ['silence', '/subscriptions'],
  ['subscriptions', '/subscriptions'],
  ['conservation', '/quarantine'],
];

/** Connections and disks are mended where they are set. */
const USUAL_PAGE = '/settings';

/** Says in one sentence how the service is, and each reason with the page that mends it. */
export function describeHealth(
  readiness: ReadinessReport,
  conservation: Pick<Conservation, 'adds_up'> | null,
): Health {
  const checks = [...readiness.checks, ...(conservation?.adds_up === false ? [UNBALANCED] : [])];
  const reasons = withoutSums(checks.filter(isToMend)).map(({ name, state, why }) => ({
    what: `${name}: ${state}`,
    why,
    page: PAGES.find(([beginning]) => name.startsWith(beginning))?.[1] ?? USUAL_PAGE,
  }));
  const status = readiness.status === 'ok' && reasons.length > 0 ? 'degraded' : readiness.status;
  return { status, sentence: sentenceOf(status, reasons.length), reasons, checks };
}

const UNBALANCED = {
  name: 'conservation',
  state: 'does not add up',
  why: 'deliveries were acknowledged whose records are neither stored nor in quarantine',
};

const isToMend = ({ state }: { state: string }) => state !== 'ok' && state !== 'unknown';

/** A check that is as bad as its worst part says nothing that the part does not say better. */
const withoutSums = <C extends { readonly name: string }>(checks: readonly C[]) =>
  checks.filter(({ name }) => !checks.some((other) => other.name.startsWith(`${name}: `)));

function sentenceOf(status: Health['status'], reasons: number): string {
  const things = reasons === 1 ? 'one thing needs' : `${reasons} things need`;
  switch (status) {
    case 'ok':
      return 'All is well: deliveries are taken and stored, and nothing needs you.';
    case 'degraded':
      return `It works, and ${things} to be looked at.`;
    case 'unavailable':
      return reasons === 0 ? 'It cannot do its work.' : `It cannot do its work: ${things} to be mended.`;
  }
}
