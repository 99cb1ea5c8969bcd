import { clusterObject } from '../../../src/api/clusters/cluster-object.ts';
import { toBundle } from '../certificates/certificates.ts';
import { commaList } from '../comma-list.ts';

/** The fields of the form. */
export interface ClusterDraft {
  readonly name: string;
  readonly address: string;
  /** PEM. */
  readonly ca: string;
  /** Comma-separated; empty for all networks. */
  readonly clientCidrs: string;
  readonly labels: readonly LabelDraft[];
}

export interface LabelDraft {
  readonly key: string;
  readonly value: string;
}

export const NEW_CLUSTER: ClusterDraft = { name: '', address: '', ca: '', clientCidrs: '', labels: [] };

/** What the user still has to enter; `""` if nothing is missing. */
export function missingField({ name, address, labels }: ClusterDraft): string {
  if (name === '') return 'Enter a name.';
  if (address === '') return 'Enter the address of the API server.';
  return labelProblem(labels);
}

/** The server checks keys and values; it cannot see that a key was entered twice. */
export function labelProblem(labels: readonly LabelDraft[]): string {
  if (labels.some(({ key }) => key === '')) return 'Enter a key for each label, or remove it.';
  const twice = labels.find(({ key }, index) => labels.findIndex((label) => label.key === key) !== index);
  return twice === undefined ? '' : `The label ${twice.key} is there twice.`;
}

export const labelsOf = (labels: readonly LabelDraft[]): Record<string, string> =>
  Object.fromEntries(labels.map(({ key, value }) => [key, value]));

export const labelDrafts = (labels: Readonly<Record<string, string>>): LabelDraft[] =>
  Object.entries(labels).map(([key, value]) => ({ key, value }));

export const caBundleOf = ({ ca }: ClusterDraft): string | undefined =>
  ca.trim() === '' ? undefined : toBundle(ca.trim());

/** The Cluster object, as `clusterpass register` writes it. */
export const draftedCluster = (draft: ClusterDraft, productName: string): object =>
  clusterObject({
    name: draft.name,
    labels: draft.labels.length === 0 ? undefined : labelsOf(draft.labels),
    addresses: [draft.address],
    networks: commaList(draft.clientCidrs),
    caBundle: caBundleOf(draft),
    productName,
  });
