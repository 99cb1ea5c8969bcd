import { expect, it } from 'vitest';
import { StatusError } from '../../../src/client/index.ts';
import { failureOf, NO_FAILURE } from '../error-message.ts';
import { restOf } from './form.tsx';

const refusal = (...fields: string[]) =>
  failureOf(
    new StatusError({
      ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 422, message: 'all of it' },
      details: { causes: fields.map((field) => ({ field, message: 'Required value' })) },
    }),
  );

it('says of a form as a whole only what no field says', () => {
  const fields = ['metadata.name', 'serverAddress'];
  const address = 'spec.orchestratorApiEndpoints.serverEndpoints[0].serverAddress';
  expect(restOf(NO_FAILURE, fields)).toBe('');
  expect(restOf(refusal(), fields)).toBe('all of it');
  expect(restOf(refusal('metadata.name', address), fields)).toBe('The server refuses the fields that are marked.');
  expect(restOf(refusal('metadata.name', 'spec.x'), fields)).toBe('spec.x: Required value');
});
