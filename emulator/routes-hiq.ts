import { z } from 'zod';
import { ApiError, badRequest } from './api-error.ts';
import { int64 } from './int64.ts';
import { array, empty, noInput, object, route } from './route.ts';
import type { Route } from './route.ts';
import type { Account } from './world.ts';

const contextSchema = z.object({ reading_org_ids: z.array(int64), creating_org_id: int64 });

interface Needs {
  account: Account;
  /** Whether the account has the HIQ feature; without it every one of these calls is denied. */
  isHiq: boolean;
}

/** Specification, HIQ context. */
export function hiqRoutes({ account, isHiq }: Needs): Route[] {
  const tag = 'HIQ context';

  function requireHiq(): void {
    if (!isHiq) throw new ApiError(403, 'PERMISSION_DENIED', 'This account does not have the HIQ feature');
  }

  function organization(id: number | bigint): number {
    const known = account.organizations.find((candidate) => candidate.id === id);
    if (known === undefined) throw badRequest(`body: there is no organization ${id}`);
    return known.id;
  }

  function read<T>(value: () => T): () => T {
    return () => {
      requireHiq();
      return value();
    };
  }

  return [
    route({
      method: 'GET',
      path: '/hiq/context',
      tag,
      summary: 'Organizations that are read, and the one that new data goes to',
      access: ['hiq.ctx:r', 'hiq:r'],
      input: noInput,
      success: object(contextSchema),
      handle: read(() => ({
        reading_org_ids: account.readingOrgIds,
        creating_org_id: account.creatingOrgId,
      })),
    }),
    route({
      method: 'PUT',
      path: '/hiq/context',
      tag,
      summary: 'Choose both',
      access: ['hiq.ctx:w', 'hiq'],
      input: z.object({ body: contextSchema }),
      success: empty(),
      handle({ body }) {
        requireHiq();
        const reading = body.reading_org_ids.map(organization);
        account.creatingOrgId = organization(body.creating_org_id);
        account.readingOrgIds = reading;
      },
    }),
    route({
      method: 'GET',
      path: '/hiq/context/creating',
      tag,
      summary: 'The organization that new data goes to',
      access: ['hiq.ctx:r', 'hiq:r'],
      input: noInput,
      success: object(int64),
      handle: read(() => account.creatingOrgId),
    }),
    route({
      method: 'PUT',
      path: '/hiq/context/creating',
      tag,
      summary: 'Choose the organization that new data goes to',
      access: ['hiq.ctx:w', 'hiq'],
      input: z.object({ body: int64 }),
      success: empty(),
      handle({ body }) {
        requireHiq();
        account.creatingOrgId = organization(body);
      },
    }),
    route({
      method: 'GET',
      path: '/hiq/context/reading',
      tag,
      summary: 'The organizations that are read',
      access: ['hiq.ctx:r', 'hiq:r'],
      input: noInput,
      success: array(int64),
      handle: read(() => account.readingOrgIds),
    }),
  ];
}
