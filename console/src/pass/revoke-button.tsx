import { useState } from 'react';
import type { Client } from '../../../src/client/index.ts';
import { useLoaded } from '../parts/loaded.ts';
import { ask, revoking } from '../why/explain.ts';

interface RevokeButtonProps {
  readonly client: Client;
  readonly jti: string;
  /** There is a record of it: then it is the person's own to revoke. */
  readonly tracked: boolean;
  readonly onRevoked: () => void;
}

/** Ends the pass before its time. Pressed twice, because whoever has the pass already loses it, too. */
export function RevokeButton({ client, jti, tracked, onRevoked }: RevokeButtonProps) {
  const [step, setStep] = useState<'idle' | 'sure' | 'busy'>('idle');
  const [problem, setProblem] = useState('');
  const allowed = useLoaded(jti, async () => tracked || (await ask(client, revoking(jti))).allowed);
  const revoke = async (): Promise<void> => {
    setStep('busy');
    setProblem('');
    try {
      await client.revokeToken(jti);
      onRevoked();
    } catch (error) {
      setStep('idle');
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  if (allowed.phase === 'loaded' && !allowed.value) {
    return <p className="muted hint">You may not revoke it: it has no record, and you have no right to revoke any.</p>;
  }
  return (
    <>
      <button
        type="button"
        className="button danger"
        disabled={allowed.phase === 'loading' || step === 'busy'}
        onClick={step === 'sure' ? revoke : () => setStep('sure')}
      >
        {{ idle: 'Revoke', sure: 'Revoke it now', busy: 'Revoking…' }[step]}
      </button>
      {step === 'sure' && (
        <button type="button" className="button quiet" onClick={() => setStep('idle')}>
          Keep it
        </button>
      )}
      {problem !== '' && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}
