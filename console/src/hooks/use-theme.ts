import { useEffect, useState } from 'react';
import { attempt } from '../session/token-storage.ts';
import { useMedia } from './use-media.ts';

type Theme = 'light' | 'dark';

const KEY = 'clusterpass.theme';

function storedTheme(): Theme | undefined {
  const text = attempt(() => localStorage.getItem(KEY));
  return text === 'light' || text === 'dark' ? text : undefined;
}

/** The theme that the user has chosen, or the theme of the operating system. */
export function useTheme(): { theme: Theme; toggle: () => void } {
  const [chosen, setChosen] = useState(storedTheme);
  const isDark = useMedia('(prefers-color-scheme: dark)');
  const theme = chosen ?? (isDark ? 'dark' : 'light');
  useEffect(() => {
    if (chosen !== undefined) document.documentElement.dataset.theme = chosen;
  }, [chosen]);
  const toggle = (): void => {
    const next = theme === 'dark' ? 'light' : 'dark';
    attempt(() => localStorage.setItem(KEY, next));
    setChosen(next);
  };
  return { theme, toggle };
}
