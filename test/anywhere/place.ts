import type { Shell } from './shell.ts';

/** Where somebody may install and start the program: one row of the table. */
export interface Place {
  /** For `--only`. */
  readonly name: string;
  readonly title: string;
  /** Where the directory of the place is made. Default: the temporary directory. */
  readonly parent?: string;
  /** Whether the short form runs it, too. */
  readonly isShort?: boolean;
  /** How much of `npm test` runs there; the short form never runs the whole. Default: nothing. */
  readonly tests?: 'subset' | 'whole';
  /** Why this machine cannot run it, if it cannot. */
  readonly obstacle?: () => string | undefined;
  readonly open: (ground: Ground) => Promise<Site>;
}

/** What a place is built on. */
export interface Ground {
  /** All that the place makes is below it, and goes with it. Any user can pass through it. */
  readonly directory: string;
  /** Runs commands in this directory as whoever runs the script. */
  readonly shell: Shell;
  /** Runs this command line when the place is removed, also after an interruption. */
  readonly afterwards: (line: string) => void;
}

/** A place that is ready for the commands of the README. */
export interface Site {
  /** Runs commands where the program is started, as the person who starts it. */
  readonly shell: Shell;
  /** A second terminal with `curl`, where the place itself has none. */
  readonly curlShell?: Shell;
  readonly install: string;
  readonly start: string;
  /** The settings of each service, which run at the same time. Ports come on top. */
  readonly services: readonly Readonly<Record<string, string>>[];
}
