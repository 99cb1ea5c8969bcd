import type { ApiObject } from '../../api/kind.ts';
import type { ClusterCondition } from '../../api/kinds/cluster-spec.ts';
import type { ClusterAddress } from '../../api/kubeconfig.ts';
import type { SourceProblem } from '../reporter.ts';

/** Where clusters are registered: what is read there, and how it is understood. No credential is read anywhere. */

export type HubCondition = Readonly<Omit<ClusterCondition, 'lastHeartbeatTime'>>;

export interface HubCluster {
  /** https URLs, the preferred one first. */
  readonly addresses: readonly string[];
  /** PEM in base64. */
  readonly caBundle?: string | undefined;
  readonly health?: HubCondition | undefined;
  readonly version?: string | undefined;
  /** Values that `--copy-label` can name besides the labels of the object. */
  readonly claims?: Readonly<Record<string, string>>;
  /** What is imported differently than the hub has it. */
  readonly warning?: string | undefined;
}

/** Why the cluster is not imported. */
export interface Unusable extends SourceProblem {
  readonly state: 'failed' | 'skipped';
}

/** It cannot be imported until its object, or a setting, is changed. */
export const failed = (problem: string): Unusable => ({ problem, state: 'failed' });

/** The hub has no cluster to import here, or not yet. */
export const skipped = (problem: string): Unusable => ({ problem, state: 'skipped' });

export interface SourceSettings {
  readonly withoutCa: boolean;
  /** Of ClusterProfiles: the name of the access provider; undefined: the first with an https address. */
  readonly accessProvider: string | undefined;
  /** Of ClusterProfiles: profiles of this manager are our own exports. */
  readonly manager: string;
  /** Reads address and CA in the kubeconfig of a CAPI cluster. */
  readonly readKubeconfig: (cluster: ApiObject) => Promise<ClusterAddress | Unusable>;
}

export interface ImportSource {
  readonly group: string;
  readonly resource: string;
  /** The preferred one first. */
  readonly versions: readonly string[];
  readonly isNamespaced: boolean;
  translate(object: ApiObject, settings: SourceSettings): Promise<HubCluster | Unusable>;
  /** Objects that describe the cluster of another object, by key, with the reason. */
  duplicates?(objects: readonly ApiObject[], settings: SourceSettings): ReadonlyMap<string, Unusable>;
  /** Objects that the import ignores. */
  ignores?(object: ApiObject, settings: SourceSettings): boolean;
}

/** The first of these conditions that the object has. */
export const conditionIn = (object: ApiObject, ...types: readonly string[]): HubCondition | undefined => {
  const { conditions } = (object.status ?? {}) as { conditions?: unknown };
  if (!Array.isArray(conditions)) return undefined;
  return types
    .map((type) => (conditions as HubCondition[]).find((condition) => condition?.type === type))
    .find((condition) => condition !== undefined);
};

export const versionIn = (object: ApiObject): string | undefined =>
  (object.status as { version?: { kubernetes?: string } } | undefined)?.version?.kubernetes || undefined;

export function sourcePath({ group, resource }: ImportSource, version: string, namespace: string | undefined): string {
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `/apis/${group}/${version}${scope}/${resource}`;
}
