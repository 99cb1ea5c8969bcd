import { useEffect, useState } from 'react';

type Theme = 'light' | 'dark';

const KEY = 'clusterpass.theme';

function storedTheme(): Theme | undefined {
  try {
    const text = localStorage.getItem(KEY);
    return text === 'light' || text === 'dark' ? text : undefined;
  } catch {
    return undefined;
  }
}

/** The theme that the user has chosen, or the theme of the operating system. */
export function useTheme(): { theme: Theme; toggle: () => void } {
  const [theme, setTheme] = useState<Theme>(
    () => storedTheme() ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'),
  );
  const [isChosen, setChosen] = useState(() => storedTheme() !== undefined);
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
      // Without storage the choice lasts until the page is closed.
    }
    setChosen(true);
    setTheme(next);
  };
  return { theme, toggle };
}
