import { useEffect, useState } from 'react';
import { CheckIcon, CopyIcon } from './icons.tsx';

const FEEDBACK_MS = 2_000;

export interface CopyButtonProps {
  readonly text: string;
  /** What is copied, for screen readers. */
  readonly label: string;
  readonly compact?: boolean;
}

export function CopyButton({ text, label, compact = false }: CopyButtonProps) {
  const [outcome, setOutcome] = useState<'copied' | 'failed' | undefined>();
  useEffect(() => {
    if (outcome === undefined) return undefined;
    const timer = setTimeout(() => setOutcome(undefined), FEEDBACK_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = (): void => {
    // Browsers offer the clipboard only to secure contexts (HTTPS or localhost).
    const written = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'));
    written.then(
      () => setOutcome('copied'),
      () => setOutcome('failed'),
    );
  };
  const caption = outcome === 'copied' ? 'Copied' : outcome === 'failed' ? 'Copy failed' : 'Copy';
  return (
    <button
      type="button"
      className={compact ? 'button quiet small' : 'button small'}
      title={
        outcome === 'failed' ? 'The browser denies access to the clipboard. Select the text and copy it.' : undefined
      }
      onClick={copy}
    >
      {outcome === 'copied' ? <CheckIcon /> : <CopyIcon />}
      <span className="copy-caption" aria-live="polite">
        {caption}
        <span className="visually-hidden"> {label}</span>
      </span>
    </button>
  );
}
