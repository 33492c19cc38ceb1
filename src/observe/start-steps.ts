import { describeError } from '../lib/errors.ts';

interface StartState {
  readonly step: string;
  /** When it began for the first time, in epoch milliseconds. */
  readonly since: number;
  /** Why it has to be repeated; undefined while it runs for the first time. */
  readonly failure: string | undefined;
}

export type StartSteps = ReturnType<typeof createStartSteps>;

/**
 * The steps of the start that need the database, for readiness: any of them may wait for others. `isNeeded`: whether there is
 * anything to start.
 */
export function createStartSteps(isNeeded: boolean) {
  let current: StartState | undefined = isNeeded
    ? { step: 'start', since: Date.now(), failure: undefined }
    : undefined;
  return {
    async run<T>(step: string, work: () => Promise<T>): Promise<T> {
      if (current?.step !== step) current = { step, since: Date.now(), failure: undefined };
      try {
        return await work();
      } catch (error) {
        current = { ...current, failure: describeError(error) };
        throw error;
      }
    },
    done(): void {
      current = undefined;
    },
    /** The current step, or the one that failed last and will be repeated; undefined once everything runs. */
    state: () => current,
  };
}
