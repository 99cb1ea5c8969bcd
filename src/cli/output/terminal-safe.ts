import { isPrint } from '../../api/codec/go-text/go-unicode.ts';

/**
 * Replaces unprintable characters with `?`. Labels and conditions are written by other users, and control characters
 * in them could move the cursor, change colours or hide text.
 */
export const terminalSafe = (text: string): string => [...text].map((rune) => (isPrint(rune) ? rune : '?')).join('');

/** `terminalSafe` for several lines. Further lines are indented, so that none looks like another message. */
export const terminalSafeLines = (text: string): string => text.split('\n').map(terminalSafe).join('\n  ');
