import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { onTestFinished } from 'vitest';
import type { TestCertificate } from '../../support/certificates.ts';
import { endless } from '../../support/stand-in.ts';
import { listen } from '../../support/listen.ts';

/** A mail as the server received it, whether or not it accepted it. */
export interface ReceivedMail {
  readonly recipients: readonly string[];
  readonly isEncrypted: boolean;
  readonly user: unknown;
  /** By their names in lower case, unfolded. */
  readonly headers: Readonly<Record<string, string>>;
  /** Decoded, with line feeds. */
  readonly body: string;
}

/** An answer other than 250. */
interface Answer {
  readonly code: number;
  readonly text: string;
}

/** What the server answers; undefined for what it usually does. */
export interface MailScript {
  readonly logIn?: (user: string | undefined, password: string | null | undefined) => Answer | undefined;
  readonly recipient?: (address: string) => Answer | undefined;
  readonly sender?: Answer;
  /** After the content. `cut` and `half` break the connection, `silent` never answers, `endless` never stops. */
  readonly content?: (
    mail: ReceivedMail,
    index: number,
  ) => Answer | 'cut' | 'half' | 'silent' | 'endless' | undefined;
}

/** Starts a mail server on loopback, with STARTTLS if there is a certificate; it ends with the test. */
export async function mailServer(
  script: MailScript = {},
  certificate?: TestCertificate,
  more: SMTPServerOptions = {},
): Promise<{ readonly port: number; readonly mails: readonly ReceivedMail[] }> {
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    disableReverseLookup: true,
    authOptional: script.logIn === undefined,
    disabledCommands: [
      ...(certificate === undefined ? ['STARTTLS'] : []),
      ...(script.logIn === undefined ? ['AUTH'] : []),
    ],
    ...(certificate && { cert: certificate.cert, key: certificate.key }),
    closeTimeout: 100,
    logger: false,
    onAuth({ username, password }, _session, done) {
      const refusal = script.logIn?.(username, password);
      done(refusal && failure(refusal), { user: username });
    },
    onMailFrom: (_address, _session, done) => done(script.sender && failure(script.sender)),
    onRcptTo({ address }, _session, done) {
      const refusal = script.recipient?.(address);
      done(refusal && failure(refusal));
    },
    onData(stream, session, done) {
      void (async () => {
        const user: unknown = session.user;
        const recipients = session.envelope.rcptTo.map(({ address }) => address);
        // A client that gives up is not a failure of the test.
        const content = await text(stream).catch(() => undefined);
        if (content === undefined) return;
        const mail = { ...readMail(content), recipients, isEncrypted: session.secure, user };
        mails.push(mail);
        const reply = script.content?.(mail, mails.length - 1);
        const [{ _socket: socket } = {}] = server.connections;
        if (reply === 'cut') socket?.destroy();
        else if (reply === 'half') socket?.end('25');
        else if (reply === 'endless') endless(socket);
        else if (reply !== 'silent') done(reply && failure(reply));
      })();
    },
    ...more,
  });
  server.on('error', () => undefined);
  onTestFinished(() => new Promise((resolve) => server.close(resolve)));
  return { port: await listen(server.server), mails };
}

const failure = ({ code, text: message }: Answer) =>
  Object.assign(new Error(message), { responseCode: code });

function readMail(raw: string): Pick<ReceivedMail, 'headers' | 'body'> {
  const end = raw.indexOf('\r\n\r\n');
  const lines = raw
    .slice(0, end)
    .replaceAll(/\r\n(?=[ \t])/g, '')
    .split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split(': ');
      return [name.toLowerCase(), decodeWords(value.join(': '))] as const;
    }),
  );
  const body = raw.slice(end + 4).replaceAll('\r\n', '\n');
  const encoding = headers['content-transfer-encoding'];
  return { headers, body: encoding === undefined ? body : decode(body, encoding) };
}

/** The words of a header in the encoding of RFC 2047. */
const decodeWords = (value: string) =>
  value
    .replaceAll(/(\?=)\s+(=\?)/g, '$1$2')
    .replaceAll(/=\?UTF-8\?([QB])\?([^?]*)\?=/g, (_all, encoding: string, word: string) =>
      encoding === 'Q' ? decode(word.replaceAll('_', ' '), 'quoted-printable') : decode(word, 'base64'),
    );

function decode(text: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(text, 'base64').toString().replaceAll('\r\n', '\n');
  if (encoding !== 'quoted-printable') return text;
  const bytes = text
    .replaceAll('=\n', '')
    .replaceAll(/=([\dA-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
