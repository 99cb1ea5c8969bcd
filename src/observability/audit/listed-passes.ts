import { credentialIdOf, ISSUED_CREDENTIAL_ID, jtiIn } from '../../api/caller.ts';
import { USERPASS } from '../../api/kinds/token-request.ts';

/** The passes of one request of `/auth/v1/passes`, as an annotation of its audit event. */
export const PASSES_ANNOTATION = 'clusterpass.dev/passes';
export const CLUSTER_ANNOTATION = 'clusterpass.dev/cluster';

/** What a separate audit event would say of a pass. */
export interface ListedPass {
  readonly code: number;
  /** Of an error. */
  readonly reason?: string | undefined;
  readonly cluster: string;
  /** Undefined for a pass for the caller itself. */
  readonly account: { readonly namespace: string; readonly name: string } | undefined;
  readonly annotations: Readonly<Record<string, string>>;
}

type PassGroup = Pick<ListedPass, 'code' | 'reason' | 'annotations'> & {
  /** A space before each: `CLUSTER/NAMESPACE/NAME=JTI`, or `CLUSTER/userpass=JTI`; without a token, no `=JTI`. */
  readonly passes: string;
};

/**
 * What is equal is said once: a caller must not fill the disk with a list that says little. Names are as in a URL: a
 * refused one may have any characters.
 */
export function passesText(passes: Iterable<ListedPass>): string {
  const groups = new Map<string, { head: Omit<PassGroup, 'passes'>; passes: string }>();
  for (const { code, reason, cluster, account, annotations } of passes) {
    const { [ISSUED_CREDENTIAL_ID]: id, [CLUSTER_ANNOTATION]: _, ...shared } = annotations;
    const head = { code, reason, annotations: shared };
    const key = JSON.stringify(head);
    const group = groups.get(key) ?? { head, passes: '' };
    const names = account === undefined ? [cluster, USERPASS] : [cluster, account.namespace, account.name];
    const path = names.map((name) => encodeURIComponent(name.toWellFormed())).join('/');
    group.passes += ` ${path}${id === undefined ? '' : `=${jtiIn(id)}`}`;
    groups.set(key, group);
  }
  return JSON.stringify([...groups.values()].map(({ head, passes: texts }) => ({ ...head, passes: texts })));
}

/** The passes in the text of such an annotation. */
export const readPasses = (text: string): ListedPass[] =>
  (JSON.parse(text) as PassGroup[]).flatMap(({ passes, annotations, ...head }) =>
    passes
      .trim()
      .split(' ')
      .map((pass) => {
        const [path = '', jti] = pass.split('=');
        const [cluster = '', namespace = '', name] = path.split('/').map(decodeURIComponent);
        const issued = jti === undefined ? {} : { [ISSUED_CREDENTIAL_ID]: credentialIdOf(jti) };
        return {
          ...head,
          cluster,
          account: name === undefined ? undefined : { namespace, name },
          annotations: { ...annotations, [CLUSTER_ANNOTATION]: cluster, ...issued },
        };
      }),
  );
