import path from 'node:path';
import { freePort } from '../support/free-port.ts';
import { PROGRAM, startProgramAt, type Program } from '../support/program.ts';
import type { Role } from '../../src/config/roles.ts';

/** One process of the service, which is started again and again on the same port and the same directory. */
export interface Member {
  readonly name: string;
  readonly role: Role;
  readonly port: number;
  readonly dataDir: string;
  /** Undefined while it does not run. */
  pid(): number | undefined;
  /** Starts this program (the checkout's unless told). Resolves once it is ready. */
  start(program?: string): Promise<void>;
  /** SIGTERM, as a supervisor stops it. Rejects unless it ends well. */
  stop(): Promise<void>;
  kill(): Promise<void>;
  /** Whether it has ended by itself. */
  hasCrashed(): boolean;
  /** All that it has printed, over all its starts. */
  output(): string;
}

/** A process in this role. Not started yet. */
export async function createMember(
  name: string,
  role: Role,
  dataDir: string,
  settings: Readonly<Record<string, string>>,
): Promise<Member> {
  const port = await freePort();
  let running: Program | undefined;
  let earlierOutput = '';
  const end = async (signal: NodeJS.Signals) => {
    const ending = running;
    if (ending === undefined) return null;
    const code = await ending.end(signal);
    running = undefined;
    earlierOutput += ending.output();
    return code;
  };
  return {
    name,
    role,
    port,
    dataDir,
    pid: () => running?.pid,
    async start(program = PROGRAM) {
      running = await startProgramAt(
        program,
        // Processes that store in one database sign with one key.
        {
          ...settings,
          DATA_DIR: dataDir,
          LOG_KEY_FILE: path.join(dataDir, '..', 'log-key'),
          PORT: String(port),
        },
        '--role',
        role,
      );
    },
    async stop() {
      const code = await end('SIGTERM');
      if (code !== 0) throw new Error(`${name} ended with ${code} after SIGTERM`);
    },
    async kill() {
      await end('SIGKILL');
    },
    hasCrashed: () => running?.hasEnded() ?? false,
    output: () => earlierOutput + (running?.output() ?? ''),
  };
}
