import { type Static, Type } from 'typebox';
import { conditionOf, readyStatus } from '../../api/clusters/conditions.ts';
import type { ApiObject } from '../../api/kind.ts';
import { statusOf } from '../../api/kinds/cluster-spec.ts';
import { defined } from '../../lib/json.ts';
import { cleanText } from '../../lib/text.ts';
import { textField } from '../result-fields.ts';

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

export function readyOf(cluster: ApiObject) {
  const status = statusOf(cluster);
  const { reason, message, lastTransitionTime } = conditionOf(status, 'Ready') ?? {};
  return {
    ready: readyStatus(status),
    reason: textField(reason),
    message: textField(message),
    since: lastTransitionTime,
  };
}

export function clusterView(cluster: ApiObject): Static<typeof ClusterSchema> {
  const { name, labels } = cluster.metadata;
  const { type, version } = statusOf(cluster);
  const { ready, reason } = readyOf(cluster);
  return defined({
    name: textField(name) ?? '',
    ready,
    reason,
    type: textField(type),
    version: textField(version),
    labels: labelsOf(labels),
  });
}

function labelsOf(labels: Readonly<Record<string, string>> = {}): Record<string, string> | undefined {
  const entries = Object.entries(labels)
    .slice(0, MAX_LABELS)
    .map(([key, value]) => [cleanText(key, 320), cleanText(value)] as const);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
