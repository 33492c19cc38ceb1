import { z } from 'zod';
import { faultsSchema } from './faults.ts';
import { SECRET_FORMS } from './secret-forms.ts';
import { tallySchema } from './tally.ts';

/** Answer of `GET /emulator/status`; counts are of this run. */
export const statusSchema = z.object({
  seed: z.int(),
  rate: z.number().describe('Deliveries a second'),
  secret_form: z.enum(SECRET_FORMS),
  in_flight: z.int().describe('Deliveries under way'),
  subscriptions: z.object({ enabled: z.int(), disabled: z.int() }),
  sent: tallySchema,
  logs: z.record(z.string(), z.int()).describe('Records each log lists'),
  faults: faultsSchema,
});

export type EmulatorStatus = z.output<typeof statusSchema>;
