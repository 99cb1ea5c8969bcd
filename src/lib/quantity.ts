/** `1 second`, `2 seconds`: a count with its noun. */
export const quantity = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;
