import { readdirSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const WORKFLOWS = path.resolve(import.meta.dirname, '../../.github/workflows');
const read = (name: string) => readFileSync(path.join(WORKFLOWS, name), 'utf8');

/** GitHub's own parser. It imports its schema without saying that this is JSON, which Node.js requires. */
async function importParser() {
  const hooks = registerHooks({
    load: (url, context, nextLoad) =>
      nextLoad(url, url.endsWith('.json') ? { ...context, importAttributes: { type: 'json' } } : context),
  });
  try {
    return await import('@actions/workflow-parser');
  } finally {
    hooks.deregister();
  }
}

const { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } = await importParser();

/** What GitHub would find wrong. */
async function findProblems(name: string, content: string): Promise<readonly string[]> {
  const { context, value } = parseWorkflow({ name, content }, new NoOperationTraceWriter());
  if (value !== undefined) await convertWorkflowTemplate(context, value);
  return context.errors.getErrors().map(({ message }) => message);
}

describe('the workflows of GitHub', () => {
  it.each(readdirSync(WORKFLOWS))('%s is what GitHub accepts', async (name) => {
    expect(await findProblems(name, read(name))).toEqual([]);
  });

  it('give a job that can write no more than it needs, and run the checks first', () => {
    const release = read('release.yml');
    expect(release).toMatch(
      /^permissions:\n {2}contents: read\njobs:\n {2}check:\n {4}uses: \.\/\.github\/workflows\/check\.yml$/m,
    );
    expect(release).toContain('needs: check\n');
  });
});
