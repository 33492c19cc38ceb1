import { mkdir } from 'node:fs/promises';

/**
 * The mode of directories with data: only the owner can list or enter them. If this program runs as root, others can
 * pass through to what they may read by its own mode: the embedded Postgres then runs as another user, and needs to reach
 * its data directory.
 */
export const privateMode = () => (process.getuid?.() === 0 ? 0o711 : 0o700);

/** Creates a directory for data with its missing parents. Existing directories keep their mode. */
export async function makePrivateDirectory(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: privateMode() });
}
