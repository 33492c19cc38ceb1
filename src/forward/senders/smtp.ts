import { domainToASCII } from 'node:url';
import { createTransport, type NodemailerError } from 'nodemailer';
import { z } from 'zod';
import { OutageError } from '../../lib/errors.ts';
import { revealOnLine } from '../../lib/text/hidden-characters.ts';
import { isLoopbackHost } from '../../lib/loopback.ts';
import { createSecrets, type Secrets } from '../../lib/secrets.ts';
import { BOM } from '../../lib/text/csv.ts';
import { countOf } from '../../lib/text/units.ts';
import type { BatchLimits } from '../batch-events.ts';
import { cut } from '../formats/line-formats.ts';
import { reportCsv } from '../../store/reports/reports.ts';
import { textOf } from '../report-document.ts';
import { BatchRefusedError, EndpointRefusedError, type Message, type Sender, batchId } from '../sender.ts';
import {
  hostOption,
  portOption,
  timeoutOption,
  tlsConnectionOptions,
  tlsOptions,
} from './connection-options.ts';

/** With the domain as the library reports it, so that recipients can be compared. */
const address = z
  .string()
  .regex(/^[^\s<>@,;:"()\\]+@[^\s<>@,;:"()\\]+$/, 'must be an address such as noc@example.com')
  .transform((text) => {
    const [local = '', domain = ''] = text.split('@');
    return `${local}@${domainToASCII(domain) || domain}`;
  });

const IMPLICIT_TLS_PORT = 465;

export const smtpOptions = z
  .strictObject({
    host: hostOption,
    port: portOption(587),
    /** `tls` encrypts from the first byte; `starttls` requires the upgrade. By default as port and host suggest. */
    security: z.enum(['starttls', 'tls', 'none'], 'must be starttls, tls or none').optional(),
    tls: tlsOptions.optional(),
    auth: z
      .strictObject({
        user: z.string().min(1, 'must be a user name'),
        password: z.string().min(1, 'must be a password'),
      })
      .optional(),
    from: address,
    to: z
      .union(
        [address.transform((one) => [one]), z.array(address).min(1)],
        'must be one or more mail addresses',
      )
      .pipe(z.array(z.string())),
    /** `{events}` is the number of events, such as "3 events"; `{first}` the beginning of the first one. */
    subject: z.string().min(1, 'must be a text').default('{events}: {first}'),
    /** For the whole mail, from connecting to the answer. Servers may scan a mail before they answer. */
    timeout_seconds: timeoutOption(600, 60),
  })
  .transform((options) => ({ ...options, security: options.security ?? usualSecurity(options) }))
  .refine(({ auth, security, host }) => auth === undefined || security !== 'none' || isLoopbackHost(host), {
    path: ['security'],
    message: 'must not be none: auth would send the password in clear text',
  });

type SmtpOptions = z.output<typeof smtpOptions>;

/** A relay on this machine rarely has a certificate that can be verified, and nobody reads along. */
function usualSecurity({ host, port }: { readonly host: string; readonly port: number }) {
  if (port === IMPLICIT_TLS_PORT) return 'tls';
  return isLoopbackHost(host) ? 'none' : 'starttls';
}

export const SMTP_LIMITS: BatchLimits = { events: 50, bytes: 900_000, seconds: 10 };

/** Longer subjects are cut off in lists of mails. */
const MAX_FIRST_LENGTH = 150;

const CSV_FILE = { contentType: 'text/csv; charset=utf-8' };

/** How much of an answer an error quotes, in characters. */
const MAX_QUOTED = 300;

/**
 * Sends each batch as one mail of plain text, over a connection of its own: mails are rare, and servers close idle
 * connections. Accepted when the server has accepted it for all recipients. After a partial success, the same sender
 * resends the batch only to the remaining ones. A report is attached as CSV.
 */
