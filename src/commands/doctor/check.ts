/** How a check ended. What is skipped was not looked at, because something it needs failed. */
export type Status = 'ok' | 'warn' | 'fail' | 'skipped';

/** What a check has found. */
export interface Finding {
  readonly status: Status;
  readonly message: string;
  /** What a person can do about it. */
  readonly remedy?: string | undefined;
  /** Whether the checks that need this one cannot be made; by default when it failed or was skipped. */
  readonly stops?: boolean;
}

/** One thing to look at. */
export interface Check {
  /** Of a line of the report. */
  readonly name: string;
  /** The checks that must not have failed before. */
  readonly needs?: readonly string[];
  /** What to do when it throws or takes too long. */
  readonly remedy?: string;
  /** What it finds when it takes too long; by default a failure. */
  readonly whenLate?: Finding;
  /** Milliseconds it may take; by default `LIMIT_MS`. */
  readonly limitMs?: number;
  /** What it throws is a failure that says so. The signal fires when its time is over. */
  run(signal: AbortSignal): Promise<Finding>;
}

/** What one check may take, in milliseconds. */
export const LIMIT_MS = 5_000;

export const ok = (message: string): Finding => ({ status: 'ok', message });

export const warn = (message: string, remedy: string): Finding => ({ status: 'warn', message, remedy });

export const fail = (message: string, remedy: string): Finding => ({ status: 'fail', message, remedy });

export const skipped = (message: string, remedy?: string): Finding => ({
  status: 'skipped',
  message,
  remedy,
});
