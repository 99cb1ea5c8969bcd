import { expect, it } from 'vitest';
import { visibleName } from './visible-name.ts';

it.each([
  ['jane@example.com', 'jane@example.com'],
  ['Zoë Müller 李雷', 'Zoë Müller 李雷'],
  // Two people with one name, to the eye.
  ['jane\u200b', 'jane[U+200B]'],
  ['ja\u200dne', 'ja[U+200D]ne'],
  ['eve\u202emoc.elpmaxe@enaj', 'eve[U+202E]moc.elpmaxe@enaj'],
  ['a\u2028b\u{e0041}', 'a[U+2028]b[U+E0041]'],
])('marks characters that cannot be seen: %j', (name, shown) => {
  expect(visibleName(name)).toBe(shown);
});
