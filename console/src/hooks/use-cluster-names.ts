import { useMemo } from 'react';
import type { FleetStore } from '../fleet/fleet-store.ts';

/** More than a person chooses from. */
const MAX_SUGGESTIONS = 500;

/** Names of clusters to choose from. `membership` increases when a cluster is added or removed. */
export function useClusterNames(fleet: FleetStore, membership: number): readonly string[] {
  // biome-ignore lint/correctness/useExhaustiveDependencies: membership says when the names in the store change
  return useMemo(() => fleet.names(MAX_SUGGESTIONS).sort(), [fleet, membership]);
}
