/** `1 cluster`, `10,000 clusters`: digits in groups, as the language of the browser has them. */
export const countOf = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString()} ${count === 1 ? one : many}`;
