import { useId } from 'react';
import type { AccountRef } from './pass-request.ts';

interface AccountFieldsProps {
  /** The service accounts that the user can choose from; empty if the user types the name. */
  readonly accounts: readonly AccountRef[];
  readonly account: AccountRef;
  /** The user is about to open a list. */
  readonly onFocus: () => void;
  readonly onAccount: (account: AccountRef) => void;
  /** Undefined if the user already types the name. */
  readonly onEnterName: (() => void) | undefined;
}

/** Namespace and service account, as lists or as text fields. */
export function AccountFields({ accounts, account, onFocus, onAccount, onEnterName }: AccountFieldsProps) {
  const id = useId();
  const hasLists = accounts.length > 0;
  const namespaces = [...new Set(accounts.map(({ namespace }) => namespace))];
  const names = accounts.filter(({ namespace }) => namespace === account.namespace).map(({ name }) => name);
  const setNamespace = (namespace: string): void => {
    const first = accounts.find((each) => each.namespace === namespace)?.name;
    onAccount({ namespace, name: hasLists ? (first ?? '') : account.name });
  };
  const setName = (name: string): void => onAccount({ ...account, name });
  return (
    <div className="field-row">
      <div className="field">
        <label htmlFor={`${id}namespace`}>Namespace</label>
        {hasLists ? (
          <Select
            id={`${id}namespace`}
            value={account.namespace}
            options={namespaces}
            onFocus={onFocus}
            onChange={setNamespace}
          />
        ) : (
          <TextInput id={`${id}namespace`} value={account.namespace} onChange={setNamespace} />
        )}
      </div>
      <div className="field">
        <label htmlFor={`${id}account`}>Service account</label>
        {hasLists ? (
          <Select id={`${id}account`} value={account.name} options={names} onFocus={onFocus} onChange={setName} />
        ) : (
          <TextInput id={`${id}account`} value={account.name} onChange={setName} />
        )}
      </div>
      {onEnterName !== undefined && (
        <button type="button" className="link" onClick={onEnterName}>
          Enter a name
        </button>
      )}
    </div>
  );
}

interface InputProps {
  readonly id: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

interface SelectProps extends InputProps {
  readonly options: readonly string[];
  readonly onFocus: () => void;
}

const Select = ({ id, value, options, onFocus, onChange }: SelectProps) => (
  <select id={id} value={value} onFocus={onFocus} onChange={(event) => onChange(event.target.value)}>
    {options.map((option) => (
      <option key={option}>{option}</option>
    ))}
  </select>
);

const TextInput = ({ id, value, onChange }: InputProps) => (
  <input
    id={id}
    value={value}
    spellCheck={false}
    autoComplete="off"
    autoCapitalize="off"
    onChange={(event) => onChange(event.target.value.trim())}
  />
);
