import { z } from 'zod';
import { CLOUD_TYPES } from '../../src/events/domain.ts';
import type { CloudType } from '../../src/events/domain.ts';
import { badRequest } from '../http/errors.ts';
import { faultsChangeSchema, faultsSchema } from '../sending/faults.ts';
import type { FaultSwitch } from '../sending/faults.ts';
import { DIALECTS } from '../dialects.ts';
import { empty, noInput, object, openRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import type { Tokens } from '../access/tokens.ts';
import { SECRET_FORMS } from '../sending/secret-forms.ts';
import { tallySchema } from '../sending/tally.ts';

/** The answer of `GET /emulator/status`, with counts since the start. */
export const statusSchema = z.object({
  seed: z.int(),
  rate: z.number().describe('Deliveries per second'),
  secret_form: z.enum(SECRET_FORMS),
  dialect: z.enum(DIALECTS),
  in_flight: z.int().describe('Deliveries in flight'),
  subscriptions: z.object({ enabled: z.int(), disabled: z.int() }),
  sent: tallySchema,
  logs: z.record(z.string(), z.int()).describe('Records in each log'),
  faults: faultsSchema,
});

export type EmulatorStatus = z.output<typeof statusSchema>;

/** The most events that one call causes. */
const MAX_EVENTS = 10_000;

interface Needs {
  faults: FaultSwitch;
  tokens: Tokens;
  status: () => EmulatorStatus;
  /** Causes an event. */
  happen: (type: CloudType) => void;
}

/** Calls that the cloud does not have: delivery counts, simulated failures and events. They need no token. */
export function controlRoutes({ faults, tokens, status, happen }: Needs): Route[] {
  return [
    openRoute('GET', '/emulator/status', 'Get the counts of deliveries and their answers', {
      access: 'control',
      input: noInput,
      success: object(statusSchema),
      handle: status,
    }),
    openRoute('POST', '/emulator/faults', 'Simulate failures', {
      access: 'control',
      input: z.object({ body: faultsChangeSchema }),
      success: object(faultsSchema),
      handle({ body: { revoke_token: token, ...changes } }) {
        if (token === '*') tokens.revokeAll();
        else if (token !== undefined && !tokens.revoke(token)) {
          throw badRequest('body.revoke_token: not issued by this emulator');
        }
        return faults.change(changes);
      },
    }),
    openRoute('DELETE', '/emulator/faults', 'End all simulated failures', {
      access: 'control',
      input: noInput,
      success: empty(204),
      handle() {
        faults.reset();
      },
    }),
    openRoute('POST', '/emulator/events', 'Cause events at once, whatever the rate', {
      access: 'control',
      input: z.object({
        body: z.strictObject({
          type: z.enum(CLOUD_TYPES),
          count: z.int().min(1).max(MAX_EVENTS).default(1),
        }),
      }),
      success: empty(204),
      handle({ body: { type, count } }) {
        for (let caused = 0; caused < count; caused += 1) happen(type);
      },
    }),
  ];
}
