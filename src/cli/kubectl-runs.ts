import { readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseYamlDocuments } from '../api/codec/parse-yaml.ts';
import { toPlain } from '../api/codec/tree.ts';
import { IN_CLUSTER_ANNOTATION } from '../api/domain-keys.ts';
import { type JsonValue, memberOf } from '../lib/json.ts';

/** One start of kubectl. */
export interface KubectlRun {
  /** Undefined at the fleet. */
  readonly cluster: string | undefined;
  readonly args: readonly string[];
  /** In place of the terminal's input. */
  readonly input?: string;
}

/** The commands of kubectl whose flag -f names manifests. */
const VERBS = ['apply', 'create', 'delete', 'describe', 'diff', 'get', 'replace'];
const FLAG = /^(?:-f|--filename)(?:=(.*))?$/s;
const MAX_TOKENS = 1_000_000;

/**
 * The runs that do for files with objects of several clusters what kubectl does for one: a GET or DELETE has no body
 * that could name the cluster (ADR 29). Files without objects inside clusters, and those that kubectl has to read or
 * refuse itself, are left to one run at the fleet.
 */
export async function kubectlRuns(
  args: readonly string[],
  cwd: string,
  readInput: () => Promise<string>,
): Promise<readonly KubectlRun[]> {
  const { files, others } = filesIn(args);
  const verb = others.find((arg) => VERBS.includes(arg));
  if (files.length === 0 || verb === undefined) return [{ cluster: undefined, args }];
  const input = files.includes('-') ? await readInput() : undefined;
  const recursive = others.some((arg) => ['-R', '--recursive', '--recursive=true'].includes(arg));
  const asGiven: KubectlRun[] = [{ cluster: undefined, args, ...(input === undefined ? {} : { input }) }];
  const byCluster = new Map<string, JsonValue[]>([['', []]]);
  try {
    for (const file of files) {
      for (const object of objectsIn(
        file === '-' ? (input ?? '') : await readManifest(resolve(cwd, file), recursive),
      )) {
        const cluster = memberOf(object, 'metadata', 'annotations', IN_CLUSTER_ANNOTATION);
        const key = typeof cluster === 'string' ? cluster : '';
        byCluster.set(key, [...(byCluster.get(key) ?? []), object]);
      }
    }
  } catch {
    return asGiven;
  }
  if (byCluster.size === 1) return asGiven;
  const runs = [...byCluster].map(([cluster, items]): KubectlRun => {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    return { cluster: cluster === '' ? undefined : cluster, args: [...others, '-f', '-'], input };
  });
  const filled = runs.filter((_, index) => index > 0 || byCluster.get('')?.length !== 0);
  // What is inside a cluster is deleted before the cluster.
  return verb === 'delete' ? filled.reverse() : filled;
}

function filesIn(args: readonly string[]): { files: string[]; others: string[] } {
  const files: string[] = [];
  const others: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? '';
    if (arg === '--') return { files, others: [...others, ...args.slice(index)] };
    const value = FLAG.exec(arg);
    if (value === null) others.push(arg);
    else files.push(...(value[1] ?? args[++index] ?? '').split(','));
  }
  return { files, others };
}

async function readManifest(path: string, recursive: boolean): Promise<string> {
  if (!(await stat(path)).isDirectory()) return readFile(path, 'utf8');
  const names = (await readdir(path, { recursive })).filter((name) => /\.(?:json|ya?ml)$/.test(name)).sort();
  return (await Promise.all(names.map((name) => readFile(join(path, name), 'utf8')))).join('\n---\n');
}

function* objectsIn(text: string): Generator<JsonValue> {
  for (const { root, duplicates } of parseYamlDocuments(text, MAX_TOKENS)) {
    if (duplicates.length > 0) throw new Error(duplicates.join());
    const object = toPlain(root);
    const items = memberOf(object, 'kind') === 'List' ? memberOf(object, 'items') : undefined;
    if (Array.isArray(items)) yield* items;
    else if (object !== null) yield object;
  }
}
