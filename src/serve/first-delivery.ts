import path from 'node:path';
import type { Config } from '../config.ts';

/** An audit record of the specification's shape, as a body to try. */
export const sampleBody = (timeStamp: number): string =>
  JSON.stringify([
    {
      ownerId: 1_234_567,
      orgId: 0,
      timeStamp,
      id: null,
      userId: 2_345_678,
      code: 10_001,
      category: 1,
      description: 'User admin@example.com logged in',
      userName: 'admin@example.com',
      vhmName: 'VHM-EXAMPLE',
    },
  ]);

/** A line that sends a first delivery to these settings' own port. It says where the secret is, not what it is. */
export function firstDeliveryLine({ sources, tls, port, publicUrl, dataDir }: Config): string {
  const address = publicUrl ?? `${tls === undefined ? 'http' : 'https'}://localhost:${port}`;
  const [source] = sources;
  const isMade = source === undefined || source.secrets.length === 0;
  const secret = isMade ? `$(cat ${path.join(dataDir, 'webhook-secret')})` : '$WEBHOOK_SECRET';
  const url = `${address.replace(/\/$/, '')}/ingest/${source?.name ?? 'default'}/AUDIT_LOG_ALL`;
  return `curl -H "Authorization: Bearer ${secret}" -d '${sampleBody(Date.now())}' ${url}`;
}
