import fc from 'fast-check';

const SURROGATES = 0xd800;
const SURROGATE_COUNT = 0x800;

/** Any code point but surrogates. fast-check's unit `binary` is the same set, but takes a second of CPU to build. */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10_ffff - SURROGATE_COUNT })
  .map((number) => String.fromCodePoint(number < SURROGATES ? number : number + SURROGATE_COUNT));
