import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = join(ROOT, '.github/workflows');
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}
interface Job {
  readonly needs?: string;
  readonly container?: string;
  readonly environment?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly on: Readonly<Record<string, object | null>> & { readonly schedule?: readonly { readonly cron: string }[] };
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

/** The actions, the commits of their releases, and the inputs that are used of those in their action.yml. */
const ACTIONS: Readonly<Record<string, readonly string[]>> = {
  'actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1': ['persist-credentials'],
  'actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f': ['name', 'path', 'if-no-files-found'],
  'actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c': ['name', 'path'],
  'actions/setup-go@b7ad1dad31e06c5925ef5d2fc7ad053ef454303e': ['go-version', 'cache'],
  'actions/setup-node@820762786026740c76f36085b0efc47a31fe5020': ['node-version', 'registry-url'],
};

const files = readdirSync(FOLDER);

describe.each(files)('the workflow %s', (file) => {
  const text = readFileSync(join(FOLDER, file), 'utf8');
  const document = parseDocument(text);
  const workflow = document.toJS() as Workflow;
  const jobs = Object.entries(workflow.jobs);
  const steps = jobs.flatMap(([, job]) => job.steps);
  const unknown = (value: object | null | undefined, known: readonly string[]): string[] =>
    Object.keys(value ?? {}).filter((key) => !known.includes(key));

  it('has no permission that a job does not name', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
  });

  it('uses actions at a commit, with inputs that they have', () => {
    for (const { uses, with: inputs } of steps.filter((step) => step.uses !== undefined)) {
      expect(Object.keys(ACTIONS)).toContain(uses);
      expect(unknown(inputs, ACTIONS[uses ?? ''] ?? []), uses).toEqual([]);
    }
    // The version is in a comment: it is what people compare with the releases of the action.
    for (const [line] of text.matchAll(/^.*uses:.*$/gm)) expect(line).toMatch(/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  it('runs commands that exist, and builds none of them from an expression', () => {
    const commands = steps.flatMap(({ run = '' }) => run.trim().split('\n'));
    for (const command of commands) {
      // An expression is pasted into the script before the shell reads it: a branch name could be a command.
      expect(command).not.toContain('${{');
      const [, script] = /\bnpm (?:run )?(test|start|(?<=run )[\w:-]+)/.exec(command) ?? [];
      if (script !== undefined) expect(Object.keys(scripts)).toContain(script);
      for (const [path] of command.matchAll(/\b(?:scripts|bin)\/[\w./-]+/g))
        expect(existsSync(join(ROOT, path))).toBe(true);
    }
  });

  it('lets a job write only after a person has approved it', () => {
    for (const [name, { permissions = {}, environment }] of jobs) {
      const writes = Object.values(permissions).includes('write');
      expect(environment, name).toBe(writes ? 'release' : undefined);
    }
    const { jobs: all } = workflow;
    expect(text.includes('${{ secrets.')).toBe(Object.values(all).some((job) => job.environment !== undefined));
  });

  it('gives a token of npm only to a job whose npm reads it', () => {
    for (const [name, job] of jobs) {
      const publishes = job.steps.findIndex(({ env }) => env?.NODE_AUTH_TOKEN !== undefined);
      if (publishes < 0) continue;
      // setup-node writes the .npmrc that refers to NODE_AUTH_TOKEN; npm alone ignores the variable.
      const before = job.steps.slice(0, publishes);
      const npmrc = before.some((step) => step.uses?.startsWith('actions/setup-node@') && step.with?.['registry-url']);
      expect(npmrc, name).toBe(true);
    }
  });
});
