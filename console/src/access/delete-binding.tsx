import { useEffect, useRef } from 'react';
import type { Client } from '../../../src/client/index.ts';
import { Problem } from '../components/problem.tsx';
import { useAction } from '../hooks/use-action.ts';
import { ServerControls } from '../hooks/use-connected.tsx';
import { type Binding, deleteBinding, lossOf } from './bindings.ts';

interface DeleteBindingProps {
  readonly client: Client;
  readonly binding: Binding;
  readonly onCancel: () => void;
  readonly onDone: () => void;
}

/** Asks before it deletes, because people and programs lose access. */
export function DeleteBinding({ client, binding, onCancel, onDone }: DeleteBindingProps) {
  const { busy, problem, run } = useAction();
  const heading = useRef<HTMLHeadingElement>(null);
  const opener = useRef<Element>(null);
  useEffect(() => {
    opener.current = document.activeElement;
    heading.current?.focus();
  }, []);
  const cancel = (): void => {
    if (opener.current instanceof HTMLElement) opener.current.focus();
    onCancel();
  };
  const remove = (): Promise<void> =>
    run(async () => {
      await deleteBinding(client, binding);
      onDone();
    });
  return (
    <section className="card section danger-panel" aria-labelledby="delete-title">
      <h2 id="delete-title" ref={heading} tabIndex={-1} className="wrap-anywhere">
        Delete the {binding.kind} {binding.name}?
      </h2>
      <ul className="bullets wrap-anywhere">
        <li>{lossOf(binding)}</li>
        {binding.manifest !== '' && (
          <li>
            It comes from the manifest {binding.manifest}. As long as it is there, it is created again when the
            manifests are applied: delete it there.
          </li>
        )}
        <li>Passes that are out stay valid until they expire, unless you revoke them.</li>
      </ul>
      <Problem text={problem} />
      <ServerControls>
        <div className="actions">
          <button type="button" className="button danger" disabled={busy} onClick={remove}>
            {busy ? 'Deleting…' : 'Delete now'}
          </button>
          <button type="button" className="button quiet" disabled={busy} onClick={cancel}>
            Cancel
          </button>
        </div>
      </ServerControls>
    </section>
  );
}
