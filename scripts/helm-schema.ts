/** The options of the server in values.schema.json of the Helm chart. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Option, placeholderOf } from '../src/config/option.ts';
import { keyOf, OPTION_NAMES, OPTIONS } from '../src/config/options.ts';
import { ROOT } from './setup.mjs';

export const SCHEMA = 'deploy/helm/clusterpass/values.schema.json';

/** Options that the chart sets from other values: addresses, the store, and the files that it mounts. */
const SET_BY_CHART = new Set([
  ...['config', 'listen', 'base-url', 'data-dir', 'store', 'insecure-http', 'encryption-key-file'],
  ...['tls-cert-file', 'tls-private-key-file', 'etcd-cafile', 'etcd-certfile', 'etcd-keyfile'],
  ...['etcd-username', 'etcd-password-file', 'etcd-insecure'],
]);

const NUMBERS = new Set(['N', 'MEGABYTES', 'DAYS', 'PERCENT']);

/** The types that a value may have in YAML. The server checks the rest at its start. */
function typeOf(option: Option): object {
  const value = placeholderOf(option);
  if (value === undefined) return { type: 'boolean' };
  if (option.repeatable === true) return { type: ['string', 'array'], items: { type: 'string' } };
  // 0 for never needs no unit.
  if (value === 'DURATION')
    return { type: ['string', 'integer'], pattern: '^(0|([0-9.]+(ns|us|ms|s|m|h))+)$', maximum: 0 };
  if (!NUMBERS.has(value)) return { type: 'string' };
  return acceptsAuto(option) ? { type: ['integer', 'string'] } : { type: 'integer' };
}

function acceptsAuto({ parse }: Option): boolean {
  try {
    parse('auto', { cwd: '/' });
    return true;
  } catch {
    return false;
  }
}

/** The schema with the options of today, and everything else as it is in the file. */
export function renderHelmSchema(): string {
  const schema = JSON.parse(readFileSync(join(ROOT, SCHEMA), 'utf8'));
  const names = OPTION_NAMES.filter((name) => !SET_BY_CHART.has(keyOf(name)));
  schema.properties.config.properties = Object.fromEntries(
    names.map((name) => [keyOf(name), { description: OPTIONS[name].doc, ...typeOf(OPTIONS[name]) }]),
  );
  const biome = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
  return execFileSync(process.execPath, [biome, 'format', `--stdin-file-path=${SCHEMA}`], {
    ...{ cwd: ROOT, encoding: 'utf8', input: JSON.stringify(schema, undefined, 2) },
  });
}
