import { randomUUID } from 'node:crypto';
import type { FleetObject } from '../objects.ts';
import type { User } from './authentication.ts';

type Labels = Readonly<Record<string, string>>;
type Selector = readonly (readonly [label: string, values: ReadonlySet<string>])[];

interface Grant {
  /** `verb group/resource` */
  readonly allows: ReadonlySet<string>;
  readonly clusters: Selector;
  /** For the audit event. */
  readonly reason: string;
}

interface Body {
  readonly metadata: { readonly name: string; readonly labels?: Labels; readonly annotations?: Labels };
  readonly rules?: readonly { readonly verbs: string[]; readonly apiGroups: string[]; readonly resources: string[] }[];
  readonly roleRef?: { readonly name: string };
  readonly subjects?: readonly { readonly kind: string; readonly namespace?: string; readonly name: string }[];
}

/** Duty: clusters, namespaces and accounts are found by their names, and bindings by the user. */
export class FleetIndex {
  readonly #clusters = new Map<string, Labels>();
  readonly #namespaces = new Set<string>();
  readonly #accounts = new Map<string, { readonly name: string; readonly uid: string }>();
  readonly #roles = new Map<string, ReadonlySet<string>>();
  readonly #grants = new Map<string, Grant[]>();

  constructor(objects: Iterable<FleetObject>) {
    for (const { kind, cluster, namespace, body } of objects) {
      const { metadata, rules = [], roleRef, subjects = [] } = body as Body;
      const { name, labels = {}, annotations = {} } = metadata;
      if (kind === 'clusters') this.#clusters.set(name, { ...labels, 'kubernetes.io/metadata.name': name });
      if (kind === 'namespaces') this.#namespaces.add(`${cluster}/${name}`);
      if (kind === 'serviceAccounts')
        this.#accounts.set(`${cluster}/${namespace}/${name}`, { name, uid: randomUUID() });
      if (kind === 'clusterRoles') this.#roles.set(name, new Set(rules.flatMap(questionsOf)));
      if (kind !== 'clusterRoleBindings') continue;
      const clusters = selectorOf(annotations['clusterpass.dev/clusters'] ?? '');
      for (const { kind: subjectKind, namespace: of, name: subject } of subjects) {
        const key = subjectKind === 'ServiceAccount' ? `ServiceAccount ${of}/${subject}` : `${subjectKind} ${subject}`;
        const reason = `RBAC: allowed by ClusterRoleBinding "${name}" of ClusterRole "${roleRef?.name}" to ${key}`;
        const grant = { allows: this.#roles.get(roleRef?.name ?? '') ?? new Set<string>(), clusters, reason };
        this.#grants.set(key, [...(this.#grants.get(key) ?? []), grant]);
      }
    }
  }

  /** Why the user may do this in the cluster; undefined if it may not. */
  reasonFor({ subjects }: User, question: string, cluster: string): string | undefined {
    const labels = this.#clusters.get(cluster) ?? {};
    for (const subject of subjects) {
      for (const { allows, clusters, reason } of this.#grants.get(subject) ?? []) {
        if (allows.has(question) && clusters.every(([label, values]) => values.has(labels[label] ?? ''))) return reason;
      }
    }
    return undefined;
  }

  /** Undefined if the account, its namespace or its cluster does not exist. */
  account(
    cluster: string,
    namespace: string,
    name: string,
  ): { readonly name: string; readonly uid: string } | undefined {
    if (!this.#clusters.has(cluster) || !this.#namespaces.has(`${cluster}/${namespace}`)) return undefined;
    return this.#accounts.get(`${cluster}/${namespace}/${name}`);
  }
}

const questionsOf = ({ verbs, apiGroups, resources }: NonNullable<Body['rules']>[number]): string[] =>
  verbs.flatMap((verb) => apiGroups.flatMap((group) => resources.map((resource) => `${verb} ${group}/${resource}`)));

/** `a=b,c in (d,e)`, the forms that the fleet has. */
const selectorOf = (text: string): Selector =>
  text.split(/,(?![^(]*\))/).flatMap((part) => {
    const [, label = '', one, several] = /^(\S+?)(?:=(.*)| in \((.*)\))$/.exec(part) ?? [];
    return part === '' ? [] : [[label, new Set(one === undefined ? several?.split(',') : [one])] as const];
  });
