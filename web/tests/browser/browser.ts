// A real browser. Each page must have no errors, no violations of its policy, and no requests to other origins.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import axe from "axe-core";
import { type Browser, type BrowserContext, chromium, type Locator, type Page, type Route } from "playwright-core";

const ARTEFACTS = process.env.BROWSER_ARTEFACTS ?? "../target/browser";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
/** The longest wait for something on a page, in milliseconds. */
const PATIENCE = 15_000;

export interface Expectations {
  /** The statuses of failed requests that this test causes. The browser logs each as an error. */
  failures?: readonly number[];
  /** Requests fail without a response: the system is down, or a response is lost on purpose. */
  lostResponses?: boolean;
  /** Other origins that the page may send requests to, such as the issuer of tokens. */
  origins?: readonly string[];
  phone?: boolean;
  /** The browser's locale, if it is not en-US. */
  locale?: string;
  /** The timeout of the test, in seconds. */
  seconds?: number;
}

export function launch(): Promise<Browser> {
  const executablePath = process.env.BROWSER_PATH;
  assert.ok(executablePath, "BROWSER_PATH is not set: make browser sets it");
  return chromium.launch({ executablePath, args: FLAGS });
}

/** The tests of one file run in one browser, each in its own profile. */
export function inBrowser(): (name: string, run: (tab: Tab) => Promise<void>, expectations?: Expectations) => void {
  let browser: Browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser.close());
  return (name, run, expectations = {}) => {
    test(name, { timeout: (expectations.seconds ?? 120) * 1000 }, async () => {
      const tab = await Tab.open(browser, expectations);
      try {
        await run(tab);
        await tab.close();
      } catch (error) {
        await tab.keepEvidence(name);
        throw error;
      } finally {
        await tab.context.close();
      }
    });
  };
}

