import { useState } from 'react';
import { Problem } from '../components/problem.tsx';
import { TextField } from '../components/text-field.tsx';
import { useAction } from '../hooks/use-action.ts';
import { ServerControls } from '../hooks/use-connected.tsx';

export type Decision = 'Approved' | 'Denied' | 'Withdrawn';

const LABELS: Readonly<Record<Decision, string>> = {
  Approved: 'Approve',
  Denied: 'Deny',
  Withdrawn: 'Withdraw',
};

interface DecisionFormProps {
  readonly decisions: readonly Decision[];
  /** Sends the decision. Its error is shown here. */
  readonly decide: (type: Decision, message: string) => Promise<void>;
}

/** The buttons with which a person decides about an access request or a pass. */
export function DecisionForm({ decisions, decide }: DecisionFormProps) {
  const [message, setMessage] = useState('');
  const { busy, problem, run } = useAction();
  return (
    <>
      <Problem text={problem} />
      {decisions.length > 0 && (
        <ServerControls>
          <div className="decision">
            <TextField label="Message" value={message} placeholder="Optional" keepsSpaces onChange={setMessage} />
            <div className="actions">
              {decisions.map((type) => (
                <button
                  key={type}
                  type="button"
                  className={type === 'Approved' ? 'button primary' : 'button danger'}
                  disabled={busy}
                  onClick={() => run(() => decide(type, message))}
                >
                  {LABELS[type]}
                </button>
              ))}
            </div>
          </div>
        </ServerControls>
      )}
    </>
  );
}
