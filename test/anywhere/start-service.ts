import { freePort } from '../support/free-port.ts';
import { waitFor } from '../support/wait-for.ts';
import { readFirstScreen, type FirstScreen } from './first-screen.ts';
import type { Site } from './place.ts';
import { endOf, openTerminal, type Terminal } from './shell.ts';

/** A service that is ready, and its complete first screen. */
export interface StartedService {
  readonly terminal: Terminal;
  readonly readySeconds: number;
  readonly screen: FirstScreen;
}

const PATIENCE_MS = 60_000;

/** Starts a service in a terminal, on ports of its own. Rejects with the end of its output if it does not get ready. */
export async function startService(site: Site, settings: Site['services'][number]): Promise<StartedService> {
  const { shell, start } = site;
  const port = await freePort();
  const env = { ...shell.env, ...settings, PORT: String(port), ADMIN_PORT: String(await freePort()) };
  const began = performance.now();
  const terminal = openTerminal({ ...shell, env }, start);
  const fail = (what: string, cause?: unknown) =>
    new Error(`\`${start}\` ${what}:\n${endOf(terminal.screen())}`, { cause });
  const until = <T>(condition: () => T, what: string) =>
    waitFor(() => {
      shell.signal.throwIfAborted();
      if (terminal.hasEnded()) throw fail('ended');
      return condition();
    }, PATIENCE_MS).catch((error: unknown) => {
      throw terminal.hasEnded() ? error : fail(what, error);
    });
  await until(() => isReady(port), `is not ready after ${PATIENCE_MS / 1_000} s`);
  const readySeconds = (performance.now() - began) / 1_000;
  const screen = await until(() => readFirstScreen(terminal.screen()), 'shows no complete first screen');
  return { terminal, readySeconds, screen };
}

async function isReady(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
  return answer?.ok === true;
}
