import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { useDirectory } from '../support/use-directory.ts';

const run = promisify(execFile);
const ROOT = path.resolve(import.meta.dirname, '../..');
const DIRECTORY = path.join(ROOT, 'deploy/kubernetes');
const read = (name: string) => readFileSync(path.join(DIRECTORY, name), 'utf8');

const FILES = readdirSync(DIRECTORY).filter((name) => name !== 'kustomization.yaml');
const parseDocuments = (text: string) =>
  parseAllDocuments(text).map((document) => z.object({ kind: z.string() }).loose().parse(document.toJS()));
const documents = FILES.flatMap((name) => parseDocuments(read(name)));

const Labels = z.record(z.string(), z.string());
const Probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const Container = z.object({
  image: z.string(),
  args: z.array(z.string()),
  envFrom: z.array(z.object({ secretRef: z.object({ name: z.string() }).optional() })),
  env: z.array(z.object({ name: z.string(), value: z.string() })),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })).default([]),
  startupProbe: Probe.optional(),
  livenessProbe: Probe.optional(),
  readinessProbe: Probe.optional(),
  resources: z.object({
    requests: z.object({ cpu: z.string(), memory: z.string() }),
    limits: z.object({ memory: z.string() }),
  }),
  securityContext: z.unknown(),
});
const PodSpec = z.object({
  automountServiceAccountToken: z.literal(false),
  enableServiceLinks: z.literal(false),
  terminationGracePeriodSeconds: z.number(),
  securityContext: z.unknown(),
  containers: z.tuple([Container]),
});
const Workload = z.object({
  kind: z.enum(['Deployment', 'Job', 'StatefulSet']),
  spec: z.object({
    replicas: z.number().optional(),
    selector: z.object({ matchLabels: Labels }).optional(),
    template: z.object({ metadata: z.object({ labels: Labels }), spec: PodSpec }),
  }),
});
const Selecting = z.object({
  kind: z.enum(['Service', 'PodDisruptionBudget']),
  spec: z.object({
    selector: z.union([
      z.object({ matchLabels: Labels }).transform(({ matchLabels }) => matchLabels),
      Labels,
    ]),
    ports: z.array(z.object({ targetPort: z.string() })).default([]),
  }),
});

const of = <T>(schema: z.ZodType<T>, kinds: readonly string[]) =>
  documents.filter(({ kind }) => kinds.includes(kind)).map((document) => schema.parse(document));

const workloads = of(Workload, ['Deployment', 'Job', 'StatefulSet']).map(
  ({ kind, spec: { template, ...spec } }) => ({
    kind,
    ...spec,
    labels: template.metadata.labels,
    pod: template.spec,
    container: template.spec.containers[0],
  }),
);
const serving = workloads.filter(({ kind }) => kind !== 'Job');

