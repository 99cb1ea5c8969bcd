import { type Static, Type } from 'typebox';
import { isJsonObject, memberOf } from '../../lib/json.ts';
import { cleanText } from '../../lib/text.ts';
import { defined, textField } from '../result-fields.ts';

/** What tools show of a cluster. Labels, reasons, messages and versions are data of others (MC-79). */
export const clusterProperties = {
  name: Type.String(),
  ready: Type.Enum(['True', 'False', 'Unknown']),
  reason: Type.Optional(Type.String({ maxLength: 256 })),
  type: Type.Optional(Type.String({ maxLength: 256 })),
  version: Type.Optional(Type.String({ maxLength: 256 })),
  labels: Type.Optional(Type.Record(Type.String(), Type.String())),
} as const;

const ClusterSchema = Type.Object(clusterProperties);

const MAX_LABELS = 64;

interface ReadyCondition {
  readonly ready: 'True' | 'False' | 'Unknown';
  readonly reason: string | undefined;
  readonly message: string | undefined;
  readonly since: unknown;
}

export function readyOf(cluster: unknown): ReadyCondition {
  const conditions = memberOf(cluster, 'status', 'conditions');
  const found = Array.isArray(conditions) ? conditions.find((one) => memberOf(one, 'type') === 'Ready') : undefined;
  const status = memberOf(found, 'status');
  return {
    ready: status === 'True' || status === 'False' ? status : 'Unknown',
    reason: textField(memberOf(found, 'reason')),
    message: textField(memberOf(found, 'message')),
    since: memberOf(found, 'lastTransitionTime'),
  };
}

export function clusterView(cluster: unknown): Static<typeof ClusterSchema> {
  const metadata = memberOf(cluster, 'metadata');
  const status = memberOf(cluster, 'status');
  const { ready, reason } = readyOf(cluster);
  return defined({
    name: textField(memberOf(metadata, 'name')) ?? '',
    ready,
    reason,
    type: textField(memberOf(status, 'type')),
    version: textField(memberOf(status, 'version')),
    labels: labelsOf(memberOf(metadata, 'labels')),
  });
}

function labelsOf(labels: unknown): Record<string, string> | undefined {
  if (!isJsonObject(labels)) return undefined;
  const entries = Object.entries(labels)
    .slice(0, MAX_LABELS)
    .map(([key, value]) => [cleanText(key, 320), cleanText(String(value))] as const);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
