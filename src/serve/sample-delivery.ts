/** Where a sample delivery goes, and what it proves itself with. */
interface SampleTarget {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly source: string;
  /** The file of the generated secret. Undefined: the source has secrets of the settings, which are never shown. */
  readonly secretFile: string | undefined;
}

/** What a person has to replace in a sample delivery without a secret file. */
export const SECRET_PLACEHOLDER = 'YOUR_SECRET';

/** A command line that posts one audit record. It names the file of the secret, or has a placeholder, never the secret. */
export function sampleCommand({ baseUrl, source, secretFile }: SampleTarget): string {
  const secret = secretFile === undefined ? SECRET_PLACEHOLDER : `$(cat ${secretFile})`;
  const body = sampleBody(Date.now());
  return `curl -H "Authorization: Bearer ${secret}" -d '${body}' ${baseUrl}/ingest/${source}/AUDIT_LOG_ALL`;
}

/** The body of an audit delivery, as the specification has it. */
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
