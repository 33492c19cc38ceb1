import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const ROOT = path.resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

const Service = z.object({
  image: z.string(),
  build: z.string().optional(),
  user: z.string().optional(),
  privileged: z.boolean().optional(),
  read_only: z.boolean().optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  tmpfs: z.array(z.string()).optional(),
  ports: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).optional(),
});

const compose: unknown = parse(read('docker-compose.yml'), { merge: true });
const { services } = z.object({ services: z.record(z.string(), Service) }).parse(compose);
const ours = Object.entries(services).filter(([, { build }]) => build !== undefined);

/** The last instruction of a kind: the one that counts. */
const instruction = (name: string) =>
  read('Dockerfile')
    .split('\n')
    .findLast((line) => line.startsWith(`${name} `))
    ?.slice(name.length + 1);

describe('the container', () => {
  it('runs as an unprivileged user', () => {
    expect(instruction('USER')).toBe('node');
    for (const [, { user, privileged }] of ours) expect([user, privileged]).toEqual([undefined, undefined]);
  });

  it('has a read-only root, no capabilities, and no way to gain any', () => {
    expect(ours.map(([name]) => name)).toEqual(['ingest', 'worker', 'forward', 'console']);
    for (const [, service] of ours) {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        tmpfs: ['/tmp'],
      });
    }
  });

  it('publishes deliveries to the network, the console to its own machine, and nothing else', () => {
    const published = Object.entries(services).flatMap(([name, { ports = [] }]) =>
      ports.map((port) => [name, port]),
    );
    expect(published).toEqual([
      ['ingest', '${PORT:-8080}:8080'],
      ['console', '127.0.0.1:${ADMIN_PORT:-8081}:8081'],
    ]);
    for (const [, { environment }] of ours) {
      expect(environment).toMatchObject({ ADMIN_HOST: '0.0.0.0' });
      expect(environment?.['ADMIN_TOKEN']).toMatch(/^\$\{ADMIN_TOKEN:\?/);
    }
  });

  it('and its neighbours name the version of their image', () => {
    const others = Object.values(services).filter(({ build }) => build === undefined);
    const images = [instruction('FROM'), ...others.map(({ image }) => image)];
    expect(images.length).toBeGreaterThan(2);
    for (const image of images) expect(image).toMatch(/^[a-z/]+:\d/);
  });

  it('is given its secrets by the environment, none stands in a file', () => {
    for (const file of ['docker-compose.yml', 'Dockerfile']) {
      for (const line of read(file).split('\n')) {
        if (line.trim().startsWith('#')) continue;
        expect(line).not.toMatch(/^\s*(?:ENV )?\w*(?:SECRET|PASSWORD|TOKEN)\w*[:=]\s*[^\s$]/);
      }
    }
  });
});

describe('dependencies', () => {
  const Lock = z.object({
    packages: z.record(
      z.string(),
      z.object({ version: z.string().optional(), integrity: z.string().optional() }),
    ),
  });

  it('are pinned by version and content in package-lock.json, which is in git', () => {
    const { packages } = Lock.parse(JSON.parse(read('package-lock.json')));
    const installed = Object.entries(packages).filter(([name]) => name !== '');
    expect(installed.length).toBeGreaterThan(100);
    for (const [, { version, integrity }] of installed) {
      expect(version).toMatch(/^\d+\.\d+\.\d+/);
      expect(integrity).toMatch(/^sha512-/);
    }
    const tracked = execFileSync('git', ['ls-files', 'package-lock.json'], { cwd: ROOT, encoding: 'utf8' });
    expect(tracked.trim()).toBe('package-lock.json');
  });
});
