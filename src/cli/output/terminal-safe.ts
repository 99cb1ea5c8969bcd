import { isPrint } from '../../api/printable.ts';

/**
 * Text from elsewhere, for a terminal: whatever could move the cursor, change colours or hide text is shown as `?`.
 * A cluster's labels and conditions are written by other people than the one who looks at them.
 */
export const printable = (text: string): string => [...text].map((rune) => (isPrint(rune) ? rune : '?')).join('');
