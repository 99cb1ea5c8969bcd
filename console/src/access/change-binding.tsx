import { useState } from 'react';
import { Panel } from '../components/panel.tsx';
import { useAction } from '../hooks/use-action.ts';
import { useDryRun } from '../hooks/use-dry-run.ts';
import { useSession } from '../hooks/use-session.ts';
import { type BindingPanelProps, changeScope } from './bindings.ts';
import { clustersOfDraft, missingInScope, timestampOf } from './grant-manifest.ts';
import { ScopeFields, scopeOf } from './scope-fields.tsx';

/** Where and until when a FleetRoleBinding holds. Its role cannot be changed, as in Kubernetes. */
export function ChangeBinding({ binding, onCancel, onDone }: BindingPanelProps) {
  const { client } = useSession();
  const [scope, setScope] = useState(() => scopeOf(binding));
  const { busy, problem, run } = useAction();
  const missing = missingInScope(scope);
  const wanted = () => ({ clusters: clustersOfDraft(scope), expiresAt: timestampOf(scope.until) });
  const key = missing === '' ? JSON.stringify(scope) : '';
  const dryRun = useDryRun(key, () => changeScope(client, binding, wanted(), { dryRun: 'All' }));
  const apply = (): Promise<void> =>
    run(async () => {
      await changeScope(client, binding, wanted());
      onDone();
    });
  return (
    <Panel
      title={`Change the ${binding.kind} ${binding.name}`}
      problem={problem || dryRun.refusal || missing}
      busy={busy}
      onCancel={onCancel}
      action={
        <button type="button" className="button primary" disabled={busy || !dryRun.isAccepted} onClick={apply}>
          {busy ? 'Applying…' : 'Apply'}
        </button>
      }
    >
      <div className="stack">
        <ScopeFields scope={scope} onChange={(part) => setScope((old) => ({ ...old, ...part }))} />
      </div>
    </Panel>
  );
}
