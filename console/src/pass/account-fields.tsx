import { SelectField, TextField } from '../components/text-field.tsx';
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

const optionsOf = (names: Iterable<string>) => Array.from(names, (name) => [name, name] as const);

/** Namespace and service account, as lists or as text fields. */
export function AccountFields({ accounts, account, onFocus, onAccount, onEnterName }: AccountFieldsProps) {
  const { namespace, name } = account;
  const namespaces = optionsOf(new Set(accounts.map((each) => each.namespace)));
  const names = optionsOf(accounts.filter((each) => each.namespace === namespace).map((each) => each.name));
  const setName = (next: string): void => onAccount({ namespace, name: next });
  const chooseNamespace = (next: string): void =>
    onAccount({ namespace: next, name: accounts.find((each) => each.namespace === next)?.name ?? '' });
  return (
    <div className="field-row">
      {accounts.length > 0 ? (
        <>
          <SelectField
            label="Namespace"
            value={namespace}
            options={namespaces}
            onFocus={onFocus}
            onChange={chooseNamespace}
          />
          <SelectField label="Service account" value={name} options={names} onFocus={onFocus} onChange={setName} />
        </>
      ) : (
        <>
          <TextField label="Namespace" value={namespace} onChange={(next) => onAccount({ namespace: next, name })} />
          <TextField label="Service account" value={name} onChange={setName} />
        </>
      )}
      {onEnterName !== undefined && (
        <button type="button" className="link" onClick={onEnterName}>
          Enter a name
        </button>
      )}
    </div>
  );
}
