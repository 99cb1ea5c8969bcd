import { isDeepStrictEqual } from 'node:util';
import type { Catalog } from '../api/catalog.ts';
import { NAME_LABEL } from '../api/clusters-field.ts';
import { fleetKey, kindPrefix } from '../api/kind.ts';
import { type BindingCondition, bindingStatus, type FleetRoleBindingStatus } from '../api/kinds/fleet-role-binding.ts';
import { createRounds } from '../lib/rounds.ts';
import { toTimestamp } from '../lib/utc-second.ts';
import type { Work } from '../lib/work-queue.ts';
import { createKeyedWriter, statusUpdate } from '../objects/keyed-writer.ts';
import type { ObjectReader } from '../objects/reader.ts';
import type { StoredObject } from '../objects/stored-object.ts';
import type { ObjectWriter } from '../objects/writer.ts';
import type { Logger } from '../observability/logger.ts';
import { type Leadership, leaderGuards } from '../storage/contract.ts';
import { type BindingFacts, readBinding } from './policy/binding-facts.ts';
import { type ClusterSelector, viewCluster } from './policy/cluster-selector.ts';
import type { Policy } from './policy/policy.ts';

interface BindingStatusParts {
  readonly catalog: Pick<Catalog, 'clusters' | 'roles' | 'clusterRoles' | 'fleetRoleBindings'>;
  readonly policy: Pick<Policy, 'rulesOf'>;
  readonly reader: Pick<ObjectReader, 'cache' | 'find' | 'ready'>;
  readonly writer: Pick<ObjectWriter, 'update'>;
  /** The revision of the last change of a cluster's labels. */
  readonly labelsChangedAt: () => number;
  /** The leader writes, for all replicas. */
  readonly leadership: Pick<Leadership, 'leads' | 'fence'>;
  readonly now: () => number;
  readonly every: (ms: number, act: () => void) => () => void;
  readonly logger: Pick<Logger, 'warn'>;
  readonly work: Work;
}

const CHECK_MS = 1_000;
/** Before the first round, and after one that failed. */
const NOTHING = { inputs: '', revision: -1 };

/**
 * Writes how many clusters a FleetRoleBinding reaches, and why it grants nothing. A change of labels or roles concerns
 * all bindings, a change of a binding only that one; a status is written only when it changes.
 */
export function startBindingStatus(parts: BindingStatusParts): () => Promise<void> {
  const { catalog, reader, writer, leadership, logger, work } = parts;
  const kind = catalog.fleetRoleBindings;
  let done = NOTHING;
  const warn = (err: unknown): void => {
    done = NOTHING;
    logger.warn({ err }, 'the status of bindings was not written');
  };
  const statuses = createKeyedWriter(
    statusUpdate(writer, kind, () => leaderGuards(leadership)),
    warn,
  );
  const writeAll = async (): Promise<void> => {
    const seen = { inputs: inputsOf(parts), revision: reader.cache(kind).lastEventRevision };
    const since = seen.inputs === done.inputs ? done.revision : NOTHING.revision;
    if (seen.revision === since) return;
    done = seen;
    const round = { ...parts, counts: new Map<string, number>() };
    for (const entry of [...reader.cache(kind).current.scan(kindPrefix(kind))]) {
      if (work.isUsedUp) await work.turn();
      if (entry.revision <= since || entry.deletionTimestamp !== undefined) continue;
      const status = await statusOf(round, entry);
      if (isDeepStrictEqual(bindingStatus(entry.object()), status)) continue;
      statuses.put(entry.name, entry.uid, (current) =>
        current.metadata.generation === entry.object().metadata.generation ? { ...current, status } : current,
      );
    }
  };
  const rounds = createRounds(writeAll, warn);
  const stop = parts.every(CHECK_MS, () => {
    if (reader.ready && leadership.leads()) rounds.start();
    else done = NOTHING;
  });
  return async () => {
    stop();
    await rounds.ended();
    await statuses.stop();
  };
}

/**
 * What every status depends on besides its binding and the time: a binding that has ended is deleted within a second.
 */
const inputsOf = ({ catalog, reader, labelsChangedAt }: BindingStatusParts): string =>
  [
    labelsChangedAt(),
    ...[catalog.roles, catalog.clusterRoles].map((each) => reader.cache(each).lastEventRevision),
  ].join();

/** `counts`: by selector. */
type Round = BindingStatusParts & { readonly counts: Map<string, number> };

async function statusOf(parts: Round, entry: StoredObject): Promise<FleetRoleBindingStatus> {
  const facts = readBinding(entry.object(), '', entry.name);
  const clusters = await countClusters(parts, facts);
  const { kind, name } = facts.roleRef;
  const found: [BindingCondition, boolean, string][] = [
    ['RoleMissing', parts.policy.rulesOf(facts.roleRef) === undefined, `there is no ${kind} ${JSON.stringify(name)}`],
    ['Expired', facts.expiresAt <= parts.now(), 'its time is over'],
    ['NoClusters', clusters === 0, 'it reaches no cluster'],
  ];
  const old = bindingStatus(entry.object()).conditions ?? [];
  const conditions = found.flatMap(([type, holds, message]) => {
    const since = old.find((condition) => condition.type === type)?.lastTransitionTime ?? toTimestamp(parts.now());
    return holds ? [{ type, status: 'True', reason: type, message, lastTransitionTime: since }] : [];
  });
  return { clusters, ...(conditions.length === 0 ? {} : { conditions }) };
}

async function countClusters({ catalog, reader, work, counts }: Round, { reach }: BindingFacts): Promise<number> {
  const state = reader.cache(catalog.clusters).snapshot;
  const prefix = kindPrefix(catalog.clusters);
  if (reach.kind === 'nowhere') return 0;
  if (reach.kind === 'everywhere') return state.count(prefix);
  const [name, uid] = reach.bound?.split('/') ?? [];
  if (name !== undefined && reader.find(catalog.clusters, fleetKey(name))?.uid !== uid) return 0;
  const known = counts.get(reach.selector.text);
  if (known !== undefined) return known;
  let found = 0;
  for (const cluster of candidates(state, prefix, reach.selector)) {
    if (work.isUsedUp) await work.turn();
    if (reach.selector.holdsIn(viewCluster(cluster.name, cluster.labels ?? {}))) found += 1;
  }
  counts.set(reach.selector.text, found);
  return found;
}

type Clusters = ReturnType<ObjectReader['cache']>['current'];

function* candidates(state: Clusters, prefix: string, selector: ClusterSelector): Generator<StoredObject> {
  if (selector.requiredLabels === undefined) {
    yield* state.scan(prefix);
    return;
  }
  for (const { key, value } of selector.requiredLabels) {
    if (key !== NAME_LABEL) yield* state.withLabel(key, value);
    const named = key === NAME_LABEL ? state.get(`${prefix}${value}`) : undefined;
    if (named !== undefined) yield named;
  }
}
