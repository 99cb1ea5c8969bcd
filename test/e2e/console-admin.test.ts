import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { FLEET_BINDINGS, fleetBinding } from './support/bindings.ts';
import {
  type Browser,
  describeWithBrowser,
  launchBrowser,
  namesShown,
  openPage,
  type Page,
  signIn,
} from './support/browser.ts';
import { connectorOf } from './support/connector.ts';
import { addCluster, patchCluster, relabel, removeCluster, touch } from './support/fleet.ts';
import { create, remove } from './support/objects.ts';
import { CLUSTERS, RBAC } from './support/paths.ts';
import { grant, group, user } from './support/rbac.ts';
import { type Server, startServer, tokenOf } from './support/server.ts';
import { SignedInPages } from './support/signed-in-pages.ts';

/** The console for those who run the fleet: an administrator, the owner of a team's clusters, and a viewer. */

let server: Server;
let browser: Browser;
let pages: SignedInPages;

type Role = 'administrator' | 'owner' | 'viewer' | 'lister' | 'dana' | 'carl';

async function tokenFor(role: Role): Promise<string> {
  if (role === 'administrator') return server.adminToken;
  if (role === 'owner' || role === 'viewer' || role === 'lister') return tokenOf(role);
  return (await readFile(join(server.dataDir, 'demo', `${role}.token`), 'utf8')).trim();
}

/** The page of a user. afterEach checks that it reported no errors. */
const visitAs = async (role: Role, path = '#/', size: { width?: number; height?: number } = {}): Promise<Page> =>
  (await pages.visit(await tokenFor(role), path, size)).page;

const VIEWER = 'clusterpass:viewer';

const bind = (binding: Parameters<typeof fleetBinding>[0]): Promise<unknown> =>
  create(server, FLEET_BINDINGS, fleetBinding(binding));

/** The owner sees every cluster, and administers those of the environment dev. */
async function grantOwner(): Promise<void> {
  const apiGroup = 'rbac.authorization.k8s.io';
  const rules = [
    { apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'], verbs: ['get', 'list', 'watch', 'patch'] },
    { apiGroups: ['clusterpass.dev'], resources: ['clustergrantreviews', 'resourceaccessreviews'], verbs: ['create'] },
    { apiGroups: ['clusterpass.dev'], resources: ['auditeventreviews'], verbs: ['create'] },
  ];
  const readsBindings = [
    { apiGroups: [apiGroup], resources: ['clusterrolebindings', 'rolebindings'], verbs: ['get'] },
    { apiGroups: ['clusterpass.dev'], resources: ['fleetrolebindings'], verbs: ['get'] },
  ];
  await bind({ name: 'demo-owner-views', to: ['owner'], role: VIEWER });
  await bind({ name: 'demo-owner-asks', to: ['owner'], role: 'clusterpass:access-requester', clusters: 'env=dev' });
  await grant(server, { to: 'owner', rules, clusters: 'env=dev' });
  await grant(server, { to: 'owner', rules: readsBindings, fields: {} });
  await create(server, `${RBAC}/clusterrolebindings`, {
    metadata: { name: 'demo-viewer-asks' },
    subjects: [user('viewer')],
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'clusterpass:access-requester' },
  });
}

const hashOf = (page: Page): string => new URL(page.url()).hash;

/** The values that a field offers, in their order. */
const suggestionsOf = (field: Locator): Promise<string[]> =>
  field
    .locator('xpath=../datalist/option')
    .evaluateAll((options) => options.map((option) => option.getAttribute('value') ?? ''));

/** Presses a button by the keyboard. Then the focus is at `target` or inside of it. */
async function pressEnter(button: Locator, target: Locator): Promise<void> {
  await button.press('Enter');
  const hasFocus = () => target.evaluate((element) => element.contains(element.ownerDocument.activeElement));
  await expect.poll(hasFocus, { message: `the focus after ${button}` }).toBe(true);
}

