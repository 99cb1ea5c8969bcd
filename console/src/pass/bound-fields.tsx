import { useId } from 'react';
import { type Client, isStatus, pathPrefix } from '../../../src/client/index.ts';
import { useLoaded } from '../parts/loaded.ts';
import type { PassDraft } from './pass-request.ts';

interface BoundFieldsProps {
  readonly client: Client;
  readonly cluster: string;
  readonly namespace: string;
  readonly account: string;
  readonly draft: PassDraft;
  readonly onDraft: (draft: PassDraft) => void;
}

interface Listed {
  readonly items: readonly { metadata: { name: string }; spec?: { serviceAccountName?: string } }[];
}

const MOST_SUGGESTED = 200;

/** What the pass ends with, if anything. Names are suggested where the person may list them. */
export function BoundFields({ client, cluster, namespace, account, draft, onDraft }: BoundFieldsProps) {
  const id = useId();
  const { boundKind, boundName } = draft;
  const suggested = useLoaded(`${cluster}/${namespace}/${account}/${boundKind}`, async () => {
    if (boundKind === '' || namespace === '') return [];
    const resource = boundKind === 'Pod' ? 'pods' : 'secrets';
    const path = `${pathPrefix(client, cluster)}/api/v1/namespaces/${encodeURIComponent(namespace)}/${resource}`;
    try {
      const { value } = await client.request<Listed>('GET', path, { query: { limit: MOST_SUGGESTED } });
      return value.items
        .filter(({ spec }) => boundKind === 'Secret' || spec?.serviceAccountName === account)
        .map(({ metadata }) => metadata.name);
    } catch (error) {
      // To bind to one takes its name only; to see the names is another right.
      if (isStatus(error, 403)) return [];
      throw error;
    }
  });
  const names = suggested.phase === 'loaded' ? suggested.value : [];
  return (
    <div className="field-row">
      <div className="field">
        <label htmlFor={`${id}kind`}>Ends with</label>
        <select
          id={`${id}kind`}
          value={boundKind}
          onChange={(event) =>
            onDraft({ ...draft, boundKind: event.target.value as PassDraft['boundKind'], boundName: '' })
          }
        >
          <option value="">its lifetime</option>
          <option value="Pod">a Pod</option>
          <option value="Secret">a Secret</option>
        </select>
      </div>
      {boundKind !== '' && (
        <div className="field">
          <label htmlFor={`${id}name`}>Name of the {boundKind}</label>
          <input
            id={`${id}name`}
            value={boundName}
            list={`${id}names`}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => onDraft({ ...draft, boundName: event.target.value.trim() })}
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
