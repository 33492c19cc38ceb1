import { byId } from './seeding.ts';
import type { Seeding } from './seeding.ts';

/** A location: the site, a building, or a floor with devices. */
export interface Location {
  id: number;
  parentId: number | null;
  name: string;
  type: 'Location Group' | 'Building' | 'Floor';
  latitude: number;
  longitude: number;
  /** Epoch milliseconds. */
  createdAt: number;
  updatedAt: number;
}

/** Width and depth of every floor, in metres. */
export const FLOOR = { width: 60, depth: 40 } as const;

const FLOORS_PER_BUILDING = 3;
const DEVICES_PER_BUILDING = 20;
/** Degrees of latitude between one building and the next, some 200 m. */
const BUILDING_DISTANCE = 0.002;

/** One site, with one building of three floors for every twenty devices. */
export function seedLocations({ scale, now, nextId }: Seeding): Map<string, Location> {
  const site: Location = {
    id: nextId(),
    parentId: null,
    name: 'Campus',
    type: 'Location Group',
    latitude: 47.3769,
    longitude: 8.5417,
    createdAt: now,
    updatedAt: now,
  };
  const count = Math.max(1, Math.ceil(scale.devices / DEVICES_PER_BUILDING));
  const buildings = Array.from({ length: count }, (_, index): Location => ({
    ...site,
    id: nextId(),
    parentId: site.id,
    name: `Building ${index + 1}`,
    type: 'Building',
    latitude: site.latitude + index * BUILDING_DISTANCE,
  }));
  const floors = buildings.flatMap((building) =>
    Array.from({ length: FLOORS_PER_BUILDING }, (_, index): Location => ({
      ...building,
      id: nextId(),
      parentId: building.id,
      name: `Floor ${index + 1}`,
      type: 'Floor',
    })),
  );
  return byId([site, ...buildings, ...floors]);
}

/** The locations directly in one; undefined for the outermost. */
export function locationsIn(
  locations: ReadonlyMap<string, Location>,
  parent: Location | undefined,
): Location[] {
  return [...locations.values()].filter(({ parentId }) => parentId === (parent?.id ?? null));
}

/** A location and its ancestors, outermost first. Empty if there is no such location. */
export function pathTo(locations: ReadonlyMap<string, Location>, id: number | null): Location[] {
  const location = locations.get(String(id));
  return location === undefined ? [] : [...pathTo(locations, location.parentId), location];
}
