import { useEffect, useRef, useState } from 'react';
import type { Client, Cluster, TrackedToken } from '../../../src/client/index.ts';
import { errorMessage } from '../error-message.ts';
import { accountOf } from './pass-table.tsx';
import { describeEffects, revocationEffect } from './revocation-effect.ts';

interface RevokePanelProps {
  readonly client: Client;
  readonly passes: readonly TrackedToken[];
  readonly findCluster: (name: string) => Cluster | undefined;
  readonly onCancel: () => void;
  /** Called with the passes that could not be revoked. */
  readonly onDone: (failures: readonly RevocationFailure[]) => void;
}

export interface RevocationFailure {
  readonly pass: TrackedToken;
  readonly message: string;
}

/** Asks before it revokes, because programs that use the passes lose access. */
export function RevokePanel({ client, passes, findCluster, onCancel, onDone }: RevokePanelProps) {
  const [done, setDone] = useState<number | undefined>();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const effects = passes.map(({ spec }) =>
    revocationEffect({ audiences: spec.audiences, expiresAt: Date.parse(spec.expirationTimestamp) }, findCluster),
  );
  const revoke = async (): Promise<void> => {
    const failures: RevocationFailure[] = [];
    for (const [index, pass] of passes.entries()) {
      setDone(index);
      try {
        await client.revokeToken(pass.metadata.name);
      } catch (error) {
        failures.push({ pass, message: errorMessage(error) });
      }
    }
    onDone(failures);
  };
  const [only] = passes;
  return (
    <section className="card section danger-panel" aria-labelledby="revoke-title">
      <h2 id="revoke-title" ref={heading} tabIndex={-1} className="wrap-anywhere">
        {passes.length === 1 && only !== undefined
          ? `Revoke the pass for ${accountOf(only)} in ${only.spec.cluster}?`
          : `Revoke ${passes.length} passes?`}
      </h2>
      <ul className="bullets wrap-anywhere">
        {describeEffects(effects).map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      <div className="actions">
        <button type="button" className="button danger" disabled={done !== undefined} onClick={revoke}>
          {done === undefined ? 'Revoke now' : `Revoking ${done + 1} of ${passes.length}…`}
        </button>
        <button type="button" className="button quiet" disabled={done !== undefined} onClick={onCancel}>
          Cancel
        </button>
      </div>
    </section>
  );
}
