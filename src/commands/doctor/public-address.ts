import type { Config } from '../../config.ts';
import { describeError } from '../../errors.ts';
import { fail, ok, warn } from './check.ts';
import type { Finding } from './check.ts';

const REMEDY =
  'see that serve runs, that the name leads here (DNS), and that firewall and proxy let it through';

/** Whether a program of ours answers where the cloud is told to send to. */
export async function checkPublicAddress(
  { publicUrl, sources }: Config,
  signal: AbortSignal,
): Promise<Finding> {
  if (publicUrl === undefined) {
    return sources.every(({ cloud }) => cloud === undefined)
      ? ok('PUBLIC_URL is not set: subscriptions are made by hand')
      : warn(
          'PUBLIC_URL is not set: the cloud cannot be told where to send to',
          'set it to the https:// address that the cloud reaches this program at',
        );
  }
  const url = `${publicUrl}/healthz`;
  let response: Response;
  try {
    response = await fetch(url, { redirect: 'manual', signal });
  } catch (error) {
    return fail(`${url} does not answer: ${describeError(error)}`, REMEDY);
  }
  const body = await response.text();
  if (response.status !== 200 || !body.includes('"status":"ok"')) {
    return fail(`${url} answers ${response.status}, and not as xiq-sink does`, REMEDY);
  }
  return ok(`${url} answers this machine (a firewall may let us in and not the cloud)`);
}
