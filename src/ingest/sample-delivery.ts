import { quoteForShell } from '../lib/text/command-name.ts';

interface SampleTarget {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly source: string;
  readonly secretFile: string | undefined;
}

/** What a person has to replace in a sample delivery without a secret file. */
export const SECRET_PLACEHOLDER = 'YOUR_SECRET';

/** The arguments of the body: the least that shows who did what and when, with the time at which the command runs. */
const FIRST_EVENT = [
  `-d '[{"timeStamp":'$(date +%s000)',"code":10001,`,
  `    "userName":"admin@example.com","description":"Login"}]'`,
].join('\n  ');

/**
 * A command that posts one audit record, on lines that fit a terminal of 80 columns with an indent of 2. It names the
 * file of the secret, or has a placeholder, never the secret.
 */
export function sampleCommand({ baseUrl, source, secretFile }: SampleTarget): string {
  const secret = secretFile === undefined ? SECRET_PLACEHOLDER : `$(cat ${quoteForShell(secretFile)})`;
  return [
    `curl -H "Authorization: Bearer ${secret}"`,
    FIRST_EVENT,
    `${baseUrl}/ingest/${source}/AUDIT_LOG_ALL`,
  ].join(' \\\n  ');
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
