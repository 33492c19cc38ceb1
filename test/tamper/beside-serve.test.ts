import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { useDatabase } from '../support/use-database.ts';
import { auditRecord } from '../support/deliveries.ts';
import { directoryForTest, serveForTest } from '../support/for-one-test.ts';
import { endOfProgram, postDelivery } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

/** Events that are received while everything is compared again and again. */
const EVENTS = Number(process.env['HONEST_EVENTS'] ?? 10_000);
const RECORDS = 20;
const SENDERS = 8;

const TEXTS = ['logged in', 'Grüße \u2028 \\ "', '{"a":[1,2]}', 'a\r\nb\t', '=cmd|calc', ' ', '𝄞', '50 %'];

const test = useDatabase();

/** Records of three types, with numbers and texts that a database might write in another way than it was sent. */
function bodyOf(number: number): { readonly messageType: string; readonly body: readonly unknown[] } {
  const timeStamp = Date.now() - (number % 97) * 86_400_000;
  const text = TEXTS[number % TEXTS.length] ?? '';
  if (number % 10 === 0) {
    const observations = Array.from({ length: RECORDS }, (_, at) => ({
      clientMac: `00:11:22:33:44:${(at % 90) + 10}`,
      seenEpoch: timeStamp,
      rssi: -50,
      x: 1.5 + number / 3,
      y: 1e-7,
      ssid: text,
    }));
    return { messageType: 'LOCATION_AP_CENTRIC', body: [{ orgId: 5, apMac: '001122334455', observations }] };
  }
  const records = Array.from({ length: RECORDS }, (_, at) =>
    auditRecord({
      timeStamp,
      userId: number * RECORDS + at,
      description: `${text} ${at}`,
      userName: `${text}@example.com`,
    }),
  );
  return { messageType: number % 3 === 0 ? 'AUTHENTICATION_LOG_ALL' : 'AUDIT_LOG_ALL', body: records };
}

it(`raises no alarm over ${EVENTS} events that arrive beside it`, async () => {
  const settings = { DATABASE_URL: test.databaseUrl, DATA_DIR: await directoryForTest() };
  const program = await serveForTest(settings);
  const load = { sent: 0 };
  const send = async () => {
    while (load.sent * RECORDS < EVENTS) {
      const { messageType, body } = bodyOf(load.sent);
      load.sent += 1;
      // Some deliveries come twice, and some have a record that goes to quarantine.
      const copies = load.sent % 50 === 0 ? 2 : 1;
      const whole = load.sent % 70 === 0 ? [...body, 'no record'] : body;
      for (let copy = 0; copy < copies; copy += 1) {
        const response = await postDelivery(program, messageType, whole);
        await response.text();
        // More than it keeps up with is refused for a while.
        if (response.status === 503) await sleep(100);
        else if (response.status !== 200) throw new Error(`a delivery was answered ${response.status}`);
      }
    }
  };
  const alarms: string[] = [];
  const rounds = { verify: 0, doctor: 0 };
  const compare = async () => {
    const verified = await endOfProgram(settings, 'verify', '--json');
    const lines = verified.stdout.toString().trim().split('\n');
    rounds.verify += 1;
    alarms.push(...lines.slice(0, -1), ...(verified.code === 0 ? [] : [`verify: ${verified.stderr}`]));
    const { stdout } = await endOfProgram(settings, 'doctor', '--json');
    rounds.doctor += 1;
    alarms.push(...stdout.toString().split('\n').filter(isAlarm));
    return lines.at(-1) ?? '';
  };
  const sending = Promise.all(Array.from({ length: SENDERS }, send));
  while (load.sent * RECORDS < EVENTS) await compare();
  await sending;
  await waitFor(
    async () =>
      (await (await fetch(`${program.adminUrl}/metrics`)).text()).includes(
        '\nxiq_sink_queue_jobs{state="waiting"} 0\n',
      ),
    120_000,
  );
  const last = await compare();
  process.stdout.write(`${JSON.stringify(rounds)}, the last: ${last}\n`);
  expect(alarms).toEqual([]);
}, 3_600_000);

/** What doctor says of proof: it has other warnings for the server of the tests, and counts what is in quarantine. */
const isAlarm = (line: string) =>
  /"check":"(?:conservation|schema|seal)","status":"(?:warn|fail)"/.test(line) &&
  !/"message":"[\d,]+ deliveries add up;/.test(line);
