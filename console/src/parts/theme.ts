import { useEffect, useState } from 'react';

export type Theme = 'light' | 'dark';

const KEY = 'clusterpass.theme';

function chosen(): Theme | undefined {
  try {
    const text = localStorage.getItem(KEY);
    return text === 'light' || text === 'dark' ? text : undefined;
  } catch {
    return undefined;
  }
}

/** The person's choice; until there is one, what the system says. */
export function useTheme(): { theme: Theme; toggle: () => void } {
  const [theme, setTheme] = useState<Theme>(
    () => chosen() ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'),
  );
  const [isChosen, setChosen] = useState(() => chosen() !== undefined);
  useEffect(() => {
    if (isChosen) document.documentElement.dataset.theme = theme;
    const media = matchMedia('(prefers-color-scheme: dark)');
    const follow = (): void => {
      if (!isChosen) setTheme(media.matches ? 'dark' : 'light');
    };
    media.addEventListener('change', follow);
    return () => media.removeEventListener('change', follow);
  }, [theme, isChosen]);
  const toggle = (): void => {
    const next = theme === 'dark' ? 'light' : 'dark';
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // Then it holds until the page is closed.
    }
    setChosen(true);
    setTheme(next);
  };
  return { theme, toggle };
}
