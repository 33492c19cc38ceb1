import { LRUCache } from 'lru-cache';

/** Answers that are kept at the same time. */
const MAX_KEPT = 200;

/**
 * Gives those who ask the same the same answer: while it is being read, and from then on as long as `keptMs` says. An answer
 * that fails is not kept.
 */
export function shareAnswers<Asked extends readonly unknown[], Answer>(
  read: (...asked: Asked) => Promise<Answer>,
  keptMs?: (...asked: Asked) => number,
): (...asked: Asked) => Promise<Answer> {
  const answers = new LRUCache<string, Promise<Answer>>({ max: MAX_KEPT });
  return (...asked) => {
    const key = JSON.stringify(asked);
    const known = answers.get(key);
    if (known !== undefined) return known;
    const answer = read(...asked);
    const forget = () => answers.delete(key);
    answers.set(key, answer, keptMs && { ttl: keptMs(...asked) });
    answer.then(keptMs === undefined ? forget : undefined, forget);
    return answer;
  };
}
