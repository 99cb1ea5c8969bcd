import { useEffect, useState } from 'react';

const DEBOUNCE_MS = 250;

/** The text after it has not changed for a moment, so that not every key press sends a request. */
export function useDebounced(text: string): string {
  const [debounced, setDebounced] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(text), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return debounced;
}
