import { expect, test } from 'vitest';
import { countRefused, enterAnswer, openLedger } from './ledger.ts';
import type { Payload } from './payloads.ts';

const PAYLOAD: Payload = { messageType: 'AUDIT_LOG_ALL', body: '[]', numbers: [1], isReadable: true };
const ID = '01890a5d-ac96-774b-bcce-b302099a8057';

test('a receipt and a 400 that names its delivery are obligations', () => {
  const ledger = openLedger();
  expect(enterAnswer(ledger, PAYLOAD, 200, `{"delivery_id":"${ID}"}`)).toBe(true);
  const kept = `{"error_message":"not JSON; it is kept in quarantine as delivery ${ID}"}`;
  expect(enterAnswer(ledger, PAYLOAD, 400, kept)).toBe(false);
  expect(ledger).toMatchObject({ acknowledged: 1, quarantined: 1, refused: {} });
  expect(ledger.obligations.map(({ deliveryId }) => deliveryId)).toEqual([ID, ID]);
});

test('a 2xx without a delivery id is an obligation, too', () => {
  const ledger = openLedger();
  enterAnswer(ledger, PAYLOAD, 200, '<html>');
  expect(ledger.obligations).toEqual([{ deliveryId: '', payload: PAYLOAD }]);
});

test('every other answer is a refusal, by its status', () => {
  const ledger = openLedger();
  for (const status of [503, 503, 429, 400, 500]) enterAnswer(ledger, PAYLOAD, status, '{}');
  expect(ledger.refused).toEqual({ 400: 1, 429: 1, 500: 1, 503: 2 });
  expect(countRefused(ledger)).toBe(5);
  expect(ledger.obligations).toEqual([]);
});
