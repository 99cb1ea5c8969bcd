import { randomUUID } from 'node:crypto';
import type { Kind, ObjectKey } from '../../api/kind.ts';
import { CLUSTER_GROUP } from '../../api/kinds/cluster-spec.ts';
import { CLUSTERPASS_GROUP } from '../../api/kinds/meta.ts';
import { RBAC_GROUP } from '../../api/kinds/rbac.ts';
import { safeLine } from '../../lib/text.ts';
import { utcSecond } from '../../lib/utc-second.ts';

/** A change that the server makes without a request. */
export interface ServerChange {
  /** The part of the server, as in `manifests`: the user of the event is `system:clusterpass:manifests`. */
  readonly part: string;
  readonly verb: 'create' | 'update' | 'delete';
  readonly kind: Pick<Kind, 'group' | 'version' | 'resource' | 'inCluster' | 'namespaced'>;
  readonly objectKey: ObjectKey;
  readonly uid?: string | undefined;
  readonly annotations?: Readonly<Record<string, string>>;
}

export type ServerEvent = ReturnType<typeof serverEvent>;

/** Events of `audit.k8s.io/v1` of one change, as auditLine writes them for requests. */
export function serverEvent(change: ServerChange, productName: string, now: () => number) {
  const { part, verb, kind, objectKey, uid, annotations } = change;
  const auditID = randomUUID();
  const received = now();
  const line = (stage: 'RequestReceived' | 'ResponseComplete', responseStatus: object | undefined): string =>
    safeLine(
      JSON.stringify({
        kind: 'Event',
        apiVersion: 'audit.k8s.io/v1',
        level: 'Metadata',
        auditID,
        stage,
        requestURI: apiPath(productName, kind, objectKey),
        verb,
        user: { username: `system:clusterpass:${part}` },
        objectRef: {
          resource: kind.resource,
          namespace: objectKey.namespace === '' ? undefined : objectKey.namespace,
          name: objectKey.name,
          uid,
          apiGroup: kind.group === '' ? undefined : kind.group,
          apiVersion: kind.version,
        },
        responseStatus,
        requestReceivedTimestamp: microTime(received),
        stageTimestamp: microTime(now()),
        annotations: {
          ...(objectKey.cluster === '' ? {} : { 'clusterpass.dev/cluster': objectKey.cluster }),
          ...annotations,
        },
      }),
    );
  return {
    /** Before it is made. */
    received: () => line('RequestReceived', undefined),
    complete: ({ code, reason }: { readonly code: number; readonly reason?: string | undefined }) =>
      line('ResponseComplete', code < 400 ? { metadata: {}, code } : { metadata: {}, status: 'Failure', reason, code }),
  };
}

function apiPath(productName: string, kind: ServerChange['kind'], { cluster, namespace, name }: ObjectKey): string {
  const prefix = kind.inCluster ? `/${productName}/${cluster}` : '';
  const group = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const scope = kind.namespaced ? `/namespaces/${namespace}` : '';
  return `${prefix}${group}${scope}/${kind.resource}/${name}`;
}

/**
 * `metav1.MicroTime`: six digits, also when fewer are known. Joined, because `+` makes a string of strings, and one of
 * those in an event makes JSON.stringify three times as slow.
 */
export function microTime(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000);
  const micros = Math.floor((milliseconds - second * 1000) * 1000);
  return [utcSecond(second), '.', String(micros).padStart(6, '0'), 'Z'].join('');
}

/**
 * API groups whose changes are in the security log, by requests and by the server: roles and bindings; all kinds of
 * `clusterpass.dev`, e.g. signing keys and passes; clusters, whose labels grant and whose address users trust.
 */
export const SECURITY_GROUPS: ReadonlySet<string> = new Set([RBAC_GROUP, CLUSTERPASS_GROUP, CLUSTER_GROUP]);
