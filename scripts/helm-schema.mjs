/** The options of the server in values.schema.json of the Helm chart. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { placeholderOf } from '../src/config/option.ts';
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

/** @typedef {import('../src/config/option.ts').Option} Option */

/**
 * The types that a value may have in YAML. The server checks the rest at its start.
 * @param {Option} option
 */
function typeOf(option) {
  const { repeatable, parse } = option;
  const value = placeholderOf(option);
  if (value === undefined) return { type: 'boolean' };
  if (repeatable === true) return { type: ['string', 'array'], items: { type: 'string' } };
  // 0 for never needs no unit.
  if (value === 'DURATION')
    return { type: ['string', 'integer'], pattern: '^(0|([0-9.]+(ns|us|ms|s|m|h))+)$', maximum: 0 };
  if (!NUMBERS.has(value)) return { type: 'string' };
  return accepts(parse, 'auto') ? { type: ['integer', 'string'] } : { type: 'integer' };
}

/**
 * @param {Option['parse']} parse
 * @param {string} text
 */
function accepts(parse, text) {
  try {
    parse(text, { cwd: '/' });
    return true;
  } catch {
    return false;
  }
}

/** The schema with the options of today, and everything else as it is in the file. */
export function renderHelmSchema() {
  const schema = JSON.parse(readFileSync(new URL(`../${SCHEMA}`, import.meta.url), 'utf8'));
  const options = OPTION_NAMES.flatMap((name) => {
    const key = keyOf(name);
    return SET_BY_CHART.has(key) ? [] : [[key, { description: OPTIONS[name].doc, ...typeOf(OPTIONS[name]) }]];
  });
  schema.properties.config.properties = Object.fromEntries(options);
  const biome = fileURLToPath(new URL('../node_modules/@biomejs/biome/bin/biome', import.meta.url));
  return execFileSync(process.execPath, [biome, 'format', `--stdin-file-path=${SCHEMA}`], {
    ...{ cwd: ROOT, encoding: 'utf8', input: JSON.stringify(schema, undefined, 2) },
  });
}
