import { createFrontier, leafHash, nodesOfTiles } from '../../src/seal/merkle-tree.ts';

/** Grows a tree in memory, of so many entries. */
export function growTree(count: number, entryOf = (index: number) => `entry ${index}`) {
  const levels: Buffer[][] = [];
  const frontier = createFrontier((level, index, node) => {
    const nodes = (levels[level] ??= []);
    if (index !== nodes.length) throw new RangeError(`node ${index} of level ${level} is out of turn`);
    nodes.push(node);
  });
  for (let index = 0; index < count; index += 1) frontier.append(leafHash(Buffer.from(entryOf(index))));
  const read = nodesOfTiles(async (level, number) =>
    Buffer.concat((levels[level] ?? []).slice(number * 256, (number + 1) * 256)),
  );
  return { frontier, read, leaves: levels[0] ?? [] };
}
