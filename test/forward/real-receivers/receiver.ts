import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import net from 'node:net';
import { z } from 'zod';
import type { TestCertificate } from '../../support/certificates.ts';
import { waitFor } from '../../support/wait-for.ts';

/** A real receiver with a port for each of its transports. */
export interface Receiver<Transport extends string = keyof Ports> {
  readonly ports: Readonly<Record<Transport, number>>;
  /** The messages that it has written to its file so far. */
  received(): readonly ReceivedMessage[];
  /** Ends it as an operator would. */
  stop(): Promise<void>;
  /** Ends it at once, with whatever it has in memory. */
  kill(): Promise<void>;
  /** Starts it anew with the same ports, after its end. */
  start(): Promise<void>;
}

/** The transports of syslog; `lf` is for lines without octet counting. */
export type Ports = Readonly<Record<'udp' | 'tcp' | 'lf' | 'tls', number>>;

/** The receiver's, and those of senders that it accepts. */
export interface Certificates {
  readonly server: TestCertificate;
  readonly client: TestCertificate;
}

const ReceivedMessage = z.object({
  text: z.string(),
  event_id: z.string(),
  host: z.string(),
  message_type: z.string(),
  priority: z.string(),
});

type ReceivedMessage = z.output<typeof ReceivedMessage>;

interface ReceiverOptions<Transport extends string> {
  command: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  ports: Readonly<Record<Transport, number>>;
  /** Lines of JSON, a ReceivedMessage each. */
  outputFile: string;
}

/** Runs a receiver in the foreground. Resolves once it listens; fails with what it printed when it ends instead. */
export async function runReceiver<Transport extends string>({
  command,
  args,
  env,
  ports,
  outputFile,
}: ReceiverOptions<Transport>): Promise<Receiver<Transport>> {
  const listening = Object.entries<number>(ports).filter(([transport]) => transport !== 'udp');
  let end: (signal: NodeJS.Signals) => Promise<void> = () => Promise.resolve();

  async function start(): Promise<void> {
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    }
    const exited = once(child, 'exit');
    end = async (signal) => {
      child.kill(signal);
      await exited;
    };
    await waitFor(async () => {
      if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}: ${printed}`);
      const answers = await Promise.all(listening.map(([, port]) => isListening(port)));
      return answers.every(Boolean);
    });
  }

  await start();
  const received = followLines(outputFile);
  return { ports, start, stop: () => end('SIGTERM'), kill: () => end('SIGKILL'), received };
}

/** The messages of a growing file; each call reads on from where the last one ended. */
function followLines(file: string): () => readonly ReceivedMessage[] {
  const messages: ReceivedMessage[] = [];
  let offset = 0;
  return () => {
    if (!existsSync(file)) return messages;
    const descriptor = openSync(file, 'r');
    const grown = Buffer.alloc(fstatSync(descriptor).size - offset);
    readSync(descriptor, grown, 0, grown.length, offset);
    closeSync(descriptor);
    const whole = grown.subarray(0, grown.lastIndexOf('\n') + 1);
    offset += whole.length;
    for (const line of whole.toString().split('\n')) {
      if (line !== '') messages.push(ReceivedMessage.parse(JSON.parse(line)));
    }
    return messages;
  };
}

async function isListening(port: number): Promise<boolean> {
  const socket = net.connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
