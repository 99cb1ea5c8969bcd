import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { useClusterNames } from '../hooks/use-cluster-names.ts';
import type { Fields } from '../hooks/use-fields.ts';
import { FieldProblem, useFieldProblem } from './form.tsx';

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly required?: boolean;
  readonly placeholder?: string;
  /** Values to choose from, for what has been typed; others can be typed. */
  readonly suggestions?: (typed: string) => readonly string[];
  readonly hint?: ReactNode;
  /** A part of its path in the object that the server checks. */
  readonly field?: string;
  /** A text in several lines. */
  readonly rows?: number;
  /** A text for people, with spaces in it. */
  readonly keepsSpaces?: boolean;
}

/** Names are no words of a language. */
export const NO_HELP = { spellCheck: false, autoComplete: 'off', autoCapitalize: 'off' } as const;

/** A labelled field for names, which have no spaces around them. */
export function TextField(props: TextFieldProps) {
  const { label, value, onChange, suggestions, hint, rows, field } = props;
  const { required = false, placeholder, keepsSpaces = false } = props;
  const id = useId();
  const shared = {
    id,
    value,
    required,
    placeholder,
    ...NO_HELP,
    'aria-invalid': useFieldProblem(field) !== '',
    'aria-describedby': `${id}hint`,
  };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {rows === undefined ? (
        <input
          {...shared}
          {...(suggestions === undefined ? {} : { list: `${id}list` })}
          onChange={(event) => onChange(keepsSpaces ? event.target.value : event.target.value.trim())}
        />
      ) : (
        <textarea
          {...shared}
          rows={rows}
          className={keepsSpaces ? undefined : 'mono'}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      {suggestions !== undefined && (
        <datalist id={`${id}list`}>
          {suggestions(value).map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      <div className="contents" id={`${id}hint`}>
        {hint !== undefined && <p className="muted hint">{hint}</p>}
        <FieldProblem field={field} />
      </div>
    </div>
  );
}

const COMMIT_MS = 300;

/** A field whose value is used after a pause in typing: it filters a list at the server, or is kept in the URL. */
export function FilterField({ value, onChange, ...props }: Omit<TextFieldProps, 'required' | 'rows'>) {
  const [draft, setDraft] = useState(value);
  const committed = useRef(value);
  const commit = useRef(onChange);
  useEffect(() => {
    commit.current = onChange;
  }, [onChange]);
  useEffect(() => {
    // A link has changed it.
    if (value === committed.current) return;
    committed.current = value;
    setDraft(value);
  }, [value]);
  useEffect(() => {
    if (draft === committed.current) return undefined;
    const timer = setTimeout(() => {
      committed.current = draft;
      commit.current(draft);
    }, COMMIT_MS);
    return () => clearTimeout(timer);
  }, [draft]);
  return <TextField {...props} value={draft} onChange={setDraft} />;
}

/** What a field offers from these values, e.g. those of the rows that are shown. */
export const suggestionsOf = (values: readonly string[]) => () =>
  [...new Set(values)].filter((value) => value !== '').sort();

/** The filter by cluster of a page. */
export const ClusterFilter = ({ fields, label = 'Cluster' }: { readonly fields: Fields; readonly label?: string }) => (
  <FilterField
    label={label}
    placeholder="Whole name"
    value={fields.get('cluster')}
    suggestions={useClusterNames()}
    onChange={(cluster) => fields.set({ cluster })}
  />
);

/** Values and their texts. Of values that may be numbers, a record would not keep the order. */
type Options<T extends string> = readonly (readonly [value: T, text: string])[] | Readonly<Record<T, string>>;

const pairsOf = <T extends string>(options: Options<T>): readonly (readonly [T, string])[] =>
  Array.isArray(options) ? options : (Object.entries(options) as [T, string][]);

interface SelectFieldProps {
  readonly label: string;
  readonly value: string;
  readonly options: Options<string>;
  readonly onChange: (value: string) => void;
  /** The user is about to open the list. */
  readonly onFocus?: () => void;
}

export function SelectField({ label, value, options, onChange, onFocus }: SelectFieldProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onFocus={onFocus} onChange={(event) => onChange(event.target.value)}>
        {pairsOf(options).map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

interface SegmentsProps<T extends string> {
  readonly legend: string;
  readonly value: T;
  readonly options: Options<T>;
  readonly onChange: (value: T) => void;
}

/** A choice of few, all of them visible. */
export function Segments<T extends string>({ legend, value, options, onChange }: SegmentsProps<T>) {
  const name = useId();
  return (
    <fieldset className="segments">
      <legend className="visually-hidden">{legend}</legend>
      {pairsOf(options).map(([each, text]) => (
        <label key={each}>
          <input type="radio" name={name} checked={value === each} onChange={() => onChange(each)} />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  );
}
