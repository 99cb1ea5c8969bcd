import { useEffect, useState } from 'react';
import { every } from '../../../src/lib/rounds.ts';

/** The current time in epoch milliseconds. Renders the component again every `intervalMs`. */
export function useNow(intervalMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => every(intervalMs, () => setNow(Date.now())), [intervalMs]);
  return now;
}
