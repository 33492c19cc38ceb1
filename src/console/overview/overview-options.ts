import type { MessageType } from '../../domain.ts';
import type { Db } from '../../store/database.ts';
import type { RangeName } from './arrival-ranges.ts';
import type { ArrivalsReader } from './arrivals-reader.ts';
import type { Overview } from './overview-schemas.ts';

/** How the process is, and why. */
export interface ReadinessReport {
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly checks: readonly {
    readonly name: string;
    /** `ok`, `unknown`, or a word for what is to be mended. */
    readonly state: string;
    /** Empty where there is nothing to say. */
    readonly why: string;
  }[];
}

/** The jobs of the queue, by what they wait for. */
export interface QueueFigures {
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  readonly failed: number;
  /** Since the job that has waited longest was added; undefined when none waits. */
  readonly oldestWaitingSeconds: number | undefined;
}

/** How unusual it is that nothing arrives of a source and message type. */
export interface SilenceLine {
  readonly source: string;
  readonly messageType: MessageType;
  readonly lastReceivedAt: Date | undefined;
  readonly state: 'usual' | 'unusual' | 'unknown' | 'never';
  /** The same for a person. */
  readonly sentence: string;
}

/** What the overview shows, and where it has it from. */
export interface OverviewOptions {
  readonly db: Db;
  /** The range that the page opens with. Default: the last day. */
  readonly usualRange?: RangeName | undefined;
  readonly readiness: () => Promise<ReadinessReport>;
  /** Throws when the queue does not answer. */
  readonly queue: () => Promise<QueueFigures>;
  readonly silences: () => Promise<readonly SilenceLine[]>;
  /** Bytes that are free where this process keeps its data. */
  readonly freeDisk: () => Promise<number>;
  /** A line for a terminal that sends a first delivery; it names where the secret stands, not the secret. */
  readonly firstDelivery: string;
}

/** What page and API ask alike: those who ask at the same time get the same answer. */
export interface OverviewQuestions {
  readonly overview: () => Promise<Overview>;
  readonly arrivals: ArrivalsReader;
}
