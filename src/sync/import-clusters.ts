import { clusterObject } from '../api/clusters/cluster-object.ts';
import type { ConditionType } from '../api/clusters/conditions.ts';
import { IMPORTED_ANNOTATION } from '../api/domain-keys.ts';
import type { ApiObject } from '../api/kind.ts';
import type { ClusterCondition } from '../api/kinds/cluster-spec.ts';
import { isDns1123Subdomain, isValidLabelValue } from '../api/names.ts';
import { defined } from '../lib/json.ts';
import { inParallel } from '../lib/promises.ts';
import { truncate } from '../lib/text.ts';
import { type Desired, keyOf, type Ownership } from './plan.ts';
import type { DesiredState } from './reconciler.ts';
import type { SourceProblem } from './reporter.ts';
import {
  failed,
  type HubCluster,
  type HubCondition,
  type ImportSource,
  type SourceSettings,
  skipped,
  type Unusable,
} from './sources/import-source.ts';
import type { ImportFrom } from './sources/sources.ts';

/** Objects of a hub as Clusters: names, labels, endpoints, and the mark by which they are found again. */

export interface ImportSettings {
  readonly from: ImportFrom;
  /** Identifies the hub in the annotation. */
  readonly hub: string;
  /** Undefined: all namespaces, or a source without namespaces. */
  readonly hubNamespace: string | undefined;
  /** The name of a cluster, with `{namespace}` and `{name}`. */
  readonly nameTemplate: string;
  readonly setLabels: Readonly<Record<string, string>>;
  readonly copyLabels: readonly string[];
  /** Whether health and version are taken from the hub; otherwise the prober finds them. */
  readonly ready: boolean;
  readonly productName: string;
}

/** A field manager for each source. */
export const importFieldManager = (from: ImportFrom): string => `clusterpass-import-${from}`;

const prefixOf = ({ from, hub, hubNamespace }: ImportSettings): string =>
  `${from}/${hub}/${hubNamespace === undefined ? '' : `${hubNamespace}/`}`;

const markOf = ({ from, hub }: ImportSettings, { metadata: { namespace = '', name = '' } }: ApiObject): string =>
  `${from}/${hub}/${namespace}/${name}`;

/** CP-89: a cluster belongs to the object of the hub that its annotation names. */
export function importOwnership(settings: ImportSettings): Ownership {
  const markOn = ({ metadata }: ApiObject): string | undefined => metadata.annotations?.[IMPORTED_ANNOTATION];
  const prefix = prefixOf(settings);
  return {
    mayChange: (actual, desired) => markOn(actual) !== undefined && markOn(actual) === markOn(desired.object),
    mayRemove: (actual) => markOn(actual)?.startsWith(prefix) === true,
  };
}

/** Translations at the same time: some read a Secret. */
const CONCURRENCY = 16;
const MAX_MESSAGE = 1_024;

/** Why an address cannot be registered: Clusterpass has endpoints without a path. */
function addressProblem(address: string): string | undefined {
  // Before the address is shown, and also in one that is not a URL.
  if (address.includes('@')) return 'its address has a credential in it';
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'https:') return `its address ${JSON.stringify(address)} is not an https URL`;
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    return `its address ${JSON.stringify(address)} has a path, which an endpoint of a cluster cannot have`;
  return undefined;
}

/** The Cluster for an object of the hub. */
function importedCluster(
  object: ApiObject,
  name: string,
  found: HubCluster,
  settings: ImportSettings,
): Desired | Unusable {
  const problem = found.addresses.map(addressProblem).find((each) => each !== undefined);
  if (problem !== undefined) return failed(problem);
  const labels: Record<string, string> = { ...settings.setLabels };
  for (const key of settings.copyLabels) {
    const value = valueAt(object.metadata.labels, key) ?? valueAt(found.claims, key);
    if (value === undefined) continue;
    if (isValidLabelValue(value).length > 0) return failed(`the value of its label ${key} is not a label value`);
    labels[key] = value;
  }
  const { caBundle, health, version } = found;
  const ready = settings.ready && health !== undefined ? [readyFrom(health)] : [];
  const status = { ...(ready.length === 0 ? {} : { conditions: ready }), ...defined({ version }) };
  return {
    object: clusterObject({
      name,
      labels,
      annotations: { [IMPORTED_ANNOTATION]: markOf(settings, object) },
      addresses: found.addresses.map((address) => address.replace(/\/$/, '')),
      caBundle,
      productName: settings.productName,
    }),
    ...(settings.ready ? { status } : {}),
  };
}

const valueAt = (values: Readonly<Record<string, string>> | undefined, key: string): string | undefined =>
  values !== undefined && Object.hasOwn(values, key) ? values[key] : undefined;

/** CP-89: a reason that is not the prober's makes the prober leave the condition alone. */
const readyFrom = ({ status, reason, message, lastTransitionTime }: HubCondition): ClusterCondition => ({
  type: 'Ready' satisfies ConditionType,
  status: status === 'True' || status === 'False' ? status : 'Unknown',
  reason: `Hub${reason || 'Reported'}`,
  ...(message ? { message: truncate(message, MAX_MESSAGE) } : {}),
  ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
});

/** What the hub has, as clusters. An object that cannot be translated keeps the cluster that it has. */
export async function importedState(
  objects: Iterable<ApiObject>,
  source: ImportSource,
  settings: ImportSettings & SourceSettings,
): Promise<DesiredState> {
  const candidates = [...objects].filter((object) => source.ignores?.(object, settings) !== true);
  const duplicates = source.duplicates?.(candidates, settings) ?? new Map<string, Unusable>();
  const nameOf = ({ metadata: { namespace = '', name = '' } }: ApiObject): string =>
    settings.nameTemplate.replace(/\{(namespace|name)\}/g, (_, field) => (field === 'name' ? name : namespace));
  const usable = candidates.filter((object) => !duplicates.has(keyOf(object)));
  const byName = Map.groupBy(usable, nameOf);
  const state = {
    objects: new Map<string, Desired>(),
    kept: new Set(candidates.map(nameOf)),
    problems: new Map<string, SourceProblem>(duplicates),
  };
  await inParallel([...byName], CONCURRENCY, async ([name, sharing]) => {
    const [object, other] = sharing;
    if (object === undefined) return;
    if (other !== undefined) {
      const problem = failed(`${sharing.length} objects would be named ${name}`);
      for (const each of sharing) state.problems.set(keyOf(each), problem);
      return;
    }
    const result = await translated(object, name, source, settings);
    if ('problem' in result) {
      state.problems.set(keyOf(object), result);
      return;
    }
    const { desired, warning } = result;
    state.objects.set(name, desired);
    if (warning !== undefined) state.problems.set(keyOf(object), { problem: warning, state: 'synced' });
  });
  return state;
}

async function translated(
  object: ApiObject,
  name: string,
  source: ImportSource,
  settings: ImportSettings & SourceSettings,
): Promise<{ readonly desired: Desired; readonly warning: string | undefined } | Unusable> {
  if (isDns1123Subdomain(name).length > 0) return failed(`${JSON.stringify(name)} is not a name of a cluster`);
  if (object.metadata.deletionTimestamp !== undefined) return skipped('it is being deleted');
  const found = await source.translate(object, settings);
  if ('problem' in found) return found;
  const desired = importedCluster(object, name, found, settings);
  return 'problem' in desired ? desired : { desired, warning: found.warning };
}
