import { useMemo, useSyncExternalStore } from 'react';
import { useSession } from './use-session.ts';

/** More than a person chooses from. */
const MAX_SUGGESTIONS = 50;

/** Names of clusters that contain a text. Renders the component again when a cluster is added or removed. */
export function useClusterNames(): (part: string) => readonly string[] {
  const { fleet } = useSession();
  const membership = useSyncExternalStore(fleet.subscribe, () => fleet.snapshot().membership);
  // biome-ignore lint/correctness/useExhaustiveDependencies: membership says when the names in the store change
  return useMemo(() => (part) => fleet.names(MAX_SUGGESTIONS, part).sort(), [fleet, membership]);
}

/** Whether the watch has delivered all clusters. */
export function useSynced(): boolean {
  const { fleet } = useSession();
  return useSyncExternalStore(fleet.subscribe, () => fleet.snapshot().synced);
}
