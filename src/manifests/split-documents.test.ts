import { expect, it } from 'vitest';
import { splitDocuments } from './split-documents.ts';

const shapes = (text: string) => splitDocuments(text).map(({ document, line, content }) => [document, line, content]);

it.each<[string, string, unknown[][]]>([
  ['nothing', '', []],
  ['remarks', '# a\n\n  # b\n---\n# c\n', []],
  ['one', 'a: 1\n', [[1, 1, 'a: 1\n']]],
  ['one after a separator', '# head\n---\na: 1', [[1, 2, '\na: 1']]],
  [
    'two, with empty ones between',
    'a: 1\n---\n---\n\n---\nb: 2\n',
    [
      [1, 1, 'a: 1'],
      [2, 5, '\nb: 2\n'],
    ],
  ],
  [
    'content on the line of the separator',
    '--- {a: 1}\n--- # remark\nb: 2',
    [
      [1, 1, ' {a: 1}'],
      [2, 2, ' # remark\nb: 2'],
    ],
  ],
  ['lines that only look like one', 'a: |\n  ---\nb: ---\n----\n', [[1, 1, 'a: |\n  ---\nb: ---\n----\n']]],
  [
    'line ends of Windows',
    'a: 1\r\n---\r\nb: 2\r\n',
    [
      [1, 1, 'a: 1'],
      [2, 2, '\nb: 2\n'],
    ],
  ],
])('%s', (_, text, expected) => {
  expect(shapes(text)).toEqual(expected);
});
