import type { Command } from '../command.ts';
import { cluster, namespace, noHeaders, output } from './flags.ts';

/** A kind of the catalog, repeated because the catalog loads the schemas of all kinds slowly. A test compares. */
export interface ListedKind {
  readonly resource: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly inCluster: boolean;
  readonly namespaced: boolean;
}

const listed = (
  resource: string,
  scope: 'fleet' | 'cluster',
  namespaced: boolean,
  ...shortNames: string[]
): ListedKind => ({
  resource,
  singular: resource.replace(/(?<=ss)es$|s$/, ''),
  shortNames,
  inCluster: scope === 'cluster',
  namespaced,
});

/** Every kind but clusters, which have a command with more flags. */
export const LISTED_KINDS: readonly ListedKind[] = [
  listed('namespaces', 'cluster', false, 'ns'),
  listed('serviceaccounts', 'cluster', true, 'sa'),
  listed('pods', 'cluster', true, 'po'),
  listed('secrets', 'cluster', true),
  listed('clusterroles', 'fleet', false),
  listed('clusterrolebindings', 'fleet', false),
  listed('roles', 'fleet', true),
  listed('rolebindings', 'fleet', true),
  listed('signingkeys', 'fleet', false),
  listed('issuedtokens', 'fleet', false),
  listed('accessrequests', 'fleet', false),
  listed('bootstraptokens', 'fleet', false),
  listed('passes', 'fleet', false),
];

function commandFor({ resource, singular, shortNames, inCluster, namespaced }: ListedKind): Command {
  // The first kind of the same scope.
  const documented = LISTED_KINDS.find(
    (other) => other.inCluster === inCluster && other.namespaced === namespaced,
  )?.resource;
  const where = `${namespaced ? ' -n ci' : ''}${inCluster ? ' --cluster prod-eu-1' : ''}`;
  return {
    path: ['get', resource],
    aliases: [singular, ...shortNames],
    summary: `List ${resource}${inCluster ? ' known to Clusterpass' : ''}.`,
    arguments: [{ name: '[NAME...]', doc: `Names of objects; \`get ${singular}/NAME\` works, too.` }],
    flags: [
      output('`wide`, `json`, `yaml`, `name`, `jsonpath=TEMPLATE`, `custom-columns=HEADER:PATH,...`'),
      ...(inCluster ? [cluster('Cluster of the objects. Required.')] : []),
      ...(namespaced
        ? [
            { ...namespace, default: 'default' },
            { flags: '-A, --all-namespaces', doc: 'List the objects of all namespaces.' },
          ]
        : []),
      { flags: '-l, --selector <selector>', doc: 'Label selector, e.g. `app=shop`.' },
      { flags: '--field-selector <selector>', doc: 'Field selector, e.g. `metadata.name=x`.' },
      { flags: '--show-labels', doc: 'Show all labels as the last column.' },
      { flags: '--sort-by <path>', doc: 'Sort by a field, given as a JSONPath expression.' },
      noHeaders,
    ],
    ...(documented === resource ? {} : { sameFlagsAs: `get ${documented}` }),
    examples: [`clusterpass get ${resource}${where}`, `clusterpass get ${resource}${where} -o yaml`],
  };
}

export const GET_COMMANDS: readonly Command[] = LISTED_KINDS.map(commandFor);
