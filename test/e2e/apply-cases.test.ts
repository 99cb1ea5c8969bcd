import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { badRequest, failure } from './support/expect-status.ts';
import { createCluster, createNamespace } from './support/objects.ts';
import { tokenOf } from './support/server.ts';
import { sharedServer } from './support/shared-server.ts';

/**
 * Replays requests of server-side apply, and compares the responses with those of kube-apiserver 1.36.4. A cluster was
 * recorded as a custom resource with the same fields; the other kinds are built in.
 *
 * In the recorded bodies uids are `<uid>`, times `<time>`, and versions `<rv1>`, `<rv2>` in the order in which a case
 * shows them. `{{N.a.b}}` in a request is a value of the answer to step N.
 */

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

interface Step {
  readonly method: string;
  readonly path: string;
  readonly contentType?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Json;
  readonly user?: string;
  readonly userAgent?: string;
  readonly accept?: string;
  readonly waitMs?: number;
}

interface Expected {
  readonly code: number;
  readonly body: Json;
  readonly warning?: string;
  /** Only these paths of the body count. */
  readonly pick?: readonly string[];
}

interface Case {
  readonly id: string;
  /** Those of docs/kubernetes-contract.md that it shows. */
  readonly facts?: readonly string[];
  readonly title: string;
  readonly steps: readonly Step[];
  readonly expect: readonly Expected[];
  /** The times of managers are numbered in the order in which they appear. */
  readonly times?: boolean;
  /** The order of managers counts. */
  readonly ordered?: boolean;
}

