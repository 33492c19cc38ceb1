import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { listProcesses } from '../../store/processes.ts';
import { measureStorage } from '../../store/storage-size.ts';
import { toAnswer } from '../api/answer.ts';
import { VIEW_WHOLE } from '../access/rule.ts';
import { jsonRoute, NOTHING } from '../api/route.ts';
import type { Area } from '../area.ts';
import { startGathering } from '../gather.ts';
import { html, type Content } from '../html/html.ts';
import { freshnessOf, livePart } from '../html/elements.ts';
import { processLine, sumAnswers, sumSpools, sumStorage, sumStoring } from './sum-figures.ts';
import { answersPanel, processesPanel, queuePanel, storagePanel, storingPanel } from './system-panels.ts';
import { processSchema, systemSchema, type System } from './system-schemas.ts';

interface QueueFigures {
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  readonly failed: number;
  /** The age of the oldest waiting job; undefined if none is waiting. */
  readonly oldestWaitingSeconds: number | undefined;
}

/** What the page System needs. */
export interface SystemOptions {
  readonly db: Db;
  /** Throws if the queue does not answer. */
  readonly queue: () => Promise<QueueFigures>;
  /** Free bytes on the disk of the data directory. */
  readonly freeDisk: () => Promise<number>;
}

/** Processes, queue, database and disk. */
export function systemArea(options: SystemOptions): Area {
  return {
    tag: 'system',
    navigation: [
      {
        path: '/system',
        label: 'System',
        group: 'Administer',
        icon: 'M2 3h12v4H2zM2 9h12v4H2zM4.5 5h.01M4.5 11h.01',
      },
    ],
    routes: [
      jsonRoute({
        route: 'GET /system',
        summary: 'get the figures of processes, queue, database and disk',
        description:
          'Also answers while parts are unavailable: they are null, and `problems` has the reasons.',
        ...VIEW_WHOLE,
        asks: NOTHING,
        answer: systemSchema,
        work: () => readSystem(options),
      }),
      jsonRoute({
        route: 'GET /processes',
        summary: 'list the processes of the last day, running ones first',
        ...VIEW_WHOLE,
        asks: NOTHING,
        answer: z.object({ items: z.array(processSchema), next_cursor: z.null() }),
        work: async () => ({ items: (await listProcesses(options.db)).map(processLine), next_cursor: null }),
      }),
    ],
    pages: [
      {
        path: '/system',
        ...VIEW_WHOLE,
        render: async () => ({
          title: 'System',
          modules: ['overview.js'],
          content: layOut(await readSystem(options)),
        }),
      },
    ],
  };
}

async function readSystem({ db, ...options }: SystemOptions): Promise<System> {
  const at = new Date().toISOString();
  const { read, problems } = startGathering();
  const [queue, free, processes, storage] = await Promise.all([
    read('queue', options.queue),
    read('disk', options.freeDisk),
    read('processes', () => listProcesses(db)),
    read('storage', () => measureStorage(db)),
  ]);
  return {
    at,
    answers: processes && sumAnswers(processes),
    storing: processes && sumStoring(processes),
    queue: queue && toAnswer(queue),
    spool: processes && sumSpools(processes),
    processes: processes && processes.map(processLine),
    storage: storage && sumStorage(storage),
    free_disk_bytes: free,
    problems: [...problems],
  };
}

const layOut = (system: System): Content => html`
  ${freshnessOf(system.at)}
  <div class="panels overview">
    ${livePart('answers', answersPanel(system), 'panel')} ${livePart('queue', queuePanel(system), 'panel')}
    ${livePart('storing', storingPanel(system), 'panel')}
  </div>
  <div class="panels broad">
    ${livePart('processes', processesPanel(system), 'panel wide')}
    ${livePart('storage', storagePanel(system), 'panel wide')}
  </div>
`;
