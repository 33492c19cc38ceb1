import path from 'node:path';
import type { RuleTester } from 'oxlint/plugins-dev';
import { ENTRY, FLOORS, NEIGHBOURS, RUN_EMULATOR, SHARED_WITH_EMULATOR } from './rooms.ts';

type Rule = Parameters<RuleTester['run']>[1];

const ROOT = path.resolve(import.meta.dirname, '..');

/** The room of a file of `src/`; undefined for other files, and for those that lie loose in it. */
function roomOf(file: string): string | undefined {
  const [top, room, rest] = file.split('/');
  return top === 'src' && rest !== undefined ? room : undefined;
}

const floorOf = (room: string) => FLOORS.findIndex((rooms) => rooms.includes(room));

const isIn = (file: string, folders: readonly string[]) =>
  folders.some((folder) => file.startsWith(`${folder}/`));

/** The fault of a file at its place; undefined if there is none. */
function faultOfPlace(file: string): string | undefined {
  if (!file.startsWith('src/') || file === ENTRY) return undefined;
  const room = roomOf(file);
  if (room === undefined) return `${file} is in no room: move it into the one whose subject it has`;
  if (floorOf(room) === -1) return `src/${room}/ is on no floor: add it to lint/rooms.ts`;
  return undefined;
}

/** Why one file must not import another; undefined if it may. Both are relative to the root of the project. */
function faultOf(file: string, imported: string): string | undefined {
  if (isIn(file, ['emulator'])) {
    if (!imported.startsWith('src/') || isIn(imported, SHARED_WITH_EMULATOR)) return undefined;
    return `the emulator is a program of its own: it imports ${SHARED_WITH_EMULATOR.join(', ')} only`;
  }
  const room = roomOf(file);
  if (room === undefined) return undefined;
  if (isIn(imported, ['emulator']) && !RUN_EMULATOR.includes(room)) {
    return `the emulator is a program of its own, which src/${room}/ does not run`;
  }
  if (imported === ENTRY) return 'nothing imports the entry of the program';
  const other = roomOf(imported);
  if (other === undefined || other === room) return undefined;
  const [floor, below] = [floorOf(room), floorOf(other)];
  if (below > floor) return undefined;
  if (below < floor) return `src/${room}/ is below src/${other}/: imports run down only, types included`;
  if (NEIGHBOURS[room]?.includes(other) === true) return undefined;
  return `src/${room}/ and src/${other}/ are on one floor, and NEIGHBOURS in lint/rooms.ts does not name this import`;
}

/** Where an import comes from: a literal, unless the program computes it. */
interface Source {
  readonly type: string;
  readonly value?: unknown;
  readonly range: [number, number];
}

/** Holds the files of `src/` and of the emulator to the floors of `rooms.ts`. */
export const roomImports: Rule = {
  create(context) {
    const file = path.relative(ROOT, context.filename).replaceAll(path.sep, '/');
    const check = (source: Source | null) => {
      if (source === null || typeof source.value !== 'string' || !source.value.startsWith('.')) return;
      const imported = path.posix.join(path.posix.dirname(file), source.value);
      const message = faultOf(file, imported);
      if (message !== undefined) context.report({ node: source, message });
    };
    return {
      Program(node) {
        const message = faultOfPlace(file);
        if (message !== undefined) context.report({ node, message });
      },
      ImportDeclaration: ({ source }) => check(source),
      ExportNamedDeclaration: ({ source }) => check(source),
      ExportAllDeclaration: ({ source }) => check(source),
      ImportExpression: ({ source }) => check(source),
      TSImportType: ({ source }) => check(source),
    };
  },
};

export default { meta: { name: 'rooms' }, rules: { imports: roomImports } };
