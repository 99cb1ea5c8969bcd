import { clusterPrefix } from '../../../src/client/index.ts';
import { SelectField, suggestionsOf, TextField } from '../components/text-field.tsx';
import { unless } from '../error-message.ts';
import { useQuery } from '../hooks/use-query.ts';
import { useSession } from '../hooks/use-session.ts';
import type { AccountRef, PassDraft } from './pass-request.ts';

interface BoundFieldsProps {
  readonly cluster: string;
  readonly account: AccountRef;
  readonly draft: PassDraft;
  readonly onChange: (part: Partial<PassDraft>) => void;
}

interface ObjectList {
  readonly items: readonly { metadata: { name: string }; spec?: { serviceAccountName?: string } }[];
}

const MAX_SUGGESTIONS = 200;

const KINDS: Readonly<Record<PassDraft['boundKind'], string>> = { '': 'None', Pod: 'Pod', Secret: 'Secret' };

/** The object that the pass is bound to: the pass becomes invalid when the object is deleted. */
export function BoundFields({ cluster, account, draft, onChange }: BoundFieldsProps) {
  const { client } = useSession();
  const { boundKind, boundName } = draft;
  const { namespace, name: accountName } = account;
  const suggestions = useQuery(`${cluster}/${namespace}/${accountName}/${boundKind}`, async () => {
    if (boundKind === '' || namespace === '') return [];
    const resource = boundKind === 'Pod' ? 'pods' : 'secrets';
    const path = `${clusterPrefix(client, cluster)}/api/v1/namespaces/${encodeURIComponent(namespace)}/${resource}`;
    const asked = client.request<ObjectList>('GET', path, { query: { limit: MAX_SUGGESTIONS } });
    // Without the permission to list, the user types the name.
    const { value } = (await asked.catch(unless(403))) ?? {};
    return (value?.items ?? [])
      .filter(({ spec }) => boundKind === 'Secret' || spec?.serviceAccountName === accountName)
      .map(({ metadata }) => metadata.name);
  });
  const names = suggestions.status === 'loaded' ? suggestions.value : [];
  return (
    <div className="field-row">
      <SelectField
        label="Bound object"
        value={boundKind}
        options={KINDS}
        onChange={(kind) => onChange({ boundKind: kind as PassDraft['boundKind'], boundName: '' })}
      />
      {boundKind !== '' && (
        <TextField
          label={`${boundKind} name`}
          field="spec.boundObjectRef"
          value={boundName}
          suggestions={suggestionsOf(names)}
          onChange={(name) => onChange({ boundName: name })}
        />
      )}
    </div>
  );
}
