import type { KeyObject } from 'node:crypto';
import type { Algorithm } from './algorithms.ts';

/** What a signing thread starts with. */
export interface SigningWorkerData {
  readonly algorithm: Algorithm;
  readonly key: KeyObject;
}

export type SigningMethods = {
  /** The signatures of these inputs, in their order. */
  readonly sign: (inputs: string) => string;
};

/** One text is cloned faster than a list of them. Segments of a JWS are base64url and have no spaces. */
export const joinTexts = (texts: readonly string[]): string => texts.join(' ');

export const splitTexts = (message: string): string[] => message.split(' ');
