import { FieldProblem } from '../components/form.tsx';
import { CloseIcon } from '../components/icons.tsx';
import { NO_HELP } from '../components/text-field.tsx';
import type { LabelDraft } from '../register/cluster-draft.ts';

interface LabelFieldsProps {
  readonly labels: readonly LabelDraft[];
  readonly onLabels: (labels: readonly LabelDraft[]) => void;
}

/** Characters of a key and a value that a phone shows beside each other. */
const MOST = 24;

export function LabelFields({ labels, onLabels }: LabelFieldsProps) {
  const change = (index: number, part: Partial<LabelDraft>): void =>
    onLabels(labels.map((label, at) => (at === index ? { ...label, ...part } : label)));
  return (
    <fieldset className="label-fields">
      <legend>Labels</legend>
      {labels.map((label, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a label has no identity but its position while it is edited
        <div key={index} className={label.key.length + label.value.length > MOST ? 'label-pair long' : 'label-pair'}>
          {(['key', 'value'] as const).map((part) => (
            <input
              key={part}
              value={label[part]}
              aria-label={`${part === 'key' ? 'Key' : 'Value'} of label ${index + 1}`}
              placeholder={part}
              {...NO_HELP}
              onChange={(event) => change(index, { [part]: event.target.value.trim() })}
            />
          ))}
          <button
            type="button"
            className="button quiet square"
            onClick={() => onLabels(labels.filter((_, at) => at !== index))}
          >
            <CloseIcon />
            <span className="visually-hidden">Remove label {label.key || index + 1}</span>
          </button>
        </div>
      ))}
      <button type="button" className="button small" onClick={() => onLabels([...labels, { key: '', value: '' }])}>
        Add a label
      </button>
      <FieldProblem field="metadata.labels" />
    </fieldset>
  );
}
