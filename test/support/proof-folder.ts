import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseManifest, writeManifest, type Manifest } from '../../src/seal/proof-folder.ts';

/** All files of an exported proof. */
export async function filesOf(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
}

/** Writes the manifest anew so that it fits the files, as somebody does who has the folder and no key. */
export async function mendManifest(
  folder: string,
  change: (manifest: Manifest) => void = () => undefined,
): Promise<void> {
  const file = path.join(folder, 'manifest.json');
  const manifest = parseManifest(await readFile(file, 'utf8'));
  for (const named of manifest.files) {
    const content = await readFile(path.join(folder, named.path)).catch(() => undefined);
    named.bytes = content?.length ?? named.bytes;
    named.sha256 = content === undefined ? named.sha256 : createHash('sha256').update(content).digest('hex');
  }
  change(manifest);
  await writeFile(file, writeManifest(manifest));
}
