import type { Format } from '../stored-event.ts';
import { compilePlan } from './document.ts';
import type { Mapping } from './document.ts';
import { factsOf } from './facts.ts';
import { OCSF_COMMON, OCSF_ROWS } from './ocsf-tables.ts';
import type { OcsfRow } from './ocsf-tables.ts';
import { PRODUCT, VENDOR } from './product.ts';
import { text } from './readings.ts';
import type { Reading } from './readings.ts';
import { eachKind } from './record-kind.ts';

const STATUS_IDS: ReadonlyMap<string, number> = new Map([
  ['unknown', 0],
  ['success', 1],
  ['failure', 2],
]);

const LOW = 2;

const statusId: Reading = (fact) => STATUS_IDS.get(text(fact));
const severityOfFailure: Reading = (fact) => (fact === 'failure' ? LOW : undefined);

const OUTCOME: readonly Mapping[] = [
  ['outcome', 'status_id', statusId],
  ['outcome', 'severity_id', severityOfFailure],
];

const classConstants = ({ classUid, activityId, severityId }: OcsfRow) => ({
  category_uid: Math.floor(classUid / 1000),
  class_uid: classUid,
  activity_id: activityId,
  type_uid: classUid * 100 + activityId,
  severity_id: severityId,
});

const PLANS = eachKind((kind, { name }) => {
  const row = OCSF_ROWS[kind];
  return compilePlan({
    constants: {
      ...classConstants(row),
      activity_name: name,
      'metadata.version': '1.5.0',
      'metadata.product.vendor_name': VENDOR,
      'metadata.product.name': PRODUCT,
      ...row.constants,
    },
    mappings: [...OCSF_COMMON, ...OUTCOME, ...row.mappings],
    rest: 'unmapped',
  });
});

/**
 * OCSF 1.5.0. What a class requires is there even when the record does not tell it ("Unknown", type 0); what a class
 * has no attribute for stands in `unmapped`.
 */
export const formatOcsf: Format = (event) => {
  const facts = factsOf(event);
  return JSON.stringify(PLANS[facts.kind](facts));
};
