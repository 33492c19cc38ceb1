import { onTestFinished } from 'vitest';
import { pino } from 'pino';
import type { Role } from '../../src/config/roles.ts';
import { loadSettings } from '../../src/serve/load-settings.ts';
import { startService, type Service } from '../../src/serve/start-service.ts';
import { SECRET } from './program.ts';

/** The service in this process: what `startProgram` runs as a child process, which takes seconds longer. */
export interface LocalService extends Service {
  readonly url: string;
  readonly adminUrl: string;
  /** The lines of its log so far. */
  readonly lines: readonly string[];
}

interface StartOptions {
  readonly role?: Role;
  readonly signal?: AbortSignal;
}

/** Starts the service on free ports. A reload reads `settings` again, which a test may change. */
export async function startLocally(
  settings: Readonly<Record<string, string>>,
  { role = 'all', signal = new AbortController().signal }: StartOptions = {},
): Promise<LocalService> {
  const lines: string[] = [];
  const load = () =>
    loadSettings({ WEBHOOK_SECRET: SECRET, PORT: '0', HOST: '127.0.0.1', ADMIN_PORT: '0', ...settings });
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const service = await startService(load(), role, logger, {
    signal,
    reread: async () => load(),
    runStep: (_title, work) => work(),
  });
  const [url, adminUrl] = [service.port, service.adminPort].map((port) => `http://127.0.0.1:${port}`);
  return { ...service, url: url ?? '', adminUrl: adminUrl ?? '', lines };
}

/** Starts the service, and stops it after the test. */
export async function startForTest(...given: Parameters<typeof startLocally>): Promise<LocalService> {
  const service = await startLocally(...given);
  onTestFinished(() => service.stop());
  return service;
}
