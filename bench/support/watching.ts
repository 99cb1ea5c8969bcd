import { call, expectEqual, expectSuccess, requestText } from './client.ts';
import { READER } from './cluster-fleet.ts';
import { Driver } from './driver.ts';
import { CLUSTERS_PATH, clusterName } from './objects.ts';
import type { FleetServer } from './processes.ts';

const MERGE_PATCH = 'application/merge-patch+json';

/** A watch of all events from now on. */
export async function watchRequest(server: FleetServer, token = READER.token): Promise<string> {
  const { metadata } = await expectSuccess<{ metadata: { resourceVersion: string } }>(
    call(server, 'GET', '/auth/v1/clusters?limit=1', { token }),
  );
  return requestText('GET', `/auth/v1/clusters?watch=1&resourceVersion=${metadata.resourceVersion}`, { token });
}

/** The driver that watches and the one that writes are separate, so that neither waits for the other. */
export interface WatchDrivers {
  readonly watchers: Driver;
  readonly writer: Driver;
}

export const watchDrivers = (): WatchDrivers => ({ watchers: new Driver(), writer: new Driver() });

const annotationPatch = (note: string): object => ({ metadata: { annotations: { note } } });

let patchRounds = 0;

/** A patch around the number of a cluster. Each call makes another text, so that every patch is a change. */
export function numberedPatch({ adminToken: token }: FleetServer): readonly [before: string, after: string] {
  const body = annotationPatch(`round ${++patchRounds}`);
  const path = `${CLUSTERS_PATH}/${clusterName(0)}`;
  const text = requestText('PATCH', path, { token, body, type: MERGE_PATCH });
  const [before = '', after = ''] = text.split(clusterName(0).slice(2));
  return [before, after];
}

/** An event as a watcher gets it, after a check that it has the public view of a cluster. */
export async function sampleFrame(server: FleetServer): Promise<Buffer> {
  const name = clusterName(1);
  const sent = { body: annotationPatch('round 0'), type: MERGE_PATCH };
  await expectSuccess(call(server, 'PATCH', `${CLUSTERS_PATH}/${name}`, sent));
  const { body } = await call(server, 'GET', `/auth/v1/clusters?fieldSelector=metadata.name%3D${name}`, READER);
  const { items } = JSON.parse(body.toString()) as { items: { metadata: object; spec: object }[] };
  expectEqual('fields of spec', Object.keys(items[0]?.spec ?? {}), ['orchestratorApiEndpoints']);
  return Buffer.from(`{"type":"MODIFIED","object":${JSON.stringify(items[0])}}\n`);
}