describe('the files for Kubernetes', () => {
  const directory = useDirectory();

  /** What the compiler says of these documents: the types are made of the API's own schemas, and know every member. */
  async function findProblems(checked: readonly unknown[]): Promise<string> {
    const type = path.join(import.meta.dirname, 'kubernetes-object.ts');
    const values = checked.map((document) => `check(${JSON.stringify(document, undefined, 2)});`);
    const program = `import type { KubernetesObject } from '${type}';\ndeclare function check(value: KubernetesObject): void;\n`;
    await writeFile(path.join(directory, 'check.ts'), program + values.join('\n'));
    const extended = {
      extends: path.join(ROOT, 'tsconfig.json'),
      compilerOptions: { types: [] },
      include: ['check.ts'],
    };
    await writeFile(path.join(directory, 'tsconfig.json'), JSON.stringify(extended));
    return run(path.join(ROOT, 'node_modules/.bin/tsc'), { cwd: directory }).then(
      () => '',
      (error: unknown) => z.object({ stdout: z.string() }).parse(error).stdout,
    );
  }

  it('have only members that the API knows, each of its type', async () => {
    const misspelt = read('ingest.yaml').replace('replicas: 2', 'replicsa: 2');
    // A member of a Job.
    const misplaced = read('worker.yaml').replace('replicas: 2', 'backoffLimit: 2');
    const wrong = [misspelt, misplaced].flatMap(parseDocuments);
    const problems = await findProblems([...documents, ...wrong]);
    expect(problems.match(/'"\w+"' does not exist/g)).toEqual([
      `'"replicsa"' does not exist`,
      `'"backoffLimit"' does not exist`,
    ]);
    expect(problems.match(/error TS/g)).toHaveLength(2);
  });

  it('are all in the base', () => {
    const { resources } = z
      .object({ resources: z.array(z.string()) })
      .parse(parse(read('kustomization.yaml')));
    expect(resources.toSorted()).toEqual(FILES.toSorted());
  });

  it('run each role, with the table updates of their own', () => {
    const commands = workloads.map(({ container }) => container.args.join(' '));
    const roles = ['console', 'forward', 'ingest', 'worker'].map((role) => `serve --role ${role}`);
    expect(commands.toSorted()).toEqual(['migrate', ...roles]);
  });

  it('let a process do nothing but its work', () => {
    for (const { pod, container } of workloads) {
      expect(pod.securityContext).toEqual({
        runAsNonRoot: true,
        // The user of the image: node.
        runAsUser: 1000,
        runAsGroup: 1000,
        fsGroup: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  it('give the secrets of the owner of the tables to no process that serves, and those of the cloud not to ingest', () => {
    const secretsOf = ({ container }: (typeof workloads)[number]) =>
      container.envFrom.flatMap(({ secretRef }) => secretRef?.name ?? []);
    for (const workload of serving) expect(secretsOf(workload)).not.toContain('xiq-sink-migrate');
    const ingest = serving.find(({ labels }) => labels['role'] === 'ingest');
    expect(ingest && secretsOf(ingest)).toEqual(['xiq-sink-connections', 'xiq-sink-webhook']);
  });

  it('set nothing that is no setting', () => {
    const settings = new Set(
      readFileSync(path.join(ROOT, '.env.example'), 'utf8').match(/(?<=^#)[A-Z\d_]+(?==)/gm),
    );
    const names = workloads.flatMap(({ container }) => container.env.map(({ name }) => name));
    expect(names.filter((name) => !settings.has(name))).toEqual([]);
  });

  it('ask each process at the port for deliveries, and wait longer for its end than it drains', () => {
    for (const { pod, container } of serving) {
      const { startupProbe, livenessProbe, readinessProbe } = container;
      expect([startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet)).toEqual([
        { path: '/healthz', port: 'deliveries' },
        { path: '/healthz', port: 'deliveries' },
        { path: '/readyz', port: 'deliveries' },
      ]);
      expect(container.ports).toContainEqual({ name: 'deliveries', containerPort: 8080 });
      const drain = Number(container.env.find(({ name }) => name === 'DRAIN_SECONDS')?.value ?? 0);
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(drain + 10);
    }
  });

  it('select the pods of one role, and keep one process of each role that has several', () => {
    for (const { selector, labels } of serving) expect(selector?.matchLabels).toEqual(labels);
    for (const { spec } of of(Selecting, ['Service', 'PodDisruptionBudget'])) {
      const selected = serving.filter(({ labels }) => labels['role'] === spec.selector['role']);
      expect(selected.map(({ labels }) => labels)).toEqual([spec.selector]);
      const ports = selected.flatMap(({ container }) => container.ports.map(({ name }) => name));
      expect(ports).toEqual(expect.arrayContaining(spec.ports.map(({ targetPort }) => targetPort)));
    }
    const budgets = of(Selecting, ['PodDisruptionBudget']).map(({ spec }) => spec.selector['role']);
    expect(budgets).toEqual(
      serving.filter(({ replicas = 1 }) => replicas > 1).map(({ labels }) => labels['role']),
    );
  });
});
