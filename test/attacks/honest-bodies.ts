import type { CloudType } from '../../src/events/domain.ts';

/** A body as the cloud might send it, with the ids and coordinates that cost the most. */
export interface HonestBody {
  readonly messageType: CloudType;
  readonly records: number;
  /** The events that it becomes. */
  readonly rows: number;
  readonly text: string;
}

/** 19 digits, beyond what a JavaScript number holds. */
const id = (n: number) => `9007199254${String(700_000_000 + ((n * 7_919) % 100_000_000)).padStart(9, '0')}`;
/** A coordinate with 17 digits. */
const long = (n: number) =>
  `51.507${String(350_000_000_000 + ((n * 104_729) % 100_000_000)).padEnd(12, '7')}`;
const mac = (n: number) => (0xaabbcc000000 + n).toString(16);
const TIME = 1_795_000_500_000;

const observation = (n: number) =>
  `{"clientMac":"${mac(n)}","seenEpoch":${TIME + n},"rssi":-61.5,"lat":${long(n)},"lng":${long(n + 1)}}`;

/** The members of each message type beside ids and time. */
const MEMBERS: Readonly<Record<CloudType, (n: number) => string>> = {
  LOCATION_AP_CENTRIC: (n) => `"apMac":"${mac(n % 100)}","observations":[${observation(n)}]`,
  LOCATION_CLIENT_CENTRIC: (n) =>
    `"clientMac":"${mac(n)}","lat":${long(n)},"lng":${long(n + 1)},"deviceObservers":[{"apMac":"${mac(n % 100)}","rssi":-70}]`,
  AUDIT_LOG_ALL: (n) => `"code":10001,"category":1,"description":"Login","userName":"admin${n}@example.com"`,
  GDPR_LOG_ALL: (n) => `"status":"DONE","category":"EXPORT","username":"admin${n}","clientMac":"${mac(n)}"`,
  CREDENTIAL_LOG_ALL: (n) => `"username":"guest${n}","vhmId":"${id(n)}"`,
  ACCOUNTING_LOG_ALL: (n) =>
    `"username":"guest${n}","acctSessionId":"${id(n)}","acctInputOctets":${id(n)},"acctOutputOctets":${id(n + 1)}`,
  AUTHENTICATION_LOG_ALL: (n) => `"username":"guest${n}","authType":"PEAP","reply":"Access-Accept"`,
  EMAIL_LOG_ALL: (n) => `"username":"guest${n}","customerId":"${id(n)}","status":"SENT"`,
  SMS_LOG_ALL: (n) => `"username":"guest${n}","tel":"+4930${n}","messageId":"${id(n)}","status":"SENT"`,
  ALERT: (n) =>
    `"summary":"Device offline","severityId":1,"source":{"sourceId":"${id(n)}","sourceName":"ap${n}"}`,
};

/** So many records of a message type. `run` makes the records of one body others than those of the next. */
export function honestBody(messageType: CloudType, records: number, run: number): HonestBody {
  const record = (_: unknown, index: number) => {
    const n = run * 100_000 + index;
    const text = `{"ownerId":${id(n)},"orgId":${id(1)},"timeStamp":${TIME + n},"id":${id(n)},${MEMBERS[messageType](n)}`;
    return `${text},"note":"${'x'.repeat(Math.max(0, 285 - text.length))}"}`;
  };
  return { messageType, records, rows: records, text: `[${Array.from({ length: records }, record).join()}]` };
}

/** Records of one access point each, with so many observations. */
export function observedBody(records: number, observations: number, run: number): HonestBody {
  const record = (_: unknown, index: number) => {
    const first = run * 100_000 + index * observations;
    const list = Array.from({ length: observations }, (__, n) => observation(first + n));
    return `{"ownerId":${id(run)},"apMac":"${mac(index)}","observations":[${list.join()}]}`;
  };
  const text = `[${Array.from({ length: records }, record).join()}]`;
  return { messageType: 'LOCATION_AP_CENTRIC', records, rows: records * observations, text };
}
