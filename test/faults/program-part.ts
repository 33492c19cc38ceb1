import { setTimeout as sleep } from 'node:timers/promises';
import { startProgram, type Program } from '../support/program.ts';
import type { Part } from './part.ts';

export interface ProgramPart extends Part {
  /** Whether it has ended by itself. */
  hasCrashed(): boolean;
  /** All that it has printed, over all its starts. */
  output(): string;
}

/** It may be started while what it needs is away. Whoever supervises it would start it again; so does this. */
const START_TIMEOUT_MS = 60_000;
const START_AGAIN_AFTER_MS = 500;

/** `xiq-sink serve` in this role. Not started yet. */
export function createProgramPart(
  settings: Readonly<Record<string, string>>,
  role: string,
  signal: AbortSignal,
): ProgramPart {
  let program: Program | undefined;
  let earlierOutput = '';
  const kill = async () => {
    const killed = program;
    program = undefined;
    await killed?.end('SIGKILL');
    earlierOutput += killed?.output() ?? '';
  };
  return {
    async start() {
      program = await startUntilItRuns(() => startProgram(settings, '--role', role), signal);
    },
    kill,
    freeze: async () => program?.signal('SIGSTOP'),
    thaw: async () => program?.signal('SIGCONT'),
    stop: kill,
    hasCrashed: () => program?.hasEnded() ?? false,
    output: () => earlierOutput + (program?.output() ?? ''),
  };
}

async function startUntilItRuns(start: () => Promise<Program>, signal: AbortSignal): Promise<Program> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      return await start();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(START_AGAIN_AFTER_MS, undefined, { signal });
    }
  }
}
