import { Panel } from '../components/panel.tsx';
import { useAction } from '../hooks/use-action.ts';
import { useSession } from '../hooks/use-session.ts';
import { type BindingPanelProps, deleteBinding, lossOf } from './bindings.ts';

/** Asks before it deletes, because people and programs lose access. */
export function DeleteBinding({ binding, onCancel, onDone }: BindingPanelProps) {
  const { client } = useSession();
  const { busy, problem, run } = useAction();
  const remove = (): Promise<void> =>
    run(async () => {
      await deleteBinding(client, binding);
      onDone();
    });
  return (
    <Panel
      title={`Delete the ${binding.kind} ${binding.name}?`}
      problem={problem}
      className="danger-panel"
      busy={busy}
      onCancel={onCancel}
      action={
        <button type="button" className="button danger" disabled={busy} onClick={remove}>
          {busy ? 'Deleting…' : 'Delete now'}
        </button>
      }
    >
      <ul className="bullets wrap-anywhere">
        <li>{lossOf(binding)}</li>
        {binding.manifest !== '' && (
          <li>
            It comes from the manifest {binding.manifest}. As long as it is there, it is created again when the
            manifests are applied: delete it there.
          </li>
        )}
        <li>
          {binding.kind === 'FleetRoleBinding'
            ? 'Its passes are revoked if they have a record. Others stay valid until they expire, unless you revoke them.'
            : 'Passes that are out stay valid until they expire, unless you revoke them.'}
        </li>
      </ul>
    </Panel>
  );
}
