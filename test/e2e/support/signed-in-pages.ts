import { type Browser, openPage, type Page, signIn, type Visit } from './browser.ts';

/** The console has no page of this name: nothing is loaded there, and the next page starts without state. */
const NO_PAGE = '#/between-tests';

/**
 * The pages of a test file: one for each user, who stays signed in from test to test. A new browser context, the load
 * of the console and a sign-in take a second of CPU time, five times as much as a change of the page.
 */
export class SignedInPages {
  readonly #browser: Browser;
  readonly #url: string;
  /** By token. */
  readonly #signedIn = new Map<string, Visit>();
  /** Of the current test only. */
  readonly #fresh: Visit[] = [];
  readonly #used = new Set<Visit>();

  constructor(browser: Browser, { url }: { readonly url: string }) {
    this.#browser = browser;
    this.#url = url;
  }

  /** A page in a separate browser context, where no user has signed in. It is closed after the test. */
  async openFresh(): Promise<Visit> {
    const visit = await openPage(this.#browser);
    this.#fresh.push(visit);
    return visit;
  }

  /** The page of the user with this token, at a path of the console. The first visit signs in. */
  async visit(token: string, path = '#/', { width = 1280, height = 800 } = {}): Promise<Visit> {
    const known = this.#signedIn.get(token);
    const visit = known ?? (await openPage(this.#browser, { width, height }));
    this.#signedIn.set(token, visit);
    this.#used.add(visit);
    const { page } = visit;
    if (known === undefined) {
      await signIn(page, { url: this.#url }, token, path);
      return visit;
    }
    await page.setViewportSize({ width, height });
    await goTo(page, path);
    await page.getByText('Live', { exact: true }).waitFor();
    return visit;
  }

  /**
   * Ends a test: closes its fresh pages and leaves the others without a page. Returns what all of them reported since
   * the last call. A failed test leaves no page behind, so that it does not fail those after it.
   */
  async endTest({ failed }: { readonly failed: boolean }): Promise<Pick<Visit, 'problems' | 'requested'>> {
    const open = [...this.#signedIn.values()];
    const all = [...open, ...this.#fresh];
    if (failed) this.#signedIn.clear();
    for (const visit of [...this.#fresh.splice(0), ...(failed ? open : [])]) await visit.close();
    for (const { page } of failed ? [] : this.#used) {
      await goTo(page, NO_PAGE);
      await page.getByText('There is no such page').waitFor();
    }
    this.#used.clear();
    return {
      problems: all.flatMap(({ problems }) => problems.splice(0)),
      requested: all.flatMap(({ requested }) => requested.splice(0)),
    };
  }
}

/** Without loading the console again: the user would be signed out. */
const goTo = (page: Page, hash: string): Promise<unknown> =>
  page.evaluate(`void (location.hash = ${JSON.stringify(hash)})`);
