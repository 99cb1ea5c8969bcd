import { visibleName } from '../../../src/lib/text.ts';
import { countOf } from '../components/count.ts';
import { Loaded } from '../components/loaded.tsx';
import { Panel } from '../components/panel.tsx';
import type { BoundSubject } from '../grants/grant-changes.tsx';
import { useAction } from '../hooks/use-action.ts';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import {
  type BindingPanelProps,
  type BindingReference,
  bindingKey,
  deleteBinding,
  keepSubjects,
  lossOf,
  readBinding,
  subjectsWithout,
} from './bindings.ts';

interface RemoveSubjectProps extends Omit<BindingPanelProps, 'binding'> {
  readonly binding: BindingReference;
  readonly subject: BoundSubject;
}

/** Asks before a subject loses what a binding gives it, wherever the binding holds. */
export function RemoveSubject({ binding: reference, subject, onCancel, onDone }: RemoveSubjectProps) {
  const { client } = useSession();
  const query = useQuery(bindingKey(reference), () => readBinding(client, reference));
  return (
    <Loaded query={query}>
      {(binding) => <DeleteBinding binding={binding} subject={subject} onCancel={onCancel} onDone={onDone} />}
    </Loaded>
  );
}

interface DeleteBindingProps extends BindingPanelProps {
  /** If there are others, only this one is taken out of the binding. */
  readonly subject?: BoundSubject;
}

/** Asks before it deletes, because people and programs lose access. */
export function DeleteBinding({ binding, subject, onCancel, onDone }: DeleteBindingProps) {
  const { client } = useSession();
  const { busy, problem, run } = useAction();
  const others = subject === undefined ? [] : subjectsWithout(binding, subject);
  const isShared = subject !== undefined && others.length > 0;
  const remove = (): Promise<void> =>
    run(async () => {
      await (isShared ? keepSubjects(client, binding, others) : deleteBinding(client, binding));
      onDone();
    });
  const what = `the ${binding.kind} ${binding.name}`;
  return (
    <Panel
      title={isShared ? `Remove ${subject.kind} ${visibleName(subject.name)} from ${what}?` : `Delete ${what}?`}
      problem={problem}
      className="danger-panel"
      busy={busy}
      onCancel={onCancel}
      action={
        <button type="button" className="button danger" disabled={busy} onClick={remove}>
          {isShared ? (busy ? 'Removing…' : 'Remove now') : busy ? 'Deleting…' : 'Delete now'}
        </button>
      }
    >
      <ul className="bullets wrap-anywhere">
        <li>{lossOf(isShared ? { ...binding, subjects: [subject] } : binding)}</li>
        {isShared && <li>The binding stays for {countOf(others.length, 'other subject')}.</li>}
        {binding.manifest !== '' && (
          <li>
            It comes from the manifest {binding.manifest}. As long as it is there, it is created again when the
            manifests are applied: delete it there.
          </li>
        )}
        <li>
          {binding.kind === 'FleetRoleBinding' && !isShared
            ? 'Its passes are revoked if they have a record. Others stay valid until they expire, unless you revoke them.'
            : 'Passes that are out stay valid until they expire, unless you revoke them.'}
        </li>
      </ul>
    </Panel>
  );
}