describeWithBrowser('the console for those who run the fleet', () => {
  beforeAll(async () => {
    const options = {
      args: ['--demo', '--confirm-endpoints'],
      users: { owner: ['devs', 'ops'], viewer: [], lister: ['auditors'] },
    };
    [server, browser] = await Promise.all([startServer(options), launchBrowser()]);
    await grantOwner();
    pages = new SignedInPages(browser, server);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.destroy();
  });
  afterEach(async ({ task }) => {
    const { problems } = await pages.endTest({ failed: task.result?.state === 'fail' });
    expect(problems).toEqual([]);
  });

  describe('the overview', () => {
    /** Signs in without asking for a page. */
    const land = async (role: Role) => {
      const visit = await pages.openFresh();
      await visit.page.goto(`${server.url}/console/`);
      await visit.page.getByLabel('Token', { exact: true }).fill(await tokenFor(role));
      await visit.page.getByRole('button', { name: 'Sign in' }).click();
      return visit;
    };

    it('is where an administrator lands, and others on the clusters; it loads no list of them', async () => {
      const { page, requested } = await land('administrator');
      await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
      await page.getByText('All clusters, as of').waitFor();
      expect(hashOf(page)).toBe('#/overview');
      expect(requested.filter((address) => address.includes('/auth/v1/clusters'))).toEqual([]);
      await page.getByRole('link', { name: 'Clusters', exact: true }).click();
      await page.getByText('12 clusters').waitFor();
      await page.getByRole('link', { name: 'Clusterpass' }).click();
      await expect.poll(() => hashOf(page)).toBe('#/overview');
      const other = await land('dana');
      await other.page.getByText('12 clusters').waitFor();
      expect(hashOf(other.page)).toBe('#/');
      expect(await other.page.getByRole('link', { name: 'Overview' }).count()).toBe(0);
    });

    /** With a watch of clusters, which the overview itself does not need. */
    const openOverview = async (): Promise<Page> => {
      const page = await visitAs('administrator');
      await page.evaluate(`void (location.hash = '#/overview')`);
      return page;
    };

    it('counts what the pages behind its numbers list', async () => {
      const page = await openOverview();
      const panel = (name: string): Locator => page.getByRole('region', { name, exact: true });
      const follow = async (link: Locator, shown: string): Promise<void> => {
        await link.click();
        await page.getByText(shown, { exact: true }).first().waitFor();
        await page.goBack();
        await panel('Now').waitFor();
      };
      await follow(panel('Now').getByRole('link', { name: 'All clusters 12' }), '12 clusters');
      await follow(panel('Now').getByRole('link', { name: 'Not ready 2' }), '2 of 12 clusters');
      await follow(
        panel('Not ready, by reason').getByRole('link', { name: 'CertificateExpired 1' }),
        '1 of 12 clusters',
      );
      await follow(panel('Kubernetes versions').getByRole('link', { name: /^1\.36 9/ }), '9 of 12 clusters');
      await panel('Kubernetes versions').getByText('until 2027-06-28').waitFor();
      await follow(panel('Readiness').getByRole('link', { name: '75 % ready' }).first(), '2 of 12 clusters');
      await follow(panel('Passes by hour').getByRole('link', { name: 'refused' }), 'Only failures');
      const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
      await bind({ name: 'ends-soon', to: [], role: VIEWER, fields: { expiresAt } });
      await expect
        .poll(async () => {
          await page.evaluate('window.dispatchEvent(new Event("focus"))');
          return panel('Ends within 30 days').getByRole('link', { name: 'Bindings 1' }).count();
        })
        .toBe(1);
      await panel('Ends within 30 days').getByRole('link', { name: 'Bindings 1' }).click();
      await page.getByText('1 binding', { exact: true }).waitFor();
      await page.getByText('ends-soon').waitFor();
      await page.getByLabel('Ends within 30 days').uncheck();
      await page.getByText('demo-carl-view').waitFor();
      expect((await server.call('DELETE', `${FLEET_BINDINGS}/ends-soon`)).code).toBe(200);
    });

    it('says what is true of an empty fleet, and of a store that does not answer', async () => {
      const page = await openOverview();
      const overview = {
        ...{ clusters: { True: 0, False: 0, Unknown: 0 }, reasons: [], versions: {}, hours: [] },
        ends: { clusterCAs: 0, certificates: 0, signingKeys: 0, bindings: 0, bootstrapTokens: 0 },
        waiting: { accessrequests: 0, passes: 0 },
      };
      const path = '**/metrics/overview';
      const again = () => page.evaluate('window.dispatchEvent(new Event("focus"))');
      await page.route(path, (route) => route.fulfill({ json: overview }));
      await expect
        .poll(async () => {
          await again();
          return page.getByText('no record yet').count();
        })
        .toBe(2);
      await page.getByRole('link', { name: 'All clusters 0' }).waitFor();
      await page.unroute(path);
      const failure = { kind: 'Status', code: 503, message: 'the store does not answer' };
      await page.route(path, (route) => route.fulfill({ status: 503, json: failure }));
      await expect
        .poll(async () => {
          await again();
          return page.getByText('the store does not answer').count();
        })
        .toBe(1);
      expect(await page.getByRole('link', { name: /^All/ }).count()).toBe(0);
      await page.unroute(path);
    });
  });

  describe('every page', () => {
    it('keeps filters and order in the URL, over a reload, a visit to a cluster and a link', async () => {
      const page = await visitAs('dana', '#/?label=env%3Dprod&sort=version&order=descending');
      await page.getByText('5 of 12').waitFor();
      expect((await namesShown(page))[0]).toBe('prod-eu-1');
      await page.getByLabel('Search clusters').fill('gke');
      await page.getByText('2 of 12').waitFor();
      await expect.poll(() => hashOf(page)).toBe('#/?search=gke&label=env%3Dprod&sort=version&order=descending');
      await page.getByRole('link', { name: 'prod-us-1' }).click();
      await page.getByRole('heading', { name: 'prod-us-1' }).waitFor();
      await page.getByRole('link', { name: 'Clusters' }).last().click();
      await page.getByText('2 of 12').waitFor();
      // Back leads to the cluster, and once more to the list as it was.
      await page.goBack();
      await page.goBack();
      await page.getByText('2 of 12').waitFor();
      await page.evaluate(`void (location.hash = '#/?readiness=not-ready')`);
      await page.getByRole('button', { name: '2 Not ready', pressed: true }).waitFor();
      expect(await namesShown(page)).toEqual(['dev-ap-1', 'prod-ap-1']);
    });

    it('says that a page does not exist', async () => {
      const page = await visitAs('viewer', '#/nowhere');
      await page.getByText('There is no such page').waitFor();
      await page.getByRole('link', { name: 'Show all clusters' }).click();
      await page.getByText('You do not have access to any cluster').waitFor();
    });

    it('keeps the navigation if a page cannot be rendered, and shows it again after a reload', async () => {
      // A separate visit: React reports the error in the log of the browser.
      const { page, close } = await openPage(browser);
      onTestFinished(close);
      const list = '**/apis/clusterpass.dev/v1alpha1/accessrequests?limit=500';
      await page.route(list, (route) =>
        route.fulfill({ json: { metadata: {}, items: [{ metadata: { name: 'x' } }] } }),
      );
      await signIn(page, server, await tokenFor('administrator'), '#/requests');
      await page.getByRole('heading', { name: 'This page cannot be shown', level: 1 }).waitFor();
      await page.getByRole('link', { name: 'Passes' }).click();
      await page.getByRole('heading', { name: 'Passes', exact: true }).waitFor();
      await page.getByRole('link', { name: 'Requests' }).click();
      await page.getByRole('heading', { name: 'This page cannot be shown', level: 1 }).waitFor();
      await page.unroute(list);
      await page.getByRole('button', { name: 'Reload the page' }).click();
      await page.getByRole('heading', { name: 'Requests', exact: true }).waitFor();
    });

    it('says that the script of a page could not be loaded, and loads the console again', async () => {
      // A separate visit: React reports the error in the log of the browser.
      const { page, close } = await openPage(browser);
      onTestFinished(close);
      const script = '**/assets/keys-page-*.js';
      // What an upgraded server answers: files of another build do not exist.
      await page.route(script, (route) => route.fulfill({ status: 401, body: 'Unauthorized' }));
      await signIn(page, server, await tokenFor('administrator'));
      await page.getByRole('link', { name: 'Keys', exact: true }).click();
      await page.getByRole('heading', { name: 'This page could not be loaded', level: 1 }).waitFor();
      await page.getByRole('link', { name: 'Audit', exact: true }).click();
      await page.getByRole('heading', { name: 'Audit', exact: true }).waitFor();
      await page.getByRole('link', { name: 'Keys', exact: true }).click();
      await page.unroute(script);
      await page.getByRole('button', { name: 'Load the console again' }).click();
      await signIn(page, server, await tokenFor('administrator'), '#/keys');
      await page.getByRole('heading', { name: 'Keys and health' }).waitFor();
    });

    it('says that permissions could not be read, and reads them again by itself', async () => {
      const page = await visitAs('administrator');
      const ofCluster = '**/orchestrator/prod-ap-1/**/selfsubjectrulesreviews';
      const failure = { kind: 'Status', code: 500, message: 'the disk is full' };
      await page.route(ofCluster, (route) => route.fulfill({ status: 500, json: failure }));
      await page.evaluate(`void (location.hash = '#/clusters/prod-ap-1')`);
      await page.getByText('Your permissions in this cluster could not be read: the disk is full').waitFor();
      await page.unroute(ofCluster);
      await page.getByRole('button', { name: 'Edit labels' }).waitFor();
      // A separate visit: this user's permissions in the fleet are known already.
      const fresh = await pages.openFresh();
      const ofFleet = '**/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
      await fresh.page.route(ofFleet, (route) => route.abort());
      await signIn(fresh.page, server, await tokenFor('administrator'), '#/access');
      await fresh.page.getByText('Your permissions could not be read: The server does not answer').waitFor();
      expect(await fresh.page.getByText('Your roles do not allow').count()).toBe(0);
      await fresh.page.unroute(ofFleet);
      await fresh.page.getByRole('radio', { name: 'Bindings' }).waitFor();
      await fresh.page.getByText('could not be read').waitFor({ state: 'hidden' });
    });

    it('keeps the focus of the keyboard where a control was replaced', async () => {
      const page = await visitAs('administrator', '#/clusters/dev-eu-1');
      const button = (name: string | RegExp): Locator => page.getByRole('button', { name, exact: true });
      const administration = page.getByRole('region', { name: 'Administration' });
      await pressEnter(button('Edit labels'), administration);
      await pressEnter(button('Cancel'), administration);
      await pressEnter(button('Remove…'), administration);
      await pressEnter(button('Cancel'), administration);
      await page.getByText('Valid for 1 hour').waitFor();
      await pressEnter(button('Enter a name'), page.getByRole('region', { name: 'Get a pass' }));
      const pass = page.getByRole('region', { name: 'Your pass' });
      await pressEnter(button('Issue pass'), pass);
      await pressEnter(button('Show pass'), page.getByLabel('Pass', { exact: true }));
      await pressEnter(button('Revoke'), button('Revoke now'));
      await pressEnter(button('Cancel'), button('Revoke'));
      await pressEnter(button('Revoke'), button('Revoke now'));
      await pressEnter(button('Revoke now'), pass.getByText('Clusterpass refuses this pass.'));
      await page.evaluate(`void (location.hash = '#/access?view=bindings&search=demo-carl-view')`);
      const remove = button('Delete the ClusterRoleBinding demo-carl-view');
      await pressEnter(remove, page.getByRole('region', { name: /^Delete the/ }));
      await pressEnter(button('Cancel'), remove);
      await addCluster(server, 'dev-gone', { labels: { env: 'dev' } });
      await page.evaluate(`void (location.hash = '#/clusters/dev-gone')`);
      await pressEnter(button('Edit labels'), administration);
      await removeCluster(server, 'dev-gone');
      await page.getByText('Cluster not found').waitFor();
      const hasFocus = () => page.locator('main').evaluate((it) => it.contains(it.ownerDocument.activeElement));
      await expect.poll(hasFocus).toBe(true);
    });

    it('shows every entry of the navigation on a phone', async () => {
      const page = await visitAs('administrator', '#/keys', { width: 360, height: 640 });
      const entries = page.getByRole('navigation').getByRole('link');
      await entries.filter({ hasText: 'Audit' }).waitFor();
      const ends = await entries.evaluateAll((links) => links.map((link) => link.getBoundingClientRect().right));
      expect(Math.max(...ends)).toBeLessThanOrEqual(360);
    });

    it('shows an issued pass on a phone, focused, with one form of time and its JSON behind a disclosure', async () => {
      const page = await visitAs('carl', '#/clusters/prod-eu-1', { width: 360, height: 640 });
      await page.getByText('Valid for 1 hour').waitFor();
      await page.getByLabel('Keep a record of this pass').uncheck();
      await page.getByText('Valid for 1 hour').waitFor();
      await page.getByRole('button', { name: 'Issue pass' }).click();
      const pass = page.getByRole('region', { name: 'Your pass' });
      await expect.poll(() => pass.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
      const top = (): Promise<number> => pass.evaluate((element) => element.getBoundingClientRect().top);
      await expect.poll(top).toBeLessThan(120);
      expect(await top()).toBeGreaterThan(40);
      expect(await pass.innerText()).toMatch(/Expires exp\s+\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/);
      expect(await pass.locator('pre').isVisible()).toBe(false);
      await pass.getByText('Other claims as JSON').click();
      await pass.getByText('kubernetes.io').waitFor();
    });
  });

  describe('passes', () => {
    const issue = async (account: string, requester: Role): Promise<string> => {
      const path = `/orchestrator/prod-eu-1/api/v1/namespaces/${account.replace('/', '/serviceaccounts/')}/token`;
      const body = { metadata: { annotations: { 'clusterpass.dev/tracked': 'true' } }, spec: { audiences: [] } };
      const { code, json } = await server.call('POST', path, { body, token: await tokenFor(requester) });
      expect(code).toBe(201);
      return json.status.token;
    };
    const isAccepted = async (token: string): Promise<boolean> =>
      (await server.call('GET', '/auth/v1/clusters', { token })).code === 200;

    it('an administrator finds the passes of others, and revokes several with what that means', async () => {
      const [first, second, other] = [
        await issue('ci/builder', 'carl'),
        await issue('ci/builder', 'carl'),
        await issue('shop/deployer', 'dana'),
      ];
      const page = await visitAs('administrator', '#/passes');
      await page.getByText('0 passes').or(page.getByText('No passes')).first().waitFor();
      await page.getByRole('radio', { name: 'All' }).check();
      await page.getByRole('row', { name: /shop\/deployer prod-eu-1 dana/ }).waitFor();
      const requester = page.getByLabel('Requested by');
      expect(await requester.getAttribute('placeholder')).toBe('Whole name');
      expect(await suggestionsOf(requester)).toEqual(['carl', 'dana']);
      await requester.fill('carl');
      await page.getByText('2 passes').waitFor();
      await expect.poll(() => hashOf(page)).toBe('#/passes?scope=all&requester=carl');
      await page.getByLabel('Select all shown passes').check();
      await page.getByRole('button', { name: 'Revoke 2 passes' }).click();
      await page.getByRole('heading', { name: 'Revoke 2 passes?' }).waitFor();
      await page.getByText('The cluster prod-eu-1 does not notice: it accepts its passes until').waitFor();
      // The first revocation fails after the user has left the page.
      const { jti } = JSON.parse(Buffer.from(first.split('.')[1] ?? '', 'base64url').toString());
      const left = Promise.withResolvers<void>();
      const revocation = `**/issuedtokens/${jti}`;
      await page.route(revocation, async (route) => {
        await left.promise;
        await route.fulfill({ status: 500, json: { kind: 'Status', code: 500, message: 'the disk is full' } });
      });
      await page.getByRole('button', { name: 'Revoke now' }).click();
      await page.getByRole('link', { name: 'Keys' }).click();
      await page.getByRole('heading', { name: 'Keys and health' }).waitFor();
      left.resolve();
      await page.getByText('1 of 2 passes was not revoked').waitFor();
      await page.getByText(`${jti}: the disk is full`).waitFor();
      await page.unroute(revocation);
      // It is selected for another attempt.
      await page.goBack();
      await page.getByText('1 pass, 1 selected').waitFor();
      await page.getByRole('button', { name: 'Revoke', exact: true }).click();
      await pressEnter(page.getByRole('button', { name: 'Revoke now' }), page.getByText('0 passes', { exact: true }));
      await page.getByText('No passes match').waitFor();
      await page.getByText('1 pass was revoked').waitFor();
      await page.getByRole('button', { name: 'Dismiss' }).click();
      expect([await isAccepted(first), await isAccepted(second), await isAccepted(other)]).toEqual([
        false,
        false,
        true,
      ]);
    });

    it('others see and revoke the passes that they requested, and a link shows the selected ones', async () => {
      const token = await issue('ci/builder', 'carl');
      const page = await visitAs('carl', '#/passes?account=ci%2Fbuilder');
      await page.getByText('1 pass', { exact: true }).waitFor();
      expect(await page.getByRole('radio', { name: 'All' }).count()).toBe(0);
      await page.getByLabel(/^Select the pass/).check();
      await page.getByRole('button', { name: 'Revoke', exact: true }).click();
      await page.getByText('Revoke the pass for ci/builder in prod-eu-1?').waitFor();
      await page.getByRole('button', { name: 'Revoke now' }).click();
      await page.getByText('No passes match').waitFor();
      expect(await isAccepted(token)).toBe(false);
    });

    it('a sign-out stops the revocation of passes: requests under way are aborted, and no other is sent', async () => {
      const tokens = await Promise.all(Array.from({ length: 5 }, () => issue('shop/deployer', 'dana')));
      const { page } = await pages.openFresh();
      const [sent, aborted]: [string[], string[]] = [[], []];
      await page.route('**/issuedtokens/*', (route) => void sent.push(route.request().url()));
      page.on('requestfailed', (request) => {
        if (request.method() === 'DELETE') aborted.push(request.url());
      });
      await signIn(page, server, await tokenFor('dana'), '#/passes?account=shop%2Fdeployer');
      await page.getByLabel('Select all shown passes').check();
      await page.getByRole('button', { name: /^Revoke \d+ passes$/ }).click();
      await page.getByRole('button', { name: 'Revoke now' }).click();
      await expect.poll(() => sent.length).toBe(4);
      await page.locator('.menu summary').click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await expect.poll(() => aborted.toSorted()).toEqual(sent.toSorted());
      expect(sent).toHaveLength(4);
      await page.getByText(/^Up to \d+ of the selected passes were not revoked/).waitFor();
      expect(await Promise.all(tokens.map(isAccepted))).toEqual(Array(5).fill(true));
    });

    it('a person chooses the group of a pass where a connector allows several', async () => {
      const connector = await connectorOf(server, 'private-1');
      await connector.report({ version: '1.2.3', allow: [{ namespace: 'ci', accounts: ['*'] }] });
      await connector.start({ revocable: true, people: ['ops', 'devs', 'others'] });
      const rules = [
        { apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters/userpass'], verbs: ['create'] },
        { apiGroups: ['clusterpass.dev'], resources: ['connectors'], verbs: ['list'] },
      ];
      const takeBack = await grant(server, { to: 'owner', rules });
      const page = await visitAs('owner', '#/clusters/private-1');
      await page.getByText('ci/*, people of ops, people of devs, people of others').waitFor();
      await page.getByRole('button', { name: 'Issue a pass as me in ops' }).click();
      await page.getByRole('button', { name: 'Show pass' }).click();
      const token = await page.getByLabel('Pass', { exact: true }).inputValue();
      const { sub } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
      expect(sub).toMatch(/^system:serviceaccount:clusterpass-people-ops:owner-/);
      // By the id of its record, which is not that of the token.
      await page.getByRole('button', { name: 'Revoke' }).click();
      await page.getByRole('button', { name: 'Revoke now' }).click();
      await page.getByText('So does the cluster, within about ten seconds.').waitFor();
      await expect.poll(() => [...connector.secrets]).toEqual([]);
      await connector.stop();
      await takeBack();
      await remove(server, `${CLUSTERS}/private-1`);
    });

    it('a person gets a pass as itself where a rule allows it; the admin token is offered none', async () => {
      const rules = [{ apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters/userpass'], verbs: ['create'] }];
      await grant(server, { to: 'owner', rules, clusters: 'env=staging,region=eu' });
      const owner = await visitAs('owner', '#/clusters/staging-eu-1');
      await owner.getByRole('button', { name: 'Issue a pass as me' }).click();
      await owner.getByRole('button', { name: 'Show pass' }).click();
      const token = await owner.getByLabel('Pass', { exact: true }).inputValue();
      const { sub, aud } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
      expect([sub, aud]).toEqual(['owner', [`${server.url}/orchestrator/staging-eu-1/people`]]);
      const admin = await visitAs('administrator');
      const refused = admin.waitForResponse((response) => response.url().includes('/userpass?dryRun=All'));
      await admin.evaluate(`void (location.hash = '#/clusters/staging-eu-1')`);
      expect((await refused).status()).toBe(403);
      await admin.getByText('Valid for 1 hour').waitFor();
      expect(await admin.getByRole('button', { name: 'Issue a pass as me' }).count()).toBe(0);
    });
  });

  describe('clusters', () => {
    const caOf = async (name: string): Promise<string> =>
      (await server.call('GET', `${CLUSTERS}/${name}`)).json.spec.orchestratorApiEndpoints.caBundle;

    it('an administrator registers one from a kubeconfig, sees who will reach it, and removes it', async () => {
      const page = await visitAs('administrator');
      await page.getByRole('link', { name: 'Register a cluster' }).click();
      const ca = await caOf('prod-eu-1');
      await page.getByLabel('Paste a kubeconfig').fill(
        JSON.stringify({
          'current-context': 'aws/prod-eu-9',
          clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:6443', 'certificate-authority-data': ca } }],
          contexts: [{ name: 'aws/prod-eu-9', context: { cluster: 'c', user: 'u' } }],
          users: [{ name: 'u', user: { token: 'not-to-be-sent' } }],
        }),
      );
      await expect.poll(() => page.getByLabel('Name', { exact: true }).inputValue()).toBe('prod-eu-9');
      expect(await page.content()).not.toContain('not-to-be-sent');
      await page.getByText('must be an address that the server connects to').waitFor();
      await page.getByLabel('Address of the API server').fill('https://api.prod-eu-1.example.com:6443');
      await page.getByText('with the same CA is registered as prod-eu-1').waitFor();
      await page.getByLabel('Address of the API server').fill('https://api.prod-eu-9.example.com:6443');
      await page.getByText('The server accepts the name').waitFor();
      await page.getByRole('button', { name: 'Add a label' }).click();
      await page.getByLabel('Key of label 1').fill('env');
      await page.getByLabel('Value of label 1').fill('dev');
      await page.getByText('Group team-shop').first().waitFor();
      await page.getByRole('button', { name: 'Register the cluster' }).click();
      await page.getByRole('heading', { name: 'prod-eu-9' }).waitFor();
      expect(await caOf('prod-eu-9')).toBe(ca);
      await page.getByRole('button', { name: 'Remove…' }).click();
      await page.getByLabel('Type prod-eu-9 to remove it').fill('prod-eu-9');
      await page.getByRole('button', { name: 'Remove the cluster' }).click();
      await page.getByText('prod-eu-9 was removed.').waitFor();
      expect(hashOf(page)).toBe('#/');
    });

    it('an administrator works through what is left until a cluster can be used, with the file to download', async () => {
      const name = 'half-done';
      await addCluster(server, name, { labels: { env: 'none' } });
      const page = await visitAs('administrator', `#/clusters/${name}`);
      const list = page.getByRole('region', { name: 'Until it can be used' });
      const step = (title: string) =>
        list.getByRole('listitem').filter({ has: page.getByRole('heading', { name: title }) });
      await step('Accounts known To do').getByText('Service accounts: 0').waitFor();
      await step('Accounts known To do')
        .getByText(`clusterpass kubectl --cluster ${name} create serviceaccount`)
        .waitFor();
      await step('Usable by callers Done').waitFor();
      const downloading = page.waitForEvent('download');
      await step('Trusts Clusterpass Not known').getByRole('button', { name: 'Download the file' }).click();
      const file = await downloading;
      expect(file.suggestedFilename()).toBe(`authentication-${name}.yaml`);
      const { issuer } = parse(await readFile(await file.path(), 'utf8')).jwt[0];
      expect(issuer).toMatchObject({ url: `${server.url}/orchestrator/${name}` });
      const conditions = [
        { type: 'Ready', status: 'True', reason: 'Checked', lastTransitionTime: '2026-11-16T00:00:00Z' },
      ];
      await server.call('PATCH', `${CLUSTERS}/${name}/status`, { body: { status: { conditions } } });
      await step('Reachable Done').waitFor();
      // For those who may do something about it.
      const viewing = await visitAs('owner', `#/clusters/${name}`);
      await viewing.getByRole('heading', { name: 'Get a pass' }).waitFor();
      expect(await viewing.getByText('Until it can be used').count()).toBe(0);
      await removeCluster(server, name);
    });

    it('a person downloads a kubeconfig for the clusters that the table shows', async () => {
      const page = await visitAs('dana');
      await page.getByLabel('Search clusters').fill('prod-eu');
      await page.getByRole('button', { name: 'Kubeconfig…' }).click();
      const download = async () => {
        const downloading = page.waitForEvent('download');
        await page.getByRole('button', { name: 'Download for 2 clusters' }).click();
        const config = parse(await readFile(await (await downloading).path(), 'utf8'));
        return [
          config.clusters.map(({ cluster }: { cluster: { server: string } }) => cluster.server),
          config.users.map(({ user }: { user: { exec: { args: string[] } } }) => user.exec.args.slice(3).join(' ')),
        ];
      };
      const addresses = ['prod-eu-1', 'prod-eu-2'].map((name) => `https://api.${name}.example.com:6443`);
      expect(await download()).toEqual([addresses, ['--cluster prod-eu-1 --as-me', '--cluster prod-eu-2 --as-me']]);
      await page.getByLabel('As an account').check();
      expect(await page.getByRole('button', { name: 'Download for 2 clusters' }).isDisabled()).toBe(true);
      await page.getByLabel('Service account').fill('ci/builder');
      const account = '--namespace ci --service-account builder';
      expect(await download()).toEqual([
        addresses,
        [`--cluster prod-eu-1 ${account}`, `--cluster prod-eu-2 ${account}`],
      ]);
    });

    it('an administrator sees the finalizers that a removed cluster waits for', async () => {
      await addCluster(server, 'held');
      const hold = (finalizers: string[] | null) => patchCluster(server, 'held', { metadata: { finalizers } });
      await hold(['example.com/backup']);
      const page = await visitAs('administrator', '#/clusters/held');
      await page.getByRole('button', { name: 'Remove…' }).click();
      await page.getByLabel('Type held to remove it').fill('held');
      await page.getByRole('button', { name: 'Remove the cluster' }).click();
      await page.getByRole('listitem').getByText('example.com/backup').waitFor();
      expect(await page.getByRole('button', { name: /^Remov(?!e (User|Group|ServiceAccount) )/ }).count()).toBe(0);
      await hold(null);
      await page.getByText('held was removed.').waitFor();
    });

    it('an administrator registers one once: the form cannot be sent again while its page opens', async () => {
      const page = await visitAs('administrator', '#/register');
      await page.getByLabel('Name', { exact: true }).fill('prod-eu-8');
      await page.getByLabel('Address of the API server').fill('https://api.prod-eu-8.example.com:6443');
      await page.getByText('The server accepts the name').waitFor();
      // Clicks whenever the button is enabled. The form stays until the page is rendered for another reason.
      await page.evaluate(`{
        addEventListener('hashchange', (event) => event.stopImmediatePropagation(), { capture: true, once: true });
        const button = document.querySelector('button[form=register]');
        new MutationObserver(() => button.click()).observe(button, { attributes: true });
      }`);
      const sent: string[] = [];
      page.on('request', (request) => {
        if (request.method() === 'POST' && /\/clusters\?(?!.*dryRun)/.test(request.url())) sent.push(request.url());
      });
      await page.getByRole('button', { name: 'Register the cluster' }).click();
      await page.getByRole('heading', { name: 'prod-eu-8' }).waitFor();
      expect(sent).toHaveLength(1);
      await server.call('DELETE', `${CLUSTERS}/prod-eu-8`);
    });

    it('an owner edits labels where a binding allows it, with who gains and who loses by that', async () => {
      const page = await visitAs('owner', '#/clusters/dev-eu-2');
      await page.getByRole('button', { name: 'Edit labels' }).click();
      expect(await page.getByRole('button', { name: 'Remove…' }).count()).toBe(0);
      await page.getByText('Nothing is changed yet').waitFor();
      await page.getByLabel('Value of label 1').fill('prod');
      await page.getByText('may not set these labels').or(page.getByText('Lose access')).first().waitFor();
      await page.getByText('Lose access').waitFor();
      await page.locator('.grant-loss').getByText('Group team-shop').first().waitFor();
      await page.getByLabel('Value of label 1').fill('dev');
      await page.getByRole('button', { name: 'Add a label' }).click();
      await page.getByLabel('Key of label 4').fill('wing');
      await page.getByLabel('Value of label 4').fill('east');
      await page.getByText('No access changes').waitFor();
      await page.getByRole('button', { name: 'Save labels' }).click();
      await page.getByRole('listitem').getByText('wing=east').waitFor();
      // Not in the clusters of others.
      await page.evaluate(`void (location.hash = '#/clusters/prod-eu-1')`);
      await page.getByRole('heading', { name: 'prod-eu-1' }).waitFor();
      await page.getByText('demo-owner-views').waitFor();
      expect(await page.getByRole('button', { name: 'Edit labels' }).count()).toBe(0);
    });

    it('A45: names by their codes characters of a subject that cannot be seen', async () => {
      await bind({ name: 'hidden-subject', to: ['ow\u202ener'], role: VIEWER, clusters: 'wing=north' });
      const page = await visitAs('owner', '#/clusters/dev-us-1');
      await page.getByRole('button', { name: 'Edit labels' }).click();
      await page.getByRole('button', { name: 'Add a label' }).click();
      await page.getByLabel('Key of label 4').fill('wing');
      await page.getByLabel('Value of label 4').fill('north');
      const gain = page.locator('.grant-gain');
      await gain.getByText('hidden-subject').waitFor();
      expect(await gain.innerText()).toContain('User ow[U+202E]ner');
      await server.call('DELETE', `${FLEET_BINDINGS}/hidden-subject`);
    });

    it('does not save labels that another user has changed meanwhile', async () => {
      await addCluster(server, 'unlabelled');
      onTestFinished(() => removeCluster(server, 'unlabelled'));
      const page = await visitAs('administrator', '#/clusters/unlabelled');
      await page.getByRole('button', { name: 'Edit labels' }).click();
      await page.getByRole('button', { name: 'Add a label' }).click();
      await page.getByLabel('Key of label 1').fill('env');
      await page.getByLabel('Value of label 1').fill('test');
      const save = page.getByRole('button', { name: 'Save labels' });
      await expect.poll(() => save.isEnabled()).toBe(true);
      await relabel(server, 'unlabelled', { env: 'prod' });
      await page.getByText('Another user has changed the labels').waitFor();
      expect(await save.isDisabled()).toBe(true);
    });

    it('an administrator compares and confirms changed endpoints; others see that a change waits', async () => {
      const { serverEndpoints, caBundle } = (await server.call('GET', `${CLUSTERS}/dev-us-1`)).json.spec
        .orchestratorApiEndpoints;
      const changed = [{ ...serverEndpoints[0], serverAddress: 'https://moved.example.com:6443' }];
      const body = { spec: { orchestratorApiEndpoints: { serverEndpoints: changed, caBundle } } };
      const rules = [{ verbs: ['update'], apiGroups: ['clusterregistry.k8s.io'], resources: ['clusters'] }];
      const takeBack = await grant(server, { to: 'owner', rules, clusters: 'env=dev' });
      const token = tokenOf('owner');
      expect((await server.call('PATCH', `${CLUSTERS}/dev-us-1`, { body, token })).code).toBe(200);
      await takeBack();
      const viewer = await visitAs('dana', '#/clusters/dev-us-1');
      await viewer.getByText('You may not see the change').waitFor();
      const page = await visitAs('administrator', '#/clusters/dev-us-1');
      const section = page.getByRole('region', { name: 'Changed endpoints wait for confirmation' });
      await section.getByText('https://moved.example.com:6443').waitFor();
      await page.getByText('The cluster comes from the manifest dev-us-1.yaml.').waitFor();
      await section.getByRole('button', { name: 'Confirm the new endpoints' }).click();
      await section.waitFor({ state: 'hidden' });
      await page.getByRole('cell', { name: 'https://moved.example.com:6443', exact: true }).waitFor();
    });
  });

  describe('access', () => {
    it('an administrator asks who reaches a cluster, what a person reaches, and which bindings hold', async () => {
      const page = await visitAs('administrator');
      await page.getByRole('link', { name: 'Access' }).click();
      // The page opens with content.
      await page.getByRole('row', { name: /demo-carl-view/ }).waitFor();
      await page.getByRole('radio', { name: 'A cluster' }).check();
      // Bindings by label hold in no cluster that does not exist: the answer would be too short.
      await page.getByRole('combobox', { name: 'Cluster', exact: true }).fill('prod-eu-l');
      await page.getByText('You see no cluster prod-eu-l').waitFor();
      expect(await page.getByRole('table').count()).toBe(0);
      await page.getByRole('combobox', { name: 'Cluster', exact: true }).fill('prod-eu-1');
      await page.getByRole('row', { name: /User carl .*demo-prod-eu-1-viewer by demo-carl-view/ }).waitFor();
      await page.getByLabel('Service account').fill('ci/builder');
      await page.getByRole('row', { name: /demo-carl-view/ }).waitFor({ state: 'hidden' });
      await page.getByRole('row', { name: /User carl .*demo-builder-token by demo-carl-issue/ }).waitFor();
      await page.getByRole('link', { name: 'carl' }).click();
      await page.getByText('Reaches 1 cluster').waitFor();
      await page.getByRole('row', { name: /prod-eu-1 .*ci\/builder/ }).waitFor();
      expect(hashOf(page)).toContain('user=carl');
      await page.getByRole('radio', { name: 'Bindings' }).check();
      await page.getByLabel('Subject, role or name').fill('team-shop');
      await page.getByText('2 bindings').waitFor();
      await page.getByLabel('Holds in cluster').fill('prod-eu-l');
      await page.getByText('You see no cluster prod-eu-l').waitFor();
      expect(await page.getByRole('table').count()).toBe(0);
      // Until the server has answered, the list is not that of the cluster.
      const answered = Promise.withResolvers<void>();
      const review = '**/orchestrator/prod-eu-1/**/clustergrantreviews';
      await page.route(review, async (route) => {
        await answered.promise;
        await route.continue();
      });
      await page.getByLabel('Holds in cluster').fill('prod-eu-1');
      await page.getByText('Loading…').waitFor();
      expect(await page.getByRole('table').count()).toBe(0);
      answered.resolve();
      await page.getByText('0 bindings').waitFor();
      await page.unroute(review);
      await page.getByLabel('Subject, role or name').fill('carl');
      await page.getByText('2 bindings').waitFor();
      // What comes from a file is created again.
      await page.getByRole('row', { name: /^demo-carl-view from rbac\.yaml/ }).waitFor();
      await page.getByRole('button', { name: 'Delete the ClusterRoleBinding demo-carl-view' }).click();
      await page.getByText('It comes from the manifest rbac.yaml. As long as it is there').waitFor();
      // Its role names one cluster.
      await page.getByText('User carl loses ClusterRole demo-prod-eu-1-viewer in the cluster prod-eu-1,').waitFor();
      await page.getByRole('button', { name: 'Cancel' }).click();
    });

    it('an administrator grants passes with a form that shows its objects and what they change', async () => {
      const page = await visitAs('administrator', '#/access?view=grant');
      await page.getByText('Enter the name of the group').waitFor();
      await page.getByLabel('To').selectOption('User');
      await page.getByLabel('Name', { exact: true }).fill('viewer');
      await page.getByLabel('Permission').selectOption('account');
      await page.getByLabel('Namespace').fill('shop');
      await page.getByLabel('Service account').fill('deployer');
      // The dry run covers every object: the role has no fault, the binding has.
      await page.getByLabel('Labels').fill('env=staging,,');
      await page.getByText('Enter labels as in kubectl -l').waitFor();
      await page.getByLabel('Labels').fill('env/x/y=staging');
      // The server's words are a line below the field.
      const labels = page.getByLabel('Labels');
      await expect.poll(() => labels.getAttribute('aria-invalid')).toBe('true');
      await page
        .locator('.field', { has: labels })
        .getByText(/^Invalid value: "env\/x\/y"/)
        .waitFor();
      await page.getByText('The server refuses the fields that are marked.').waitFor();
      expect(await page.getByRole('button', { name: 'Apply' }).isDisabled()).toBe(true);
      await page.getByLabel('Labels').fill('env=staging,region=eu');
      await page.getByText('viewer newly gets passes for shop/deployer in 1 cluster').waitFor();
      await page.getByText('kind: FleetRoleBinding').waitFor();
      await page.getByRole('button', { name: 'Apply' }).click();
      await page.getByText('Created Role').waitFor();
      const path = '/orchestrator/staging-eu-1/api/v1/namespaces/shop/serviceaccounts/deployer/token';
      const asked = { body: { spec: { audiences: [] } }, token: tokenOf('viewer') };
      expect((await server.call('POST', path, asked)).code).toBe(201);
      expect((await server.call('POST', path.replace('staging', 'dev'), asked)).code).toBe(403);
    });

    it('an administrator deletes a binding, and can grant the same again', async () => {
      const page = await visitAs('administrator', '#/access?view=grant');
      const grant = async (): Promise<void> => {
        await page.getByLabel('To').selectOption('User');
        await page.getByLabel('Name', { exact: true }).fill('gus');
        await page.getByLabel('Permission').selectOption('account');
        await page.getByLabel('Namespace').fill('shop');
        await page.getByLabel('Service account').fill('deployer');
        await page.getByLabel('Labels').fill('env=staging');
        await page.getByText('gus newly gets passes').waitFor();
        await page.getByRole('button', { name: 'Apply' }).click();
        await page.getByText('Created').waitFor();
      };
      await grant();
      await page.evaluate(`void (location.hash = '#/access?view=bindings&search=gus')`);
      await page.getByText('1 binding', { exact: true }).waitFor();
      // Its scope is a field, which can be changed.
      await page.getByRole('button', { name: /^Change the FleetRoleBinding gus-gets-deployer/ }).click();
      const change = page.getByRole('region', { name: /^Change the FleetRoleBinding gus-gets-deployer/ });
      await change.getByRole('radio', { name: 'By name' }).check();
      await change.getByLabel('Clusters', { exact: true }).fill('staging-eu-1');
      await change.getByRole('button', { name: 'Apply' }).click();
      await page.getByRole('row', { name: /^gus-gets-deployer.* staging-eu-1/ }).waitFor();
      await page.getByRole('button', { name: /^Delete the FleetRoleBinding gus-gets-deployer/ }).click();
      const panel = page.getByRole('region', { name: /^Delete the FleetRoleBinding gus-gets-deployer/ });
      await panel.getByText(/^User gus loses Role gus-.* of the cluster staging-eu-1, unless another/).waitFor();
      await panel.getByRole('button', { name: 'Cancel' }).click();
      await panel.waitFor({ state: 'hidden' });
      await page.getByRole('button', { name: /^Delete the FleetRoleBinding gus-gets-deployer/ }).click();
      await pressEnter(panel.getByRole('button', { name: 'Delete now' }), page.getByText('0 bindings'));
      const { items } = (await server.call('GET', FLEET_BINDINGS)).json;
      expect(items.filter(({ metadata }: { metadata: { name: string } }) => metadata.name.startsWith('gus-'))).toEqual(
        [],
      );
      // The Role is still there.
      await page.evaluate(`void (location.hash = '#/access?view=grant')`);
      await grant();
    });

    it('an administrator removes a subject in the row of a cluster; the other subjects keep the binding', async () => {
      const clusters = { names: ['prod-eu-1'] };
      await bind({ name: 'pair', to: ['ann', 'bob'], role: VIEWER, fields: { clusters } });
      const page = await visitAs('administrator', '#/access?view=cluster&cluster=prod-eu-1');
      await page.getByRole('row', { name: /^User ann sees it ClusterRole clusterpass:viewer by pair never/ }).waitFor();
      // What needs no binding cannot be removed.
      const masters = page.getByRole('row', { name: /^Group system:masters .* needs no binding/ });
      expect(await masters.getByRole('button').count()).toBe(0);
      await page.getByRole('button', { name: 'Remove User ann from pair' }).click();
      const panel = page.getByRole('region', { name: 'Remove User ann from the FleetRoleBinding pair?' });
      await panel
        .getByText(/^User ann loses ClusterRole clusterpass:viewer in the cluster prod-eu-1, unless/)
        .waitFor();
      await panel.getByText('The binding stays for 1 other subject.').waitFor();
      // What changes meanwhile is not its subjects.
      const body = { metadata: { labels: { team: 'shop' } } };
      expect((await server.call('PATCH', `${FLEET_BINDINGS}/pair`, { body })).code).toBe(200);
      await pressEnter(panel.getByRole('button', { name: 'Remove now' }), page.getByText(/^\d+ grants$/));
      await page.getByRole('row', { name: /^User ann/ }).waitFor({ state: 'hidden' });
      const path = `${FLEET_BINDINGS}/pair`;
      expect((await server.call('GET', path)).json.spec.subjects).toEqual([{ kind: 'User', name: 'bob' }]);
      // The last one takes the binding with it, here from the page of the person.
      await page.getByRole('link', { name: 'bob' }).click();
      await page.getByText('Reaches 1 cluster.').waitFor();
      await page.getByRole('button', { name: 'Remove User bob from pair' }).click();
      await page.getByRole('button', { name: 'Delete now' }).click();
      await page.getByText('Reaches 0 clusters.').waitFor();
      expect((await server.call('GET', path)).code).toBe(404);
    });

    it('an administrator is offered the groups that a person had at the last sign-in', async () => {
      const clusters = { names: ['staging-eu-1'] };
      await bind({ name: 'auditors-view', to: [group('auditors')], role: VIEWER, fields: { clusters } });
      expect((await server.call('GET', CLUSTERS, { token: tokenOf('lister') })).code).toBe(200);
      const page = await visitAs('administrator', '#/access?view=person&user=lister');
      await page.getByText('At the last sign-in: auditors').waitFor();
      expect(await page.getByRole('row', { name: /auditors/ }).count()).toBe(0);
      await page.getByRole('button', { name: 'Use these groups' }).click();
      await page.getByRole('row', { name: /^staging-eu-1 Group auditors sees it/ }).waitFor();
      expect(hashOf(page)).toContain('groups=auditors');
      expect((await server.call('DELETE', `${FLEET_BINDINGS}/auditors-view`)).code).toBe(200);
    });

    it('users who may list bindings and not delete them are offered no deletion', async () => {
      const rules = [
        { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterrolebindings'], verbs: ['get', 'list'] },
      ];
      await grant(server, { to: 'lister', rules });
      const page = await visitAs('lister', '#/access?view=bindings&search=lister');
      await page.getByText('1 binding', { exact: true }).waitFor();
      expect(await page.getByRole('button', { name: /^Delete/ }).count()).toBe(0);
    });

    it('an owner asks at the clusters of the team; a viewer finds no such page', async () => {
      const owner = await visitAs('owner', '#/clusters/dev-eu-1');
      await owner.getByRole('region', { name: 'Who reaches this cluster?' }).getByText('team-shop').first().waitFor();
      expect(await owner.getByRole('link', { name: 'Access' }).count()).toBe(0);
      const viewer = await visitAs('viewer', '#/access');
      await viewer.getByText('Your roles do not allow you to ask').waitFor();
      expect(await viewer.getByRole('navigation').getByRole('link').allTextContents()).toEqual([
        'Clusters',
        'Passes',
        'Can I …?',
        'Requests',
      ]);
    });
  });

  describe('keys', () => {
    it('an administrator sees states, what relying parties see and the health, and rotates; a viewer does not', async () => {
      const page = await visitAs('administrator', '#/keys');
      const keys = page.getByRole('region', { name: 'Signing keys' });
      await keys.getByRole('row', { name: /^Current .* yes$/ }).waitFor();
      const [{ metadata: next }] = (
        await server.call('GET', '/apis/clusterpass.dev/v1alpha1/signingkeys?fieldSelector=status.state%3DNext')
      ).json.items;
      await pressEnter(keys.getByRole('button', { name: 'Rotate…' }), keys);
      await keys.getByText('The next key signs from').waitFor();
      await keys.getByRole('button', { name: 'Schedule the rotation' }).waitFor();
      await keys.getByLabel('Sign with the new key at once').check();
      await keys.getByText('A new key signs from now on').waitFor();
      await pressEnter(keys.getByRole('button', { name: 'Rotate now' }), keys);
      await keys.getByRole('row', { name: new RegExp(`^Current ${next.name.slice(0, 12)}`) }).waitFor();
      await keys.getByRole('row', { name: /^Retired .* yes$/ }).waitFor();
      const health = page.getByRole('region', { name: 'Health' });
      await health.getByText('this replica').waitFor();
      // The page asks every 15 seconds. On a busy machine the watch cache can be a second late for one of the answers.
      await expect.poll(() => health.locator('.fact-bad').count()).toBe(0);
      await page.getByRole('link', { name: '/orchestrator/prod-eu-1' }).waitFor();
      const viewer = await visitAs('viewer');
      expect(await viewer.getByRole('link', { name: 'Keys' }).count()).toBe(0);
    });
  });

  describe('audit', () => {
    beforeAll(() => touch(server, 'dev-eu-2', 'changed'));

    it('an administrator follows a cluster, a person and a pass as things happen', async () => {
      const page = await visitAs('administrator', '#/audit?user=carl');
      await page
        .getByRole('row', { name: /carl create serviceaccounts\/token ci\/builder/ })
        .first()
        .waitFor();
      await page.getByText(/in the memory of the server, which reaches back to \d{4}-/).waitFor();
      expect(await suggestionsOf(page.getByLabel('User'))).toEqual(['carl']);
      const rows = () => page.locator('.events tbody tr').count();
      const before = await rows();
      const path = '/orchestrator/prod-eu-1/api/v1/namespaces/ci/serviceaccounts/builder/token';
      const issued = await server.call('POST', path, {
        body: { spec: { audiences: [] } },
        token: await tokenFor('carl'),
      });
      const { jti } = JSON.parse(Buffer.from(issued.json.status.token.split('.')[1], 'base64url').toString());
      // No reload: the page asks for new events.
      await page.getByTitle(jti).waitFor();
      expect(await rows()).toBe(before + 1);
      await page.getByTitle(jti).click();
      await expect.poll(() => hashOf(page)).toBe(`#/audit?pass=${jti}`);
      await expect.poll(rows).toBe(1);
      await page.getByLabel('Pass').fill('');
      await page.getByRole('combobox', { name: 'Cluster', exact: true }).fill('dev-eu-2');
      await page
        .getByRole('row', { name: /admin patch clusters dev-eu-2/ })
        .first()
        .waitFor();
    });

    it('an owner sees the events of the clusters of the team, and a viewer none', async () => {
      const path = '/orchestrator/dev-eu-2/api/v1/namespaces/shop/serviceaccounts/web/token';
      expect((await server.call('POST', path, { body: { spec: { audiences: [] } } })).code).toBe(201);
      const owner = await visitAs('owner', '#/clusters/dev-eu-2');
      const events = owner.getByRole('region', { name: 'Recent events' });
      await events.getByText('patch clusters dev-eu-2').first().waitFor();
      await events.getByText('issued').waitFor();
      expect(await events.getByRole('link').count()).toBe(0);
      // In each of the layouts with one, two and three columns.
      for (const width of [390, 1280, 1600]) {
        await owner.setViewportSize({ width, height: 900 });
        expect(await events.evaluate((it) => it.scrollWidth - it.clientWidth)).toBe(0);
      }
      expect(await owner.getByRole('link', { name: 'Audit' }).count()).toBe(0);
      const viewer = await visitAs('viewer', '#/audit');
      await viewer.getByText('cannot create resource "auditeventreviews"').waitFor();
    });
  });

  it('MC-93: a pass of an agent is approved on its page, which shows what others wrote as text', async () => {
    const fields = { clusters: { names: ['prod-us-2'] }, agents: 'Allow', approval: { by: 'Approver' } };
    const deployer = { kind: 'ServiceAccount', namespace: 'shop', name: 'deployer' };
    await bind({ name: 'demo-viewer-agents', to: ['viewer'], role: 'clusterpass:token-creator', fields });
    await bind({ name: 'demo-deployer-views', to: [deployer], role: VIEWER });
    for (const name of ['demo-viewer-agents', 'demo-deployer-views']) {
      onTestFinished(() => remove(server, `${FLEET_BINDINGS}/${name}`));
    }
    const path = '/apis/clusterpass.dev/v1alpha1/passes';
    const account = { cluster: 'prod-us-2', serviceAccount: { namespace: 'shop', name: 'deployer' } };
    const texts = { purpose: '<b>approve me</b> at once', client: { name: 'agent [approve](#/passes)' } };
    const body = { apiVersion: 'clusterpass.dev/v1alpha1', kind: 'Pass', spec: { ...account, ...texts } };
    const asked = await server.call('POST', path, { body, token: tokenOf('viewer') });
    const { name } = asked.json.metadata;
    const admin = await visitAs('administrator', '#/requests');
    const card = admin.getByRole('article', { name: 'viewer asks for a pass for shop/deployer in prod-us-2' });
    await card.getByRole('link', { name }).click();
    await admin.getByRole('heading', { name: 'Pass', exact: true }).waitFor();
    for (const text of [name, texts.purpose, texts.client.name, 'login', 'viewer', 'Pending']) {
      await admin.getByText(text, { exact: true }).waitFor();
    }
    const rights = admin.getByRole('region', { name: 'What the account may do' });
    await rights.getByText('Clusterpass does not know it').waitFor();
    await rights.getByText('demo-deployer-views').waitFor();
    expect(await rights.getByText('demo-viewer-agents').count()).toBe(0);
    await admin.getByRole('button', { name: 'Approve' }).click();
    await admin.getByText('Ready', { exact: true }).waitFor();
    expect((await server.call('POST', `${path}/${name}/token`, { token: tokenOf('viewer') })).code).toBe(201);
  });

  describe('access requests', () => {
    it('an owner asks where a binding allows it, and reads where it does not', async () => {
      const page = await visitAs('owner', '#/can-i?cluster=dev-eu-1&account=shop%2Fdeployer');
      await page.getByRole('button', { name: 'Check' }).click();
      await page.getByRole('link', { name: 'Ask for access' }).click();
      // The page before it has such a field, too.
      await page.getByLabel('Reason').waitFor();
      const cluster = page.getByRole('combobox', { name: 'Cluster', exact: true });
      await cluster.fill('prod-us-2');
      await page.getByText('do not allow you to ask for access in prod-us-2').waitFor();
      expect(await page.getByRole('button', { name: 'Request access' }).isDisabled()).toBe(true);
      await cluster.fill('dev-eu-1');
      await page.getByLabel('Reason').fill('INC-8: look at the shop');
      await page.getByRole('button', { name: 'Request access' }).click();
      const request = page.getByRole('article', { name: 'You ask for access to dev-eu-1: see the cluster, passes' });
      await request.getByRole('button', { name: 'Withdraw' }).click();
      await page.getByText('No request waits').waitFor();
    });
  });

  describe('without a server', () => {
    it('is marked as out of date, and says what fails', async () => {
      const page = await visitAs('carl', '#/clusters/prod-eu-1');
      await page.getByText('Valid for 1 hour').waitFor();
      const admin = await visitAs('administrator', '#/passes');
      await admin.getByRole('heading', { name: 'Passes' }).waitFor();
      // The script of a page loads when it is first opened.
      for (const [path, heading] of [
        ['#/access?view=bindings', 'Access'],
        ['#/clusters/prod-eu-1', 'prod-eu-1'],
      ] as const) {
        await admin.evaluate(`void (location.hash = ${JSON.stringify(path)})`);
        await admin.getByRole('heading', { name: heading, exact: true }).waitFor();
      }
      await admin.getByText('Valid for 1 hour').waitFor();
      await admin.getByRole('button', { name: 'Issue pass' }).click();
      const isDisabled = (name: string) => admin.getByRole('button', { name, exact: true }).isDisabled();
      await expect.poll(() => isDisabled('Revoke')).toBe(false);
      await server.kill();
      await admin.getByText('Not connected.').waitFor();
      expect([await isDisabled('Test pass'), await isDisabled('Revoke'), await isDisabled('Done')]).toEqual([
        true,
        true,
        false,
      ]);
      // A list that could not be read has no count.
      for (const path of ['#/passes', '#/access?view=bindings', '#/access?view=person&user=carl']) {
        await admin.evaluate(`void (location.hash = ${JSON.stringify(path)})`);
        await admin.locator('.problem', { hasText: 'The server does not answer' }).waitFor();
        expect(await admin.getByText(/^0 (passes|bindings)$/).count()).toBe(0);
      }
      await page.getByText('Not connected.').waitFor();
      expect(await page.getByLabel('Namespace').isDisabled()).toBe(true);
      expect(await page.getByRole('button', { name: 'Issue pass' }).isDisabled()).toBe(true);
      await page.getByRole('button', { name: 'Download kubeconfig' }).click();
      await page.getByText('The server does not answer.').waitFor();
      expect(await page.content()).not.toContain('Failed to fetch');
      server = await server.restart();
      await page.evaluate('document.querySelector(".connection button")?.click()');
      await page.getByText('Not connected.').waitFor({ state: 'hidden' });
      expect(await page.getByLabel('Namespace').isDisabled()).toBe(false);
      await admin.evaluate('document.querySelector(".connection button")?.click()');
      await admin.getByText('Reaches 1 cluster').waitFor();
    });
  });
});
