import type { Cluster, TrackedToken } from '../../../src/client/index.ts';
import { visibleName } from '../../../src/lib/text.ts';
import { Panel } from '../components/panel.tsx';
import { accountOf } from './pass-table.tsx';
import { describeEffects, revocationEffect } from './revocation-effect.ts';

interface RevokePanelProps {
  readonly passes: readonly TrackedToken[];
  readonly findCluster: (name: string) => Cluster | undefined;
  readonly onCancel: () => void;
  readonly onRevoke: () => void;
}

/** Asks before it revokes, because programs that use the passes lose access. */
export function RevokePanel({ passes, findCluster, onCancel, onRevoke }: RevokePanelProps) {
  const effects = passes.map(({ spec }) =>
    revocationEffect({ audiences: spec.audiences, expiresAt: Date.parse(spec.expirationTimestamp) }, findCluster),
  );
  const [only] = passes;
  return (
    <Panel
      title={
        passes.length === 1 && only !== undefined
          ? `Revoke the pass for ${visibleName(accountOf(only))} in ${only.spec.cluster}?`
          : `Revoke ${passes.length} passes?`
      }
      className="danger-panel"
      onCancel={onCancel}
      action={
        <button type="button" className="button danger" onClick={onRevoke}>
          Revoke now
        </button>
      }
    >
      <ul className="bullets wrap-anywhere">
        <li>{`Clusterpass will refuse ${passes.length === 1 ? 'it' : 'them'} at once.`}</li>
        {describeEffects(effects).map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </Panel>
  );
}
