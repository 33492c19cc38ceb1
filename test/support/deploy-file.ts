import { readFile } from 'node:fs/promises';
import path from 'node:path';

const DEPLOY = path.resolve(import.meta.dirname, '../../deploy');

/**
 * A file of `deploy/` with these texts replaced wherever they occur. Throws if one does not occur: the tests run with the
 * files that the documentation quotes.
 */
export async function readDeployFile(
  name: string,
  replacements: Readonly<Record<string, string>>,
): Promise<string> {
  let text = await readFile(path.join(DEPLOY, name), 'utf8');
  for (const [from, to] of Object.entries(replacements)) {
    if (!text.includes(from)) throw new Error(`deploy/${name} does not contain ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}
