import { LRUCache } from 'lru-cache';

const MAX_KEPT = 200;

/**
 * Gives those who ask the same the same answer: while it is being read, and from then on as long as `keptMs` says. An answer
 * that fails is not kept.
 */
export function shareAnswers<Args extends readonly unknown[], Answer>(
  read: (...args: Args) => Promise<Answer>,
  keptMs?: (...args: Args) => number,
): (...args: Args) => Promise<Answer> {
  const answers = new LRUCache<string, Promise<Answer>>({ max: MAX_KEPT });
  return (...args) => {
    const key = JSON.stringify(args);
    const known = answers.get(key);
    if (known !== undefined) return known;
    const answer = read(...args);
    const forget = () => answers.delete(key);
    answers.set(key, answer, keptMs && { ttl: keptMs(...args) });
    answer.then(keptMs === undefined ? forget : undefined, forget);
    return answer;
  };
}
