import { useId, useState } from 'react';
import { Form } from '../components/form.tsx';
import { Panel } from '../components/panel.tsx';
import { Warnings } from '../components/problem.tsx';
import { useCheckedForm } from '../hooks/use-checked-form.ts';
import { useSession } from '../hooks/use-session.ts';
import { type BindingPanelProps, changeScope } from './bindings.ts';
import { clustersOfDraft, missingInScope, timestampOf } from './grant-manifest.ts';
import { SCOPE_FIELDS, ScopeFields, scopeOf } from './scope-fields.tsx';

/** Where and until when a FleetRoleBinding holds. Its role cannot be changed, as in Kubernetes. */
export function ChangeBinding({ binding, onCancel, onDone }: BindingPanelProps) {
  const { client } = useSession();
  const id = useId();
  const [scope, setScope] = useState(() => scopeOf(binding));
  const missing = missingInScope(scope);
  const wanted = () => ({ clusters: clustersOfDraft(scope), expiresAt: timestampOf(scope.until) });
  const { busy, run, isAccepted, warnings, failure, refusal } = useCheckedForm({
    content: missing === '' ? JSON.stringify(scope) : '',
    dryRun: () => changeScope(client, binding, wanted(), { dryRun: 'All' }),
    fields: SCOPE_FIELDS,
  });
  const apply = (): Promise<void> =>
    run(async () => {
      await changeScope(client, binding, wanted());
      onDone();
    });
  return (
    <Panel
      title={`Change the ${binding.kind} ${binding.name}`}
      problem={refusal || missing}
      busy={busy}
      onCancel={onCancel}
      action={
        <button type="submit" form={id} className="button primary" disabled={busy || !isAccepted}>
          {busy ? 'Applying…' : 'Apply'}
        </button>
      }
    >
      <Form id={id} failure={failure} busy={busy} onSubmit={apply}>
        <Warnings texts={warnings} />
        <ScopeFields scope={scope} onChange={(part) => setScope((old) => ({ ...old, ...part }))} />
      </Form>
    </Panel>
  );
}
