import { useEffect, useState } from 'react';
import { CheckIcon, CopyIcon } from './icons.tsx';

const SHOWN_MS = 2_000;

export function CopyButton({ text, label, compact = false }: { text: string; label: string; compact?: boolean }) {
  const [outcome, setOutcome] = useState<'copied' | 'failed' | undefined>();
  useEffect(() => {
    if (outcome === undefined) return undefined;
    const timer = setTimeout(() => setOutcome(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = (): void => {
    // Absent where the page is not served securely.
    const written = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'));
    written.then(
      () => setOutcome('copied'),
      () => setOutcome('failed'),
    );
  };
  const word = outcome === 'copied' ? 'Copied' : outcome === 'failed' ? 'Select it by hand' : 'Copy';
  return (
    <button type="button" className={compact ? 'button quiet small' : 'button small'} onClick={copy}>
      {outcome === 'copied' ? <CheckIcon /> : <CopyIcon />}
      <span className="copy-word" aria-live="polite">
        {word}
        <span className="unseen"> {label}</span>
      </span>
    </button>
  );
}
