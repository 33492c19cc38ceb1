import type { Random } from '../../emulator/random.ts';
import { FAULTS, type Fault } from './faults.ts';
import type { SetUpName } from './set-up.ts';

/** Faults that are drawn together. */
const MOST = 3;

/** Draws two or three faults that hit different parts, and joins them: each begins at a moment of its own. */
export function drawFault(setUp: SetUpName, random: Random): Fault {
  const left = FAULTS.filter((fault) => fault.setUps.includes(setUp) && isDrawn(fault));
  const drawn: Fault[] = [];
  const wanted = random.int(2, MOST);
  while (drawn.length < wanted) {
    const hit = new Set(drawn.flatMap(({ hits }) => hits));
    const next = random.pickAny(left.filter(({ hits }) => hits.every((target) => !hit.has(target))));
    if (next === undefined) break;
    drawn.push(next);
  }
  const beginnings = drawn.map(() => random.int(0, 1_000) / 1_000);
  return {
    name: drawn.map(({ name }) => name).join(' + '),
    hits: drawn.flatMap(({ hits }) => hits),
    setUps: [setUp],
    needs: { proxies: true },
    forbids: ['lost', 'doubled', 'refused'],
    async inject(setUp, pauses, wait) {
      await Promise.all(
        drawn.map(async (fault, index) => {
          await wait((beginnings[index] ?? 0) * pauses.spread);
          await fault.inject(setUp, pauses, wait);
        }),
      );
    },
  };
}

/** Whether it needs nothing of its own, beyond proxies, which every draw has. */
const isDrawn = ({ needs, isAlone = false, whyNot }: Fault) =>
  whyNot === undefined && needs.settings === undefined && !isAlone;
