import { useId } from 'react';
import type { Account } from '../cluster/cluster-page.tsx';

interface AccountFieldsProps {
  /** Those that the person may use; none when they have to be typed. */
  readonly accounts: readonly Account[];
  readonly account: Account;
  /** The person is about to choose. */
  readonly onLook: () => void;
  readonly onAccount: (account: Account) => void;
  readonly onTypeInstead: (() => void) | undefined;
}

/** Namespace and account: chosen among those that may be used, or typed. */
export function AccountFields({ accounts, account, onLook, onAccount, onTypeInstead }: AccountFieldsProps) {
  const id = useId();
  const chooses = accounts.length > 0;
  const namespaces = [...new Set(accounts.map(({ namespace }) => namespace))];
  const names = accounts.filter(({ namespace }) => namespace === account.namespace).map(({ name }) => name);
  const setNamespace = (namespace: string): void => {
    const first = accounts.find((each) => each.namespace === namespace)?.name;
    onAccount({ namespace, name: chooses ? (first ?? '') : account.name });
  };
  return (
    <div className="field-row">
      <div className="field">
        <label htmlFor={`${id}namespace`}>Namespace</label>
        {chooses ? (
          <Choice
            id={`${id}namespace`}
            value={account.namespace}
            options={namespaces}
            onLook={onLook}
            onChange={setNamespace}
          />
        ) : (
          <Typed id={`${id}namespace`} value={account.namespace} onChange={setNamespace} />
        )}
      </div>
      <div className="field">
        <label htmlFor={`${id}account`}>Service account</label>
        {chooses ? (
          <Choice
            id={`${id}account`}
            value={account.name}
            options={names}
            onLook={onLook}
            onChange={(name) => onAccount({ ...account, name })}
          />
        ) : (
          <Typed id={`${id}account`} value={account.name} onChange={(name) => onAccount({ ...account, name })} />
        )}
      </div>
      {onTypeInstead !== undefined && (
        <button type="button" className="link" onClick={onTypeInstead}>
          Another account
        </button>
      )}
    </div>
  );
}

interface ValueProps {
  readonly id: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

interface ChoiceProps extends ValueProps {
  readonly options: readonly string[];
  readonly onLook: () => void;
}

const Choice = ({ id, value, options, onLook, onChange }: ChoiceProps) => (
  <select id={id} value={value} onFocus={onLook} onChange={(event) => onChange(event.target.value)}>
    {options.map((option) => (
      <option key={option}>{option}</option>
    ))}
  </select>
);

const Typed = ({ id, value, onChange }: ValueProps) => (
  <input
    id={id}
    value={value}
    spellCheck={false}
    autoComplete="off"
    autoCapitalize="off"
    onChange={(event) => onChange(event.target.value.trim())}
  />
);
