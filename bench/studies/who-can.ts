/**
 * How long do questions about others hold the event loop? CPU time of the longest tick during a ResourceAccessReview
 * and a SubjectReachReview over a whole fleet.
 *
 *   npm run bench -- who-can [CLUSTERS] [BINDINGS]
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../../test/e2e/support/server.ts';
import { clusterFleet } from '../support/cluster-fleet.ts';
import { writeFleet } from '../support/fleet.ts';
import { TickTimes } from '../support/tick-times.ts';

const [clusters = 10_000, bindings = 1_000] = process.argv.slice(2).map(Number);
const REVIEWS = '/apis/clusterpass.dev/v1alpha1';
const ROUNDS = 5;

const dataDir = await mkdtemp(join(tmpdir(), 'clusterpass-who-can-'));
await writeFleet(dataDir, clusterFleet({ clusters, bindings }));
const ticks = await TickTimes.prepare();
const server = await startServer({ dataDir, env: { NODE_OPTIONS: ticks.nodeArgs.join(' ') } });

/** A reach is read page by page, as the command line does. */
async function ask(resource: string, spec: object): Promise<number> {
  let found = 0;
  for (let from = ''; ; ) {
    const body = { spec: { ...spec, ...(from === '' ? {} : { continue: from }) } };
    const { code, json, text } = await server.call('POST', `${REVIEWS}/${resource}`, { body });
    if (code !== 201) throw new Error(text);
    found += (json.status.subjects ?? json.status.clusters).length;
    from = json.status.continue ?? '';
    if (from === '') return found;
  }
}

const resourceAttributes = { verb: 'get', group: 'clusterregistry.k8s.io', resource: 'clusters' };
const questions: readonly [string, string, object][] = [
  ['who can get clusters', 'resourceaccessreviews', { resourceAttributes }],
  ['what a reader reaches', 'subjectreachreviews', { user: 'reader' }],
  ['what a reader of few clusters reaches', 'subjectreachreviews', { user: 'limited' }],
];
try {
  console.log(`${clusters} clusters, ${bindings} bindings\n`);
  console.log('| question | found | milliseconds | longest tick, ms of CPU |\n|---|---|---|---|');
  for (const [name, resource, spec] of questions) {
    ticks.takeLongest();
    let found = 0;
    const begun = performance.now();
    for (let round = 0; round < ROUNDS; round++) found = await ask(resource, spec);
    const milliseconds = Math.round((performance.now() - begun) / ROUNDS);
    const longest = ticks.takeLongest();
    console.log(`| ${name} | ${found} | ${milliseconds} | ${longest === 0 ? 'below 5' : longest.toFixed(1)} |`);
  }
} finally {
  await server.destroy();
}
