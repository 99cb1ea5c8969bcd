import { useId } from 'react';
import { type Client, clusterPrefix, isStatus } from '../../../src/client/index.ts';
import { useQuery } from '../hooks/use-query.ts';
import type { AccountRef, PassDraft } from './pass-request.ts';

interface BoundFieldsProps {
  readonly client: Client;
  readonly cluster: string;
  readonly account: AccountRef;
  readonly draft: PassDraft;
  readonly onChange: (part: Partial<PassDraft>) => void;
}

interface ObjectList {
  readonly items: readonly { metadata: { name: string }; spec?: { serviceAccountName?: string } }[];
}

const MAX_SUGGESTIONS = 200;

/** The object that the pass is bound to: the pass becomes invalid when the object is deleted. */
export function BoundFields({ client, cluster, account, draft, onChange }: BoundFieldsProps) {
  const id = useId();
  const { boundKind, boundName } = draft;
  const { namespace, name: accountName } = account;
  const suggestions = useQuery(`${cluster}/${namespace}/${accountName}/${boundKind}`, async () => {
    if (boundKind === '' || namespace === '') return [];
    const resource = boundKind === 'Pod' ? 'pods' : 'secrets';
    const path = `${clusterPrefix(client, cluster)}/api/v1/namespaces/${encodeURIComponent(namespace)}/${resource}`;
    try {
      const { value } = await client.request<ObjectList>('GET', path, { query: { limit: MAX_SUGGESTIONS } });
      return value.items
        .filter(({ spec }) => boundKind === 'Secret' || spec?.serviceAccountName === accountName)
        .map(({ metadata }) => metadata.name);
    } catch (error) {
      // Without the permission to list, the user types the name.
      if (isStatus(error, 403)) return [];
      throw error;
    }
  });
  const names = suggestions.status === 'loaded' ? suggestions.value : [];
  return (
    <div className="field-row">
      <div className="field">
        <label htmlFor={`${id}kind`}>Bound object</label>
        <select
          id={`${id}kind`}
          value={boundKind}
          onChange={(event) => onChange({ boundKind: event.target.value as PassDraft['boundKind'], boundName: '' })}
        >
          <option value="">None</option>
          <option value="Pod">Pod</option>
          <option value="Secret">Secret</option>
        </select>
      </div>
      {boundKind !== '' && (
        <div className="field">
          <label htmlFor={`${id}name`}>{boundKind} name</label>
          <input
            id={`${id}name`}
            value={boundName}
            list={`${id}names`}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => onChange({ boundName: event.target.value.trim() })}
          />
          <datalist id={`${id}names`}>
            {names.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </div>
      )}
    </div>
  );
}
