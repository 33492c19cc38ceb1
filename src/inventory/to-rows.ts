import type { ListedDevice } from '../cloud/contract/device.ts';
import type { Location as TreeLocation } from '../cloud/contract/location.ts';
import type { Organization } from '../cloud/contract/organization.ts';
import type { User } from '../cloud/contract/user.ts';
import { parseMacAddress } from '../events/mac-address.ts';
import type { InventoryRows } from '../store/reconcile/inventory.ts';

/** A longer name is cut off: an index has it. */
const MAX_LENGTH = 500;

/** A name as Postgres can store it. Null: there is none. */
const nameOf = (text: string | null | undefined): string | null =>
  (text ?? '').replaceAll('\0', '').trim().slice(0, MAX_LENGTH) || null;

/** A device as a row of the table. */
export const toDevice = (device: ListedDevice): InventoryRows['devices'] => ({
  device_id: device.id,
  mac: parseMacAddress(device.mac_address ?? '') ?? null,
  serial_number: nameOf(device.serial_number),
  host_name: nameOf(device.hostname),
  function: nameOf(device.device_function),
  location_id: device.location_id ?? null,
});

/** A user as a row of the table. */
export const toPerson = (user: User): InventoryRows['people'] => ({
  person_id: user.id,
  user_name: nameOf(user.login_name) ?? '',
  name: nameOf(user.display_name ?? [user.first_name, user.last_name].filter(Boolean).join(' ')),
  role: nameOf(user.user_role),
});

/** An organization as a row of the table. */
export const toOrganization = ({ id, name }: Organization): InventoryRows['organizations'] => ({
  organization_id: id,
  name: nameOf(name) ?? id,
});

type Node = Omit<InventoryRows['locations'], 'place'>;

/** The locations of a tree as rows of the table, each with its place. */
export function toLocations(tree: readonly TreeLocation[]): readonly InventoryRows['locations'][] {
  const nodes = new Map(nodesOf(tree, null).map((node) => [node.location_id, node]));
  return [...nodes.values()].map((node) => ({ ...node, place: placeOf(pathTo(nodes, node)) }));
}

function nodesOf(tree: readonly TreeLocation[], parentId: string | null): readonly Node[] {
  return tree.flatMap(({ id, name, type, parent_id, children }) => [
    {
      location_id: id,
      parent_id: parentId ?? parent_id ?? null,
      name: nameOf(name) ?? id,
      type: nameOf(type),
    },
    ...nodesOf(children ?? [], id),
  ]);
}

/** A location after those that contain it, outermost first. */
function pathTo(nodes: ReadonlyMap<string, Node>, node: Node): readonly Node[] {
  const path = [node];
  for (let [first] = path; first !== undefined;) {
    first = nodes.get(first.parent_id ?? '');
    if (first === undefined || path.includes(first)) break;
    path.unshift(first);
  }
  return path;
}

/** From the building on, because everyone knows the campus: `Building 2, Floor 1`. */
function placeOf(path: readonly Node[]): string {
  const building = path.findIndex(({ type }) => type?.toLowerCase() === 'building');
  return path
    .slice(Math.max(building, 0))
    .map(({ name }) => name)
    .join(', ');
}
