import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { waitFor } from '../../support/wait-for.ts';
import { findProgram } from './find-program.ts';

/** A message of a topic, as a consumer reads it. */
export interface Consumed {
  readonly partition: number;
  readonly key: string;
  /** Such as `event_id=...,message_type=...`. */
  readonly headers: string;
  readonly text: string;
}

/**
 * A cluster of one broker: the mock cluster of librdkafka. It speaks the real protocol, keeps everything in memory, and
 * does not recognize what a producer repeats.
 */
export interface KafkaCluster {
  /** The broker's host and port. */
  readonly broker: string;
  /** Carries out a command of kafka-cluster.c. */
  command(text: string): Promise<void>;
  /** Reads a topic with kcat from its beginning, until the test ends; the messages grow. */
  consume(topic: string): readonly Consumed[];
}

/** Compiles the cluster into a directory. Returns its program, or why there is none. */
export function compileCluster(
  directory: string,
): { readonly program: string } | { readonly missing: string } {
  if (findProgram('kcat') === undefined) return { missing: 'kcat is not installed' };
  const compiler = findProgram('cc');
  if (compiler === undefined) return { missing: 'cc is not installed' };
  const program = path.join(directory, 'kafka-cluster');
  const source = path.join(import.meta.dirname, 'kafka-cluster.c');
  try {
    execFileSync(compiler, ['-o', program, source, '-lrdkafka'], { stdio: 'ignore' });
    return { program };
  } catch {
    return { missing: 'librdkafka-dev is not installed' };
  }
}

/** Starts a cluster that ends with the test. */
export async function startCluster(program: string): Promise<KafkaCluster> {
  const cluster = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    cluster.kill('SIGKILL');
    await once(cluster, 'close');
  });
  const answers: string[] = [];
  createInterface(cluster.stdout).on('line', (line) => answers.push(line));
  const broker = await waitFor(() => answers[0]);
  let commands = 0;
  return {
    broker,
    async command(text) {
      commands += 1;
      const number = commands;
      cluster.stdin.write(`${text}\n`);
      await waitFor(() => answers.length > number);
    },
    consume(topic) {
      const messages: Consumed[] = [];
      const format = String.raw`%p\t%k\t%h\t%s\n`;
      const args = ['-C', '-E', '-q', '-u', '-b', broker, '-t', topic, '-o', 'beginning', '-f', format];
      const consumer = spawn('kcat', args, { stdio: ['ignore', 'pipe', 'ignore'] });
      onTestFinished(async () => {
        consumer.kill('SIGKILL');
        await once(consumer, 'close');
      });
      createInterface(consumer.stdout).on('line', (line) => {
        const [partition, key = '', headers = '', text = ''] = line.split('\t');
        messages.push({ partition: Number(partition), key, headers, text });
      });
      return messages;
    },
  };
}
