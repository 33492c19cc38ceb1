import { z } from 'zod';
import { badRequest } from './api-error.ts';
import { faultsChangeSchema, faultsSchema } from './faults.ts';
import type { FaultSwitch } from './faults.ts';
import { empty, noInput, object, openRoute } from './route.ts';
import type { Route } from './route.ts';
import type { EmulatorStatus } from './status.ts';
import { statusSchema } from './status.ts';
import type { Tokens } from './tokens.ts';

interface Needs {
  faults: FaultSwitch;
  tokens: Tokens;
  status: () => EmulatorStatus;
}

/** Ours, not the cloud's: what the emulator did, and what it shall do wrong. Neither needs a token. */
export function controlRoutes({ faults, tokens, status }: Needs): Route[] {
  const tag = 'Emulator';
  return [
    openRoute({
      method: 'GET',
      path: '/emulator/status',
      tag,
      summary: 'What was sent and how it was answered',
      access: 'control',
      input: noInput,
      success: object(statusSchema),
      handle: status,
    }),
    openRoute({
      method: 'POST',
      path: '/emulator/faults',
      tag,
      summary: 'Misbehave',
      access: 'control',
      input: z.object({ body: faultsChangeSchema }),
      success: object(faultsSchema),
      handle({ body: { revoke_token: token, ...changes } }) {
        if (token === '*') tokens.revokeAll();
        else if (token !== undefined && !tokens.revoke(token)) {
          throw badRequest('body.revoke_token: this emulator did not issue it');
        }
        return faults.change(changes);
      },
    }),
    openRoute({
      method: 'DELETE',
      path: '/emulator/faults',
      tag,
      summary: 'Behave again',
      access: 'control',
      input: noInput,
      success: empty(204),
      handle() {
        faults.reset();
      },
    }),
  ];
}
