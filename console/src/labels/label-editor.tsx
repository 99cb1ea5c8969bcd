import { useState } from 'react';
import { reviewClusterGrants } from '../../../src/client/access-reviews.ts';
import type { Cluster } from '../../../src/client/index.ts';
import { clusterPath } from '../cluster/cluster-path.ts';
import { Form } from '../components/form.tsx';
import { Preview } from '../components/preview.tsx';
import { GrantChanges } from '../grants/grant-changes.tsx';
import { useCheckedForm } from '../hooks/use-checked-form.ts';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import { type LabelDraft, labelDrafts, labelProblem, labelsOf } from '../register/cluster-draft.ts';
import { patchObject } from '../write-object.ts';
import { LabelFields } from './label-fields.tsx';
import { type Labels, labelPatch } from './label-patch.ts';

interface LabelEditorProps {
  readonly cluster: Cluster;
  readonly onDone: () => void;
}

const isSame = (a: Labels, b: Labels): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([key, value]) => b[key] === value);

/** Labels are selected by bindings. So the form shows who gains and who loses access before it saves them. */
export function LabelEditor({ cluster, onDone }: LabelEditorProps) {
  const { client } = useSession();
  const { name, labels: stored = {} } = cluster.metadata;
  // The labels when editing began.
  const [base] = useState(stored);
  const [drafts, setDrafts] = useState<readonly LabelDraft[]>(() => labelDrafts(stored));
  const missing = labelProblem(drafts);
  const labels = labelsOf(drafts);
  const isChanged = !isSame(labels, base);
  const patch = (options: { readonly dryRun?: 'All' } = {}) =>
    patchObject(client, clusterPath(name), labelPatch(base, labels), options);
  const form = useCheckedForm({
    content: missing === '' && isChanged ? JSON.stringify(labels) : '',
    dryRun: () => patch({ dryRun: 'All' }),
    fields: ['metadata.labels'],
  });
  const effect = useQuery(form.checked, async (signal) =>
    form.checked === '' ? undefined : reviewClusterGrants(client, name, labels, signal),
  );
  const isOutdated = !isSame(base, stored);
  const isChecked = !isOutdated && form.isAccepted && effect.status !== 'loading';
  const save = async (): Promise<void> => {
    if (!isChecked) return;
    await form.run(async () => {
      await patch();
      onDone();
    });
  };
  const refusal = isOutdated
    ? 'Another user has changed the labels of this cluster meanwhile. Cancel, and edit them again.'
    : form.refusal;
  return (
    <Form failure={form.failure} busy={form.busy} onSubmit={save}>
      <LabelFields labels={drafts} onLabels={setDrafts} />
      <Preview
        title="What this changes"
        refusal={refusal}
        missing={missing === '' && !isChanged ? 'Nothing is changed yet.' : missing}
        warnings={form.warnings}
        isLoading={!form.isCurrent}
      >
        <GrantChanges query={effect} />
      </Preview>
      <div className="actions">
        <button type="submit" className="button primary" disabled={!isChecked || form.busy}>
          {form.busy ? 'Saving…' : 'Save labels'}
        </button>
        <button type="button" className="button quiet" onClick={onDone}>
          Cancel
        </button>
      </div>
    </Form>
  );
}
