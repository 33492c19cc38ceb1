import { createCloudClient } from '../../cloud/client.ts';
import { probesAt, type Observation } from '../../cloud/survey.ts';
import type { SourceConfig } from '../../config.ts';
import { fail, ok, skipped, warn, type Check, type Finding } from './check.ts';

/** Longer than that of other checks: a busy cloud asks to wait. */
const LIMIT_MS = 60_000;

/** The checks of one run of `doctor`, and how to end them. */
export interface Examination {
  readonly checks: readonly Check[];
  close(): Promise<void>;
}

/**
 * The checks of `doctor --live`: read-only calls that compare the cloud of each source with the documentation of its API.
 * The report names no source, because people send it to others.
 */
export function liveChecks(sources: readonly SourceConfig[]): Examination {
  const clouds = sources.flatMap(({ cloud }) => cloud ?? []);
  const clients = clouds.map(({ apiUrl: baseUrl, credentials }) =>
    createCloudClient({ baseUrl, credentials }),
  );
  const checks = clients.flatMap((client, index) => {
    const nameOf = (name: string) => (clients.length === 1 ? name : `cloud ${index + 1}: ${name}`);
    const [first, ...others] = probesAt(Date.now()).map((probe) => ({
      name: nameOf(probe.name),
      limitMs: LIMIT_MS,
      run: async (signal: AbortSignal) => findingOf(await client.observe(probe, signal)),
    }));
    return first === undefined ? [] : [first, ...others.map((check) => ({ ...check, needs: [first.name] }))];
  });
  return {
    checks: checks.length === 0 ? [{ name: 'api', run: async () => NOT_CONFIGURED }] : checks,
    async close() {
      await Promise.all(clients.map((client) => client.logout()));
    },
  };
}

const NOT_CONFIGURED = fail(
  'API access to the cloud is not configured',
  'set CLOUD_API_URL with CLOUD_API_TOKEN, or with CLOUD_USERNAME and CLOUD_PASSWORD',
);

const SEND = 'open an issue with this report: it contains member names and types, and no values';

function findingOf({ result, report }: Observation): Finding {
  switch (result) {
    case 'as documented':
      return ok(report);
    case 'new members':
      return warn(report, SEND);
    case 'undocumented':
      return fail(report, SEND);
    case 'not permitted':
    case 'not offered':
      return { ...skipped(report), stops: false };
    case 'failed':
      return fail(report, 'run doctor without --live for the cause');
  }
}
