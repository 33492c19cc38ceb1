import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { createRandom, type Random } from '../../emulator/random.ts';
import { OVERLOADED } from '../../src/ingest/admission.ts';
import { HttpError } from '../../src/lib/errors.ts';
import type { Receipt } from '../../src/ingest/receive-delivery.ts';
import { drawBody, type SentBody } from './deliveries.ts';
import type { Slot, World } from './world.ts';

/** A sender that has no answer after so long sends again. */
const TIMEOUT_MS = 15_000;

/** One way between a sender and the service. */
const WAY_MS = 5;

/** What a sender learns. */
type Answer = 'accepted' | 'kept' | 'refused' | 'unanswered';

/** Everyone who sends, as the cloud does: again when there is no good answer, and sometimes although there was one. */
export class Senders {
  readonly #world: World;
  readonly #random: Random;
  readonly #count: number;
  #begun = 0;
  #open = 0;

  constructor(world: World, count: number) {
    this.#world = world;
    this.#random = createRandom(world.seed, 'senders');
    this.#count = count;
    this.#next();
  }

  get areDone(): boolean {
    return this.#begun === this.#count && this.#open === 0;
  }

  /** Sends one delivery more to each ingest process, which must accept it now that nothing is wrong any more. */
  probe(): void {
    for (const [at, slot] of this.#world.ingests.entries()) {
      const body = drawBody(this.#world.seed, this.#count + at, { ...this.#world.setup, damaged: 0 });
      this.#world.ledger.bodies.set(body.number, body);
      this.#open += 1;
      this.#deliver(body, slot, (answer, what) => {
        this.#open -= 1;
        if (answer !== 'accepted') this.#world.fail(`after the last fault, ${slot.name} answers: ${what}`);
      });
    }
  }

  #next(): void {
    if (this.#begun === this.#count) return;
    const { perSecond, together } = this.#world.setup;
    const mean = 1_000 / perSecond / (1 - together);
    const pause = this.#random.chance(together) ? 0 : mean * -Math.log(1 - this.#random.int(0, 999) / 1_000);
    this.#world.clockwork.after(pause, () => {
      const body = drawBody(this.#world.seed, this.#begun, this.#world.setup);
      this.#world.ledger.bodies.set(body.number, body);
      this.#begun += 1;
      this.#open += 1;
      this.#send(body, 1);
      this.#next();
    });
  }

  #send(body: SentBody, nth: number): void {
    const { clockwork, ledger } = this.#world;
    let isOver = false;
    const onAnswer = (answer: Answer, what: string) => {
      if (isOver) return;
      isOver = true;
      clockwork.cancel(timer);
      ledger.answers[answer] += 1;
      clockwork.note(answer);
      this.#world.log('sender', () => `delivery ${body.number}, try ${nth}: ${answer} ${what}`);
      const isGood = answer === 'accepted' || answer === 'kept';
      const again = isGood ? body.isRepeated && nth < 3 : nth < body.tries;
      if (!again) this.#open -= 1;
      else clockwork.after(this.#random.int(1, 20_000), () => this.#send(body, nth + 1));
    };
    const timer = clockwork.after(TIMEOUT_MS, () => onAnswer('unanswered', 'within 15 s'));
    const slot = this.#random.pickAny(this.#world.ingests);
    const answerLater = (answer: Answer, what: string) =>
      clockwork.after(WAY_MS, () => onAnswer(answer, what));
    clockwork.after(WAY_MS, () => this.#deliver(body, slot, answerLater));
  }

  /** What others have in flight refuses nothing of a source that has nothing else there. */
  #judgeOverload({ name, requests }: Slot, { source, number }: SentBody): void {
    const inFlight = [...requests.values()];
    if (inFlight.length > 0 && !inFlight.includes(source))
      this.#world.fail(`${name} refuses delivery ${number}, the only one of ${source}, for those of others`);
  }

  #deliver(
    body: SentBody,
    slot: Slot | undefined,
    onAnswer: (answer: Answer, what: string) => unknown,
  ): void {
    const { ledger } = this.#world;
    if (slot?.service?.receive === undefined || slot.isStopping) {
      onAnswer('unanswered', 'connection refused');
      return;
    }
    const { process } = slot;
    if (process !== undefined && process.stillUntil > this.#world.clockwork.now) {
      process.after(0, () => this.#deliver(body, slot, onAnswer));
      return;
    }
    const request = requestOf(body);
    const closed = () => {
      request.destroy(new Error('aborted'));
      onAnswer('unanswered', 'connection reset');
    };
    slot.requests.set(closed, body.source);
    const answered = (answer: Answer, what: string) => {
      slot.requests.delete(closed);
      onAnswer(answer, `${what} by ${slot.name}`);
    };
    const accepted = ({ delivery_id: id, durability }: Receipt): void => {
      ledger.acknowledged.set(id, body.number);
      if (!this.#world.isDurable(id))
        this.#world.fail(`${slot.name} answers "${durability}", and delivery ${id} is nowhere`);
      answered('accepted', `${durability} as ${id}`);
    };
    slot.service.receive(request, body.source).then(accepted, (error: unknown) => {
      const status = error instanceof HttpError ? error.status : 500;
      const message = String(error);
      const [id] = /[0-9a-f-]{36}/.exec(message) ?? [];
      if (status === 400 && id !== undefined) {
        ledger.acknowledged.set(id, body.number);
        answered('kept', `as ${id}`);
      } else {
        if (status !== 503 && status !== 429) this.#world.fail(`an answer is ${status}: ${message}`);
        answered('refused', `${status} ${message}`);
        if (error instanceof HttpError && error.code === OVERLOADED) this.#judgeOverload(slot, body);
      }
    });
  }
}

/** A request as Node.js hands it on, with its whole body. */
function requestOf({ source, text }: SentBody): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  request.headers.authorization = `Bearer ${source}`;
  request.headers['content-length'] = String(Buffer.byteLength(text));
  request.push(text);
  request.push(null);
  request.complete = true;
  return request;
}