const CASES = readFileSync(new URL('../fixtures/apply-cases.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Case)
  .map((each) => ({ ...each, title: [...(each.facts ?? []), each.title].join(', ') }));

type Differs = (expected: Expected, step: number) => Expected;

/** AP-25: a 500 for a mistake of the caller is a 400 here, with the same text. */
const asBadRequest: Differs = (expected) => {
  if (expected.code !== 500) return expected;
  const { message } = expected.body as { message: string };
  return { code: 400, body: failure(badRequest(message)) as Json };
};

const CALLERS_MISTAKE = {
  why: 'AP-25: a mistake of the caller must not count as a failure of the server',
  expect: asBadRequest,
};

/** Responses of steps that differ from the recording. */
const inSteps =
  (answers: Readonly<Record<number, Differs>>): Differs =>
  (expected, step) =>
    answers[step]?.(expected, step) ?? expected;

const MEDIA_TYPES = ['json-patch+json', 'merge-patch+json', 'strategic-merge-patch+json'];
const unknownFormat =
  (style: 'builtin' | 'custom'): Differs =>
  () => {
    const types = [...MEDIA_TYPES.slice(0, style === 'custom' ? 2 : 3), 'apply-patch+yaml', 'apply-patch+json'];
    const list = types.map((type) => `application/${type}`).join(', ');
    const message = `the body of the request was in an unknown format - accepted media types include: ${list}`;
    return { code: 415, body: failure({ code: 415, reason: 'UnsupportedMediaType', message }) as Json };
  };

const WARNING_OF_POD = '299 - "Clusterpass keeps only a part of a Pod; dropped: spec.containers"';

/** The answers that differ on purpose, with the reason. */
const DIFFERENCES: Readonly<Record<string, { readonly why: string; readonly expect: Differs }>> = {
  'AC-03': {
    why: 'AP-05: fieldManager has fewer than 128 bytes',
    expect: inSteps({
      0: (expected) => JSON.parse(JSON.stringify(expected).replaceAll('128 bytes', '127 bytes')) as Expected,
    }),
  },
  'AC-04': {
    why: 'AP-06: a force that is neither true nor false is a mistake, and taking over fields would hide it',
    expect: inSteps({
      5: () => ({
        code: 400,
        body: failure(badRequest('force: Invalid value: "maybe": must be "true" or "false"')) as Json,
      }),
    }),
  },
  'AC-05': {
    why: 'AP-02: apply-patch+json is served; media types that are not served get one text for all kinds (X-16)',
    expect: inSteps({
      0: () => ({ code: 201, pick: ['kind'], body: { kind: 'Cluster' } }),
      1: unknownFormat('custom'),
      2: (expected) => ({ ...expected, code: 200 }),
      3: () => ({ code: 201, pick: ['kind'], body: { kind: 'ServiceAccount' } }),
      4: unknownFormat('builtin'),
    }),
  },
  'AC-17': CALLERS_MISTAKE,
  'AC-18': CALLERS_MISTAKE,
  'AC-20': CALLERS_MISTAKE,
  'AC-38': CALLERS_MISTAKE,
  'AC-39': CALLERS_MISTAKE,
  'AC-45': CALLERS_MISTAKE,
  'AC-49': {
    why: 'of a pod only the part is kept that binds tokens, and a warning says so',
    expect: inSteps({ 0: (expected) => ({ ...expected, warning: WARNING_OF_POD }) }),
  },
  'AC-63': {
    why: 'AP-44: a caller who may not update a cluster sees its public view, without managedFields',
    expect: inSteps({
      4: () => ({
        code: 200,
        pick: ['metadata.labels', 'metadata.managedFields'],
        body: { 'metadata.labels': { a: '1', b: '1' }, 'metadata.managedFields': null },
      }),
    }),
  },
};

const server = sharedServer();
const run = String(process.pid);

beforeAll(async () => {
  await createCluster(server, 'alpha');
  await createNamespace(server, 'apply-cases', 'alpha');
});

describe('server-side apply as recorded from kube-apiserver', () => {
  it.concurrent.each(CASES)('$id: $title', async (recorded) => {
    const answers: Json[] = [];
    const shown = new Shown(recorded);
    for (const [index, step] of recorded.steps.entries()) {
      if (step.waitMs !== undefined) await delay(step.waitMs);
      const answer = await send(step, answers);
      const json = answer.json as Json;
      answers.push(json);
      const original = recorded.expect[index] as Expected;
      const expected = DIFFERENCES[recorded.id]?.expect(original, index) ?? original;
      const body = shown.normalize(json);
      const picked = expected.pick === undefined ? body : pick(body, expected.pick);
      const found = { code: answer.code, body: picked, warning: answer.headers.get('warning') ?? undefined };
      const wanted = { code: expected.code, body: shown.sort(expected.body), warning: expected.warning };
      // As text: the order of the members counts, too.
      expect(textOf(found), `${recorded.id} step ${index}`).toBe(textOf(wanted));
    }
  });

  it('has a case and a reason for each difference', () => {
    const ids = CASES.map(({ id }) => id);
    for (const [id, { why }] of Object.entries(DIFFERENCES)) {
      expect(ids).toContain(id);
      expect(why).not.toBe('');
    }
  });
});

function send(step: Step, answers: readonly Json[]) {
  const filled = fill(step, answers) as unknown as Step;
  const query = new URLSearchParams(filled.query).toString();
  const path = filled.path.startsWith('/api/v1') ? `/orchestrator/alpha${filled.path}` : filled.path;
  return server.call(step.method, query === '' ? path : `${path}?${query}`, {
    ...(filled.body === undefined ? {} : { body: filled.body }),
    headers: {
      'User-Agent': filled.userAgent ?? 'apply-case/1.0 (test)',
      ...(filled.contentType === undefined ? {} : { 'Content-Type': filled.contentType }),
      ...(filled.accept === undefined ? {} : { Accept: filled.accept }),
    },
    ...(filled.user === undefined ? {} : { token: tokenOf(filled.user) }),
  });
}

/** Puts values of earlier responses into a step. */
function fill(value: unknown, answers: readonly Json[]): Json {
  const text = JSON.stringify(value)
    .replaceAll('{run}', run)
    .replaceAll(/"\{\{(\d+)\.([^}]+)\}\}"/g, (_, step: string, path: string) =>
      JSON.stringify(at(answers[Number(step)] ?? null, path)),
    );
  return JSON.parse(text) as Json;
}

/** Replaces values that differ from run to run by the placeholders of the recording. */
class Shown {
  readonly #case: Case;
  readonly #versions: string[] = [];
  readonly #times: string[] = [];

  constructor(recorded: Case) {
    this.#case = recorded;
  }

  normalize(body: Json): Json {
    return this.sort(this.#replace(body, []));
  }

  /** Sorts managers and causes where the recorded order does not count. */
  sort(value: Json): Json {
    if (Array.isArray(value)) return value.map((item) => this.sort(item));
    if (value === null || typeof value !== 'object') return value;
    const entries = Object.entries(value).map(([key, inner]) => [key, this.#sortMember(key, this.sort(inner))]);
    return Object.fromEntries(entries);
  }

  #sortMember(key: string, value: Json): Json {
    if (!Array.isArray(value)) return value;
    const isManagers = /(?:^|\.)managedFields(?:\[\w+\])?$/.test(key);
    if (isManagers && !(this.#case.ordered || this.#case.times)) return sortBy(value, managerText);
    return key === 'causes' ? sortBy(value, causeText) : value;
  }

  #replace(value: Json, path: readonly string[]): Json {
    if (Array.isArray(value)) return value.map((item) => this.#replace(item, [...path, '[]']));
    if (value !== null && typeof value === 'object') {
      return Object.fromEntries(
        Object.entries(value).map(([key, inner]) => [key, this.#replace(inner, [...path, key])]),
      );
    }
    const key = path.at(-1);
    if (typeof value !== 'string') return value;
    if (key === 'resourceVersion') return `<rv${numberOf(this.#versions, value)}>`;
    if (key === 'uid' && /^(?!00000000)[0-9a-f-]{36}$/.test(value)) return '<uid>';
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value)) return value;
    return key === 'time' && this.#case.times ? `<time${numberOf(this.#times, value)}>` : '<time>';
  }
}

const textOf = (value: object): string => JSON.stringify(value, null, 2);

function numberOf(seen: string[], value: string): number {
  if (!seen.includes(value)) seen.push(value);
  return seen.indexOf(value) + 1;
}

const sortBy = (items: readonly Json[], text: (item: Json) => string): Json[] =>
  [...items].sort((a, b) => (text(a) < text(b) ? -1 : 1));
const managerText = (entry: Json): string => {
  const {
    manager,
    operation,
    subresource = '',
  } = entry as { manager: string; operation: string; subresource?: string };
  return `${manager} ${operation} ${subresource}`;
};
const causeText = (cause: Json): string => {
  const { field = '', message = '' } = cause as { field?: string; message?: string };
  return `${field} ${message}`;
};

function pick(body: Json, paths: readonly string[]): Json {
  return Object.fromEntries(paths.map((path) => [path, at(body, path) ?? null]));
}

/** `a.b`; `managedFields[one]` are the entries of the manager `one`. Keys of labels may have dots: the longest wins. */
function at(value: Json, path: string): Json | undefined {
  if (path === '') return value;
  if (value === null || typeof value !== 'object') return undefined;
  const ofManager = /^managedFields\[(\w+)\]$/.exec(path);
  if (ofManager !== null && !Array.isArray(value)) {
    const entries = (value.managedFields ?? []) as { manager: string }[];
    return entries.filter(({ manager }) => manager === ofManager[1]) as unknown as Json;
  }
  const members = value as { [key: string]: Json };
  const key = Object.keys(members)
    .filter((name) => path === name || path.startsWith(`${name}.`))
    .sort((a, b) => b.length - a.length)[0];
  return key === undefined ? undefined : at(members[key] ?? null, path.slice(key.length + 1));
}