export function createSmtpSender(options: SmtpOptions): Sender {
  const { host, port, from, to } = options;
  const domain = from.slice(from.indexOf('@') + 1);
  const name = `smtp at ${host}:${port}`;
  const secrets = secretsOf(options);
  const closing = new AbortController();
  const transport = createTransport(transportOptions(options));
  let delivered: { readonly messageId: string; readonly recipients: Set<string> } | undefined;

  async function sendMail(
    id: string,
    content: {
      readonly subject: string;
      readonly text: string;
      readonly attachments?: { filename: string; content: string; contentType: string }[];
    },
  ): Promise<void> {
    const messageId = `<${id}@${domain}>`;
    if (delivered?.messageId !== messageId) delivered = { messageId, recipients: new Set() };
    const { recipients } = delivered;
    const remaining = to.filter((recipient) => !recipients.has(recipient));
    const timeout = AbortSignal.timeout(options.timeout_seconds * 1_000);
    const sent = await transport
      .sendMail({
        from: { name: '', address: from },
        to: to.map((recipient) => ({ name: '', address: recipient })),
        envelope: { from, to: remaining },
        ...content,
        messageId,
        // Vacation notices must not answer, and some lists sort by it (RFC 3834).
        headers: { 'Auto-Submitted': 'auto-generated' },
        signal: AbortSignal.any([timeout, closing.signal]),
      })
      .catch((error: NodemailerError) => {
        throw failureOf(name, error, secrets);
      });
    for (const recipient of sent.accepted) recipients.add(recipient);
    const failures = sent.rejectedErrors ?? [];
    const failure = failures.find(({ permanent }) => permanent === true) ?? failures[0];
    if (failure !== undefined) throw failureOf(name, failure, secrets);
    delivered = undefined;
  }

  return {
    async send(batch) {
      const text = batch.map((message) => message.text).join('\n\n');
      await sendMail(batchId(batch), { subject: subjectOf(batch, options.subject), text });
      return [];
    },
    sendReport: (report) =>
      sendMail(`report_${report.id}`, {
        subject: revealOnLine(`${report.title}, ${report.period}`),
        text: textOf(report),
        attachments: [{ ...CSV_FILE, filename: `${report.id}.csv`, content: BOM + reportCsv(report.rows) }],
      }),
    close: () => Promise.resolve(closing.abort()),
  };
}

function transportOptions({ host, port, security, tls, auth }: SmtpOptions) {
  return {
    host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    tls: tlsConnectionOptions(tls),
    // Without it, a mail would go out without a login if the server does not offer one.
    forceAuth: true,
    ...(auth === undefined ? {} : { auth: { user: auth.user, pass: auth.password } }),
  };
}

/** The password, also as the commands of the protocol contain it, which an answer may quote. */
function secretsOf({ auth }: SmtpOptions): Secrets {
  if (auth === undefined) return createSecrets();
  const { user, password } = auth;
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  return createSecrets([base64(`\0${user}\0${password}`), base64(password), password]);
}

/** The template with its values, on one line whatever the events contain. */
function subjectOf(batch: readonly Message[], template: string): string {
  const first = cut(revealOnLine(batch[0]?.text ?? ''), MAX_FIRST_LENGTH);
  const values: Readonly<Record<string, string>> = {
    '{events}': countOf(batch.length, 'event'),
    '{first}': first,
  };
  return revealOnLine(
    template.replaceAll(/\{(?:events|first)\}/g, (placeholder) => values[placeholder] ?? ''),
  );
}

/**
 * The error that a failed mail means for its batch (RFC 5321, section 4.2.1): 4yz and no answer may pass, 5yz stays. After
 * the content, a 5yz is about the content; before it, about us, the sender or a recipient.
 */
function failureOf(name: string, error: NodemailerError, secrets: Secrets): Error {
  const { code, response, recipient, permanent } = error;
  const about = recipient === undefined ? '' : ` for ${recipient}`;
  const quoted = cut(revealOnLine(secrets.hide(error.message)), MAX_QUOTED);
  const message = `${name} did not accept the mail${about}: ${quoted}`;
  // An error with an answer repeats it, secrets included.
  const options = response === undefined ? { cause: error } : {};
  if (code === 'EMESSAGE' && permanent !== false) return new BatchRefusedError(message, options);
  const isSetting = permanent ?? (code === 'EAUTH' || code === 'EENVELOPE');
  return isSetting ? new EndpointRefusedError(message, options) : new OutageError(message, options);
}
