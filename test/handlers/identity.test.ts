import { expect, it } from 'vitest';
import { quarantineId } from '../../src/handlers/identity.ts';

const UUID_8 = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

it('the id in quarantine is one of its own for each part of each delivery, the same at every run', () => {
  const deliveries = ['01890a5d-ac96-774b-bcce-b302099a8057', '01890a5d-ac96-774b-bcce-b302099a8058'];
  const ids = deliveries.flatMap((delivery) => [0, 1, 10].map((ordinal) => quarantineId(delivery, ordinal)));
  expect(new Set(ids).size).toBe(6);
  for (const id of ids) expect(id).toMatch(UUID_8);
  expect(quarantineId('01890a5d-ac96-774b-bcce-b302099a8057', 0)).toBe(ids[0]);
});
