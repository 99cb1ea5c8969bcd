import { issuersFor, WEBHOOK_SECONDS } from '../../../src/api/pass-audience.ts';
import type { Cluster } from '../../../src/client/index.ts';
import { formatTime } from '../components/time.tsx';

const PREFIX = 'clusterpass.dev/';

interface RevocablePass {
  readonly audiences: readonly string[];
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** What the revocation of a pass means at the programs that accept it. */
interface RevocationEffect {
  /** Clusters that ask Clusterpass for each pass: they refuse it within seconds. As subjects of a sentence. */
  readonly asking: readonly string[];
  /** Clusters and services that verify it with the key set, and accept it until it expires. */
  readonly accepting: readonly string[];
  readonly until: number;
}

/** `clusters` finds a cluster by its name; one that the user cannot see does not exist for the page. */
export function revocationEffect(
  { audiences, expiresAt }: RevocablePass,
  clusters: (name: string) => Cluster | undefined,
): RevocationEffect {
  const asking: string[] = [];
  const accepting: string[] = [];
  for (const audience of audiences) {
    const cluster = clusterOf(audience, clusters);
    if (cluster === undefined) accepting.push(audience);
    else (cluster.asks ? asking : accepting).push(`The cluster ${cluster.name}`);
  }
  return { asking, accepting, until: expiresAt };
}

/** The cluster that takes passes with this audience: of accounts, or below `/people` of people. */
function clusterOf(
  audience: string,
  clusters: (name: string) => Cluster | undefined,
): { readonly name: string; readonly asks: boolean } | undefined {
  for (const { issuer, cluster: name } of issuersFor(audience)) {
    const annotations = clusters(name)?.metadata.annotations ?? {};
    if (annotations[`${PREFIX}audience`] === issuer) {
      return { name, asks: annotations[`${PREFIX}token-checks`] === 'webhook' };
    }
  }
  return undefined;
}

/** What the clusters and services that accept the passes do after the revocation, in a few sentences. */
export function describeEffects(effects: readonly RevocationEffect[]): string[] {
  const asking = new Set(effects.flatMap((effect) => effect.asking));
  const accepting = new Map<string, number>();
  for (const { accepting: names, until } of effects) {
    for (const name of names) accepting.set(name, Math.max(until, accepting.get(name) ?? 0));
  }
  const one = effects.length === 1;
  return [
    ...[...asking].map((name) => `${name} asks Clusterpass, and refuses it within about ${WEBHOOK_SECONDS} seconds.`),
    ...[...accepting].map(
      ([name, until]) =>
        `${name} does not notice: it accepts ${one ? 'the pass' : 'its passes'} until ${formatTime(until)}.`,
    ),
  ];
}
