import { addCluster, touch } from '../e2e/support/fleet.ts';
import { CLUSTERS } from '../e2e/support/paths.ts';
import type { Server } from '../e2e/support/server.ts';

const WRITERS = 24;
const READS_PER_REPLICA = 4;

/** Writes at one replica, and reads at all others as soon as the write is acknowledged: lists and gets alternate. */
export async function crossReads(
  replicas: readonly Server[],
  reads: number,
): Promise<{ summary: string; stale: string[] }> {
  const begun = performance.now();
  const stale: string[] = [];
  const done = { reads: 0, lists: 0, writes: 0, stale: 0, unanswered: 0 };
  const readOne = async (server: Server, name: string, version: number, asList: boolean): Promise<void> => {
    const path = asList ? `${CLUSTERS}?fieldSelector=metadata.name=${name}` : `${CLUSTERS}/${name}`;
    const { code, json, text } = await server.call('GET', path);
    // On a busy machine etcd may lose its leader. A 503 is not a stale read.
    if (code === 503) {
      done.unanswered += 1;
      return;
    }
    if (code !== 200) throw new Error(`${path} was answered with ${code}: ${text}`);
    const { metadata } = asList ? json.items[0] : json;
    done.reads += 1;
    if (asList) done.lists += 1;
    // An unanswered write may have happened since, so a newer version is fine.
    if (Number(metadata.resourceVersion) >= version) return;
    done.stale += 1;
    if (stale.length < 20) stale.push(`${name} was ${metadata.resourceVersion} at ${server.url}, after ${version}`);
  };
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      const name = `writer-${writer}`;
      await addCluster(replicas[0] as Server, name);
      for (let round = 0; done.reads < reads; round++) {
        const at = round % replicas.length;
        const version = await touch(replicas[at] as Server, name, `${round}`).catch(() => undefined);
        if (version === undefined) {
          done.unanswered += 1;
          continue;
        }
        done.writes += 1;
        const others = replicas.filter((_, i) => i !== at);
        const each = (other: Server) =>
          Array.from({ length: READS_PER_REPLICA }, (_, i) => readOne(other, name, version, i % 2 === 0));
        await Promise.all(others.flatMap(each));
      }
    }),
  );
  const seconds = Math.round((performance.now() - begun) / 1_000);
  const n = (value: number): string => value.toLocaleString('en-US');
  const summary = [
    '| reads | of these lists | after writes elsewhere | stale | answered with 503 | took |',
    '|---|---|---|---|---|---|',
    `| ${n(done.reads)} | ${n(done.lists)} | ${n(done.writes)} | ${done.stale} | ${done.unanswered} | ${seconds} s |`,
  ].join('\n');
  return { summary, stale };
}
