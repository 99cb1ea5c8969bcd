import type { Transport } from '../client/transport.ts';
import type { Timing } from '../lib/backoff.ts';
import type { ConnectorRules } from './configuration.ts';

/** What a connector is made of. */
export interface ConnectorParts {
  readonly cluster: string;
  readonly productName: string;
  /** Clusterpass, with the token of the connector. */
  readonly server: Transport;
  /** The API server of the cluster. */
  readonly api: Transport;
  /** Registers the cluster with this UID of the namespace kube-system at Clusterpass. */
  readonly register: (id: string, signal: AbortSignal) => Promise<void>;
  /** The projected token of the connector. */
  readonly token: () => Promise<string>;
  /** Of the connector. */
  readonly namespace: string;
  /** This process, different from every other one. */
  readonly holder: string;
  readonly version: string;
  readonly rules: ConnectorRules;
  readonly timing: Timing;
  readonly log: (line: string) => void;
}
