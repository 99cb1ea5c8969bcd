import { describe, expect, it } from 'vitest';
import { withAddress } from './register.ts';

const at = (clientCIDR: string, host: string) => ({ clientCIDR, serverAddress: `https://${host}` });
const ALL = (host: string) => [at('0.0.0.0/0', host), at('::/0', host)];

describe('a new address of a cluster', () => {
  it('is for the networks of the only address that it had', () => {
    expect(withAddress([at('10.0.0.0/8', 'old')], ALL('new'), false)).toEqual([at('10.0.0.0/8', 'new')]);
    expect(withAddress([], ALL('new'), false)).toEqual(ALL('new'));
  });

  it('is for the networks that are named, of which a new one comes before the others', () => {
    const near = [at('10.0.0.0/8', 'new')];
    expect(withAddress(ALL('old'), near, true)).toEqual([...near, ...ALL('old')]);
    expect(withAddress([at('10.0.0.0/8', 'near'), ...ALL('far')], near, true)).toEqual([...near, ...ALL('far')]);
  });

  it('is for all networks, or refused, if the cluster has several', () => {
    expect(withAddress([at('10.0.0.0/8', 'near'), ...ALL('far')], ALL('new'), false)).toEqual([
      at('10.0.0.0/8', 'near'),
      ...ALL('new'),
    ]);
    const several = [at('10.0.0.0/8', 'a'), at('11.0.0.0/8', 'b')];
    expect(() => withAddress(several, ALL('new'), false)).toThrow('--client-cidr');
  });
});
