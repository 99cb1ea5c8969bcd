import { createContext, useContext } from 'react';
import type { Client } from '../../../src/client/index.ts';
import type { FleetStore } from '../fleet/fleet-store.ts';
import type { RevocationRuns } from '../passes/revocation-run.ts';
import type { Permissions } from '../permissions/permissions.ts';
import type { Settings } from '../settings.ts';

/** What the pages of a signed-in user share. It changes rarely, because each change renders every page. */
export interface SessionParts {
  readonly client: Client;
  readonly username: string;
  /** In the fleet. */
  readonly permissions: Permissions;
  readonly fleet: FleetStore;
  /** Begins to watch it, if no page has needed it yet. */
  readonly watchFleet: () => void;
  /** The filter of the table of clusters, as it is in its URL. */
  readonly fleetQuery: string;
  readonly revocations: RevocationRuns;
  /** The version grows when the user has asked for something, or decided. */
  readonly requests: { readonly version: number; readonly onChanged: () => void };
  readonly settings: Settings;
}

export const SessionContext = createContext<SessionParts | undefined>(undefined);

export function useSession(): SessionParts {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error('only pages of a signed-in user have a session');
  return session;
}
