/**
 * The service level objectives: how long requests take at a stated load, in the form of Kubernetes' own
 * (https://github.com/kubernetes/community/blob/master/sig-scalability/slos/slos.md). docs/performance.md and the
 * alerts in deploy/prometheus/rules.yaml are generated from this table, and `npm run bench -- slo` measures it.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {object} Objective
 * @property {string} name Of the benchmark's figure.
 * @property {string} calls The API calls.
 * @property {string} scope As in the label `scope` of the metrics.
 * @property {string} match Label matchers of PromQL.
 * @property {number} seconds The p99 is at most this: the boundary of a bucket of the histogram.
 * @property {number} rate Calls a second in the stated load.
 * @property {string} alert
 */

export const CLUSTERS = 10_000;
export const ACCOUNTS = 10_000;
export const WATCHERS = 500;

/** @type {Record<'tokens' | 'reads' | 'lists' | 'writes', Objective>} */
export const OBJECTIVES = {
  tokens: {
    name: 'token requests',
    calls: '`POST` of a token, signed by Clusterpass',
    scope: 'resource',
    match: 'subresource="token"',
    seconds: 0.2,
    rate: 200,
    alert: 'ClusterpassTokensSlow',
  },
  reads: {
    name: 'reads of one object',
    calls: '`GET`',
    scope: 'resource',
    match: 'verb="GET",scope="resource"',
    seconds: 0.1,
    rate: 100,
    alert: 'ClusterpassReadsSlow',
  },
  lists: {
    name: 'lists',
    calls: '`LIST`: pages of 500 clusters, and selectors that match 200',
    scope: 'cluster, namespace',
    match: 'verb="LIST"',
    seconds: 1,
    rate: 10,
    alert: 'ClusterpassListsSlow',
  },
  writes: {
    name: 'writes of one object',
    calls: '`POST`, `PUT`, `PATCH`, `DELETE`, tokens excepted',
    scope: 'resource',
    match: 'verb=~"POST|PUT|PATCH|DELETE",scope="resource",subresource!="token"',
    seconds: 0.4,
    rate: 20,
    alert: 'ClusterpassWritesSlow',
  },
};

const ALL = Object.values(OBJECTIVES);

/** @param {number} seconds */
const duration = (seconds) => (seconds < 1 ? `${seconds * 1000} ms` : `${seconds} s`);

/** The rows of docs/performance.md. */
const renderTable = () =>
  [
    '| calls | scope | p99 | load |',
    '|---|---|---|---|',
    ...ALL.map(
      ({ calls, scope, seconds, rate }) => `| ${calls} | ${scope} | at most ${duration(seconds)} | ${rate}/s |`,
    ),
  ].join('\n');

/** The alerts, one for each objective. */
const renderRules = () =>
  ALL.map(
    ({ alert, match, seconds, name }) => `      - alert: ${alert}
        expr: |
          histogram_quantile(0.99, sum by (le)
            (rate(apiserver_request_duration_seconds_bucket{job="clusterpass",${match}}[5m]))) > ${seconds}
        for: 10m
        labels: { severity: warning }
        annotations:
          summary: The p99 of ${name} is above ${duration(seconds)}.`,
  ).join('\n');

/**
 * The file with the lines between two marks replaced.
 * @param {string} file
 * @param {(text: string) => string} comment
 * @param {string} content
 */
function replaceBlock(file, comment, content) {
  const text = readFileSync(fileURLToPath(new URL(`../${file}`, import.meta.url)), 'utf8');
  const first = comment('Generated from scripts/objectives.mjs by `npm run generate`');
  const last = comment('End of the generated part');
  const [before, rest] = text.split(first);
  const after = rest?.split(last)[1];
  if (before === undefined || after === undefined) throw new Error(`${file} has no marks of a generated part`);
  return `${before}${first}\n${content}\n${last}${after}`;
}

export const RULES = 'deploy/prometheus/rules.yaml';
export const PAGE = 'docs/performance.md';

export const renderAlertRules = () => replaceBlock(RULES, (text) => `      # ${text}`, renderRules());

export const renderPerformancePage = () => replaceBlock(PAGE, (text) => `<!-- ${text} -->`, `\n${renderTable()}\n`);