/** Requests that the test holds. */
export class Held {
  count = 0;
  readonly #waiting: Route[] = [];
  #isReleased = false;
  #tell: () => void = () => undefined;
  readonly #first = new Promise<void>(resolve => {
    this.#tell = resolve;
  });

  async take(route: Route): Promise<void> {
    this.count += 1;
    this.#tell();
    if (this.#isReleased) await route.continue();
    else this.#waiting.push(route);
  }

  /** Waits until the first request is held. */
  arrived(): Promise<void> {
    return this.#first;
  }

  /** Lets these and all later requests continue. */
  async release(): Promise<void> {
    this.#isReleased = true;
    // The page may have aborted the request.
    await Promise.all(this.#waiting.splice(0).map(route => route.continue().catch(() => undefined)));
  }
}

export class Tab {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly #expectations: Expectations;
  readonly #log: string[] = [];
  readonly #wrong: string[] = [];
  #origin: string | undefined;

  private constructor(context: BrowserContext, page: Page, expectations: Expectations) {
    this.context = context;
    this.page = page;
    this.#expectations = expectations;
  }

  static async open(browser: Browser, expectations: Expectations = {}): Promise<Tab> {
    const context = await browser.newContext({
      viewport: expectations.phone ? PHONE : DESKTOP,
      locale: expectations.locale ?? "en-US",
      timezoneId: "UTC",
      reducedMotion: "reduce",
    });
    context.setDefaultTimeout(PATIENCE);
    return Tab.#watch(context, expectations);
  }

  static async #watch(context: BrowserContext, expectations: Expectations): Promise<Tab> {
    const page = await context.newPage();
    const tab = new Tab(context, page, expectations);
    await page.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", event => {
        console.error(`policy violation: ${event.effectiveDirective} ${event.blockedURI} ${event.sample}`);
      });
    });
    page.on("console", message => {
      tab.#log.push(`${message.type()} ${message.text()} (${message.location().url})`);
      if (message.type() === "error" && !tab.#isExpected(message.text())) tab.#wrong.push(message.text());
    });
    page.on("pageerror", error => {
      tab.#log.push(`exception ${error.stack ?? error.message}`);
      tab.#wrong.push(error.message);
    });
    page.on("request", request => tab.#checkOrigin(request.url()));
    page.on("requestfinished", request => tab.#log.push(`${request.method()} ${request.url()}`));
    page.on("requestfailed", request => tab.#log.push(`failed ${request.method()} ${request.url()}`));
    return tab;
  }

  /** Another tab of the same profile. */
  another(): Promise<Tab> {
    return Tab.#watch(this.context, this.#expectations);
  }

  async goto(url: string): Promise<void> {
    this.#origin ??= new URL(url).origin;
    await this.page.goto(url);
  }

  /** Holds requests until the test releases them. */
  async hold(isHeld: (url: URL) => boolean): Promise<Held> {
    const held = new Held();
    await this.page.route(isHeld, route => held.take(route));
    return held;
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole("button", { name });
  }

  link(name: string | RegExp): Locator {
    return this.page.getByRole("link", { name });
  }

  region(name: string | RegExp): Locator {
    return this.page.getByRole("region", { name });
  }

  field(label: string | RegExp): Locator {
    return this.page.getByLabel(label);
  }

  /** The current announcements for screen readers. */
  announced(text: string | RegExp): Locator {
    return this.page.getByTestId("announcements").getByText(text);
  }

  /** Waits until a text is visible. */
  async sees(text: string | RegExp, within: Page | Locator = this.page): Promise<void> {
    await within.getByText(text).first().waitFor({ state: "visible" });
  }

  async seesNot(text: string | RegExp, within: Page | Locator = this.page): Promise<void> {
    await within.getByText(text).first().waitFor({ state: "hidden" });
  }

  /** Presses Tab until this has the focus. */
  async tabTo(target: Locator): Promise<void> {
    for (let presses = 0; presses < 80; presses++) {
      if (await target.evaluate(element => element === document.activeElement)) return;
      await this.page.keyboard.press("Tab");
    }
    throw new Error(`80 times Tab did not reach ${target}`);
  }

  /** Checks a state of the page: axe finds nothing, nothing is wider than the window. Saves a screenshot. */
  async state(name: string): Promise<void> {
    const size = this.page.viewportSize();
    await this.#accept(size?.width === PHONE.width ? `${name}-390` : name);
  }

  /** The same on a desktop and a phone, in light and dark. */
  async mainState(name: string): Promise<void> {
    const size = this.page.viewportSize() ?? DESKTOP;
    for (const viewport of [DESKTOP, PHONE]) {
      await this.page.setViewportSize(viewport);
      for (const colorScheme of ["light", "dark"] as const) {
        await this.page.emulateMedia({ colorScheme });
        await this.#accept(`${name}-${viewport.width}-${colorScheme}`);
      }
    }
    await this.page.emulateMedia({ colorScheme: "light" });
    await this.page.setViewportSize(size);
  }

  async #accept(name: string): Promise<void> {
    // Colours must not be measured during a transition.
    await this.page.evaluate(() => {
      for (const animation of document.getAnimations()) {
        if (animation.effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY) animation.finish();
      }
    });
    await this.page.screenshot({ path: join(ARTEFACTS, `${name}.png`), fullPage: true });
    const wide = await this.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(wide <= 0, `${name}: the page is ${wide} px wider than the window`);
    await this.page.evaluate(axe.source);
    const { violations } = await this.page.evaluate(() => {
      // The whole document, also with the rules for best practices.
      return (window as unknown as { axe: typeof axe }).axe.run(document, { resultTypes: ["violations"] });
    });
    const found = violations.map(
      ({ id, help, nodes }) => `${id}: ${help}\n  ${nodes.map(node => node.html).join("\n  ")}`,
    );
    assert.deepEqual(found, [], `${name}: axe finds nothing`);
  }

  /** Checks that the page did nothing forbidden. */
  async close(): Promise<void> {
    await this.page.close();
    assert.deepEqual(this.#wrong, []);
  }

  async keepEvidence(name: string): Promise<void> {
    const file = join(ARTEFACTS, `failed-${name.replaceAll(/\W+/g, "-")}`);
    writeFileSync(`${file}.log`, [...this.#log, ...this.#wrong.map(wrong => `WRONG ${wrong}`)].join("\n"));
    if (this.page.isClosed()) return;
    writeFileSync(`${file}.html`, await this.page.content());
    await this.page.screenshot({ path: `${file}.png`, fullPage: true });
  }

  #isExpected(text: string): boolean {
    const { failures = [], lostResponses = false } = this.#expectations;
    if (failures.some(status => text.includes(`the server responded with a status of ${status}`))) return true;
    return lostResponses && /^Failed to load resource: net::ERR_/.test(text);
  }

  #checkOrigin(url: string): void {
    const { protocol, origin } = new URL(url);
    if (protocol === "data:" || protocol === "blob:") return;
    const allowed = [this.#origin, ...(this.#expectations.origins ?? [])];
    if (!allowed.includes(origin)) this.#wrong.push(`a request to another origin: ${url}`);
  }
}
