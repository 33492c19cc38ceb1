import type { Format } from '../stored-event.ts';
import { compilePlan } from './document.ts';
import { factsOf } from './facts.ts';
import { OCSF_COMMON, OCSF_ROWS } from './ocsf-tables.ts';
import type { OcsfRow } from './ocsf-tables.ts';
import { PRODUCT, VENDOR } from './product.ts';
import { eachKind } from './record-kind.ts';

const classConstants = ({ classUid, activityId, severityId }: OcsfRow) => ({
  category_uid: Math.floor(classUid / 1000),
  class_uid: classUid,
  activity_id: activityId,
  type_uid: classUid * 100 + activityId,
  severity_id: severityId,
});

const PLANS = eachKind((kind) => {
  const row = OCSF_ROWS[kind];
  return compilePlan({
    constants: {
      ...classConstants(row),
      'metadata.version': '1.5.0',
      'metadata.product.vendor_name': VENDOR,
      'metadata.product.name': PRODUCT,
      ...row.constants,
    },
    mappings: [...OCSF_COMMON, ...row.mappings],
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
