import { CloudApiError } from './cloud-api-error.ts';

/**
 * The cloud's clock, in epoch milliseconds, by the Date header of any answer (RFC 9110, section 6.6.1: whole seconds).
 * Undefined when the answer has none. Throws a CloudApiError when there is no answer.
 */
export async function readCloudTime(baseUrl: string, signal: AbortSignal): Promise<number | undefined> {
  try {
    const response = await fetch(baseUrl, { redirect: 'manual', signal });
    await response.body?.cancel();
    const time = Date.parse(response.headers.get('date') ?? '');
    return Number.isNaN(time) ? undefined : time;
  } catch (cause) {
    throw new CloudApiError('the cloud gave no answer', { method: 'GET', path: '/', cause });
  }
}
