import type { TokenProvider, Transport } from '../client/transport.ts';
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
  /** The UID of the namespace kube-system. */
  readonly identity: (signal: AbortSignal) => Promise<string>;
  /** Registers the cluster of this identity at Clusterpass. */
  readonly register: (id: string, signal: AbortSignal) => Promise<void>;
  /** The projected token of the connector. */
  readonly token: () => Promise<string>;
  /** Its token for the API server, if it has no certificate. */
  readonly apiToken?: TokenProvider | undefined;
  /** Of the connector. */
  readonly namespace: string;
  /** This process, different from every other one. */
  readonly holder: string;
  readonly version: string;
  readonly rules: () => ConnectorRules;
  /** Copies objects of the cluster with this identity to Clusterpass, until the signal is aborted. */
  readonly mirror: (id: string, signal: AbortSignal) => Promise<void>;
  readonly timing: Timing;
  readonly log: (line: string) => void;
}
