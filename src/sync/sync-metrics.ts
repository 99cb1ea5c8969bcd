import { Counter, Gauge, Registry } from '@prometheus-io/client';

export type SyncMetrics = ReturnType<typeof createSyncMetrics>;

/** What a synchronization counts. */
export function createSyncMetrics() {
  const registry = new Registry();
  const registers = [registry];
  return {
    registry,
    writes: new Counter({
      name: 'clusterpass_sync_writes_total',
      help: 'Objects written to the target, by operation and result.',
      labelNames: ['operation', 'result'],
      registers,
    }),
    objects: new Gauge({
      name: 'clusterpass_sync_objects',
      help: 'Objects of the last reconciliation: synced, pending, taken by others, held back from removal, skipped or failed at the source.',
      labelNames: ['state'],
      registers,
    }),
    condition: new Gauge({
      name: 'clusterpass_sync_condition',
      help: '1 if the condition is true: SourceConnected, TargetConnected, PruneAllowed, Synced.',
      labelNames: ['type'],
      registers,
    }),
    lastSync: new Gauge({
      name: 'clusterpass_sync_last_success_timestamp_seconds',
      help: 'When the target last had everything that the source has.',
      registers,
    }),
  };
}
