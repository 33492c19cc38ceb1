import { z } from 'zod';
import type { Clock } from '../../src/lib/clock.ts';
import { found } from '../http/errors.ts';
import { int64, int64Path } from '../http/int64.ts';
import { queryBoolean } from '../http/query.ts';
import { array, object, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { locationsIn } from '../world/locations.ts';
import type { Location } from '../world/locations.ts';
import { timestamp } from '../world/seeding.ts';
import type { World } from '../world/world.ts';

const KINDS = { building: 'Building', floor: 'Floor' } as const;

const locationSchema = z.object({
  id: int64,
  parent_id: int64.nullable(),
  name: z.string(),
  unique_name: z.string(),
  type: z.string(),
  create_time: z.string(),
  update_time: z.string(),
  children: z.array(z.looseObject({ id: int64 })).describe('locations in this one, with the same members'),
});

/** Members of a floor that the vendor's schema requires. */
const FLOOR_MEMBERS = {
  environment: 'OFFICE',
  db_attenuation: 15,
  measurement_unit: 'METERS',
  installation_height: 4,
};

const renaming = z.object({ id: int64Path, body: z.looseObject({ name: z.string().min(1) }) });

/**
 * Locations. The specification has only their permissions; paths and members are those of the published interface.
 */
export function locationRoutes({ world, clock }: { world: World; clock: Clock }): Route[] {
  const { locations } = world;

  function recordOf(location: Location, expands: boolean): z.output<typeof locationSchema> {
    const { id, parentId, name, type, createdAt, updatedAt } = location;
    return {
      id,
      parent_id: parentId,
      name,
      unique_name: `${name} (${id})`,
      type,
      create_time: timestamp(createdAt),
      update_time: timestamp(updatedAt),
      children: expands ? locationsIn(locations, location).map((child) => recordOf(child, true)) : [],
    };
  }

  return [
    route(
      'GET',
      '/locations/tree',
      'List the outermost locations, or those in one, with all that they contain',
      {
        access: ['locations:r'],
        input: z.object({
          query: z.object({ parentId: int64Path.optional(), expandChildren: queryBoolean.default(true) }),
        }),
        success: array(locationSchema),
        handle({ query: { parentId, expandChildren } }) {
          const parent =
            parentId === undefined ? undefined : found(locations.get(parentId), 'location', parentId);
          return locationsIn(locations, parent).map((location) => recordOf(location, expandChildren));
        },
      },
    ),
    ...(['building', 'floor'] as const).map((kind) =>
      route('PUT', `/locations/${kind}/{id}`, `Rename a ${kind}`, {
        access: ['locations'],
        input: renaming,
        success: object(locationSchema.loose()),
        handle({ id, body: { name } }) {
          const location = locations.get(id);
          const renamed = found(location?.type === KINDS[kind] ? location : undefined, kind, id);
          Object.assign(renamed, { name, updatedAt: clock.now() });
          return { ...recordOf(renamed, false), ...(kind === 'floor' && FLOOR_MEMBERS) };
        },
      }),
    ),
  ];
}
