import { useState } from 'react';
import { Form } from '../components/form.tsx';
import { Problem } from '../components/problem.tsx';
import { TextField } from '../components/text-field.tsx';
import { useAction } from '../hooks/use-action.ts';
import { useSession } from '../hooks/use-session.ts';
import { deleteObject } from '../write-object.ts';
import { clusterPath } from './cluster-path.ts';

interface RemoveClusterProps {
  readonly name: string;
  readonly uid: string;
  /** Called when the server has accepted the deletion. The watch removes the cluster from the page. */
  readonly onRemoving: () => void;
  readonly onCancel: () => void;
}

/** The user types the name, because everything below the cluster goes with it. */
export function RemoveCluster({ name, uid, onRemoving, onCancel }: RemoveClusterProps) {
  const { client } = useSession();
  const [typed, setTyped] = useState('');
  const { busy, problem, run } = useAction();
  const remove = async (): Promise<void> => {
    if (typed !== name) return;
    await run(async () => {
      await deleteObject(client, clusterPath(name), uid);
      onRemoving();
    });
  };
  return (
    <Form className="stack danger-panel" busy={busy} onSubmit={remove}>
      <p>
        The cluster leaves the fleet with its namespaces and service accounts, as Clusterpass knows them. No further
        passes are issued for it, and Clusterpass refuses those that are out. The cluster itself keeps running, and
        accepts passes until they expire, unless it asks Clusterpass.
      </p>
      <TextField label={`Type ${name} to remove it`} value={typed} onChange={setTyped} />
      <Problem text={problem} />
      <div className="actions">
        <button type="submit" className="button danger" disabled={typed !== name || busy}>
          {busy ? 'Removing…' : 'Remove the cluster'}
        </button>
        <button type="button" className="button quiet" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </Form>
  );
}
