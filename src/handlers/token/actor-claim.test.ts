import { describe, expect, it } from 'vitest';
import type { Actor, Caller } from '../../api/caller.ts';
import { createIssuers } from '../../tokens/claims.ts';
import { type ActorClaimMode, createActorClaim, createPersonActor } from './actor-claim.ts';

const issuers = createIssuers({ baseUrl: 'https://pass.example/', productName: 'orchestrator' });
const [ALPHA, BETA] = [issuers.issuerFor('alpha'), issuers.issuerFor('beta')];
const iss = 'https://pass.example';

const callerNamed = (name: string, actor?: Actor): Caller =>
  ({ as: () => ({ name, uid: '', groups: [], extra: {} }), actor }) as unknown as Caller;

const claimOf = (mode: ActorClaimMode, audiences: readonly string[], caller = callerNamed('carl'), actor?: Caller) =>
  createActorClaim({ ...issuers, mode })({ caller, actor }, audiences);

describe('RFC 8693 section 4.1: the act claim', () => {
  it.each<[ActorClaimMode, string[], boolean]>([
    ['fleet', [ALPHA], true],
    ['fleet', [ALPHA, BETA], true],
    ['fleet', ['vault'], false],
    ['fleet', [ALPHA, 'vault'], false],
    ['always', ['vault'], true],
    ['never', [ALPHA], false],
  ])('%s: for %j', (mode, audiences, isThere) => {
    expect(claimOf(mode, audiences)).toEqual(isThere ? { iss, sub: 'carl' } : undefined);
  });

  it('A31: names who requested the pass that was used, three at most, the newest outside and always the first', () => {
    const chain: Actor = { iss, sub: 'b', act: { iss, sub: 'c', act: { iss, sub: 'd' } } };
    expect(claimOf('fleet', [ALPHA], callerNamed('a', chain))).toEqual({
      iss,
      sub: 'a',
      act: { iss, sub: 'b', act: { iss, sub: 'd' } },
    });
    // However often a pass requests itself.
    const again = claimOf('fleet', [ALPHA], callerNamed('a', claimOf('fleet', [ALPHA], callerNamed('a', chain))));
    expect(again?.act?.act?.sub).toBe('d');
  });

  it('A48: keeps an agent, however often its pass requests another', () => {
    let claim: Actor | undefined = { iss, sub: 'agent:editor', act: { iss, sub: 'carl' } };
    for (const name of ['a', 'b', 'c']) claim = claimOf('fleet', [ALPHA], callerNamed(name, claim));
    expect(claim).toEqual({ iss, sub: 'c', act: { iss, sub: 'agent:editor', act: { iss, sub: 'carl' } } });
  });

  it('names the impersonator, not the impersonated user', () => {
    const impersonated = { ...callerNamed('jane'), impersonator: callerNamed('carl') };
    expect(claimOf('fleet', [ALPHA], impersonated)).toEqual({ iss, sub: 'carl' });
  });

  it('TX-61: with an actor token, the actor is the outer one, before the caller and its requesters', () => {
    const caller = callerNamed('carl', { iss, sub: 'b', act: { iss, sub: 'c' } });
    expect(claimOf('fleet', [ALPHA], caller, callerNamed('agent', { iss, sub: 'x' }))).toEqual({
      iss,
      sub: 'agent',
      act: { iss, sub: 'carl', act: { iss, sub: 'c' } },
    });
  });

  it('MC-77: with an agent, the agent is the outer one, by a name that no user has, and the person stays', () => {
    const claim = createActorClaim({ ...issuers, mode: 'fleet' });
    const caller = callerNamed('carl', { iss, sub: 'b', act: { iss, sub: 'c' } });
    expect(claim({ caller, actor: callerNamed('gateway') }, [ALPHA], 'editor')).toEqual({
      iss,
      sub: 'agent:editor',
      act: { iss, sub: 'gateway', act: { iss, sub: 'c' } },
    });
    expect(claim({ caller: callerNamed('jane') }, [ALPHA], 'editor')?.act).toEqual({ iss, sub: 'jane' });
  });

  it('TX-71: a pass for a person has the claim only through an actor', () => {
    const actorOf = (mode: ActorClaimMode, actor?: Caller) => createPersonActor({ mode, baseUrl: iss })(actor);
    expect(actorOf('fleet')).toBeUndefined();
    expect(actorOf('never', callerNamed('agent'))).toBeUndefined();
    expect(actorOf('fleet', callerNamed('agent', { iss, sub: 'x' }))).toEqual({ iss, sub: 'agent' });
  });
});
