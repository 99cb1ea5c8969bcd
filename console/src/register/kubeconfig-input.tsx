import { useId, useState } from 'react';
import { Problem } from '../components/problem.tsx';
import { NO_HELP, SelectField } from '../components/text-field.tsx';
import { errorMessage } from '../error-message.ts';
import { type KubeconfigEntry, readKubeconfig } from './read-kubeconfig.ts';

/** Called with the context that the user chose. */
export function KubeconfigInput({ onEntry }: { readonly onEntry: (entry: KubeconfigEntry) => void }) {
  const id = useId();
  const [entries, setEntries] = useState<readonly KubeconfigEntry[]>([]);
  const [chosen, setChosen] = useState<KubeconfigEntry | undefined>();
  const [problem, setProblem] = useState('');
  const choose = (entry: KubeconfigEntry): void => {
    setChosen(entry);
    onEntry(entry);
  };
  const read = async (text: string): Promise<void> => {
    setProblem('');
    try {
      const { entries: found, current } = await readKubeconfig(text);
      setEntries(found);
      const first = found.find(({ context }) => context === current) ?? found[0];
      if (first !== undefined) choose(first);
    } catch (error) {
      setEntries([]);
      setProblem(errorMessage(error));
    }
  };
  return (
    <div className="stack">
      <div className="field">
        <label htmlFor={`${id}text`}>Paste a kubeconfig</label>
        {/* Not controlled by React: the text can contain a credential, so it is in no state and is removed at once. */}
        <textarea
          id={`${id}text`}
          rows={3}
          className="mono"
          {...NO_HELP}
          placeholder="apiVersion: v1&#10;kind: Config"
          aria-describedby={`${id}hint`}
          onChange={(event) => {
            const text = event.target.value;
            if (text.trim() === '') return;
            event.target.value = '';
            void read(text);
          }}
        />
        <p className="muted hint" id={`${id}hint`}>
          Read in this page for the address and the CA. Its credentials are not sent, and the text is discarded.
        </p>
      </div>
      <Problem text={problem} />
      {chosen !== undefined && entries.length > 1 && (
        <SelectField
          label="Context"
          value={chosen.context}
          options={entries.map(({ context }) => [context, context] as const)}
          onChange={(name) => {
            const entry = entries.find(({ context }) => context === name);
            if (entry !== undefined) choose(entry);
          }}
        />
      )}
      {chosen !== undefined && (
        <p className={chosen.note === '' ? 'muted hint' : 'warning'} role="status">
          {chosen.note === '' ? `Read the context ${chosen.context}.` : chosen.note}
        </p>
      )}
    </div>
  );
}
