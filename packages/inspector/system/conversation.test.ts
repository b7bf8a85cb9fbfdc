import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { conversation, say, startSession } from "./fixtures/conversation.ts";
import { chromiumPath, launch, openTab } from "./fixtures/inspected-browser.ts";
import { InspectedServer } from "./fixtures/inspected-server.ts";

const found = await chromiumPath();

requirement(
  "Chromium",
  found.path !== undefined,
  found.path === undefined ? found.why : "",
)("a conversation in the page", () => {
  let server: InspectedServer;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([InspectedServer.start(), launch(found.path ?? "")]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });
  /** A tab of a browser of its own that is let in; gone when `run` is done. */
  async function withTab(place: string, run: (tab: Awaited<ReturnType<typeof openTab>>) => Promise<void>) {
    const tab = await openTab(browser, await server.entrance(place));
    try {
      await run(tab);
    } finally {
      await tab.context.close();
    }
  }
  const made = () => join(server.workspace, "made.txt");

  test("a newcomer opens the page, starts the demo, says something and sees the answer", () =>
    withTab("", async ({ page, faults }) => {
      await startSession(page, server.workspace);
      await say(page, "what is in this folder");
      await conversation(page).getByText("There are").waitFor();
      expect(await conversation(page).textContent()).toContain("README.md");
      await conversation(page).getByText("completed").waitFor();
      expect(faults).toEqual([]);
    }));

  test("what is not allowed is shown as blocked, with the reason, and how it was decided", () =>
    withTab("sessions", async ({ page, faults }) => {
      await startSession(page, server.workspace);
      await say(page, "read .env");
      const card = conversation(page).getByRole("article");
      await card.getByText("keys, tokens and passwords are not for agents").waitFor();
      await card.getByRole("button").first().click();
      await card.getByText("credentials_are_out_of_reach").waitFor();
      await card.getByText("performed").waitFor();
      await card.getByRole("link").first().click();
      await page.waitForURL(/\/ledger\/[0-9a-f]{64}$/);
      await page.goBack();
      await conversation(page).getByRole("article").waitFor();
      expect(await conversation(page).textContent()).not.toContain("frog");
      expect(faults).toEqual([]);
    }));

  test("what a person allows runs, and the card says that they were asked", () =>
    withTab("sessions", async ({ page, faults }) => {
      await rm(made(), { force: true });
      await startSession(page, server.workspace);
      await say(page, "run `make`");
      const asked = page.getByRole("region", { name: "The agent asks" });
      await asked.getByText("make runs what the build files say").waitFor();
      expect(existsSync(made())).toBe(false);
      await asked.getByRole("button", { name: "Allow once" }).click();
      await conversation(page).getByText("It went through").waitFor();
      expect(existsSync(made())).toBe(true);
      await conversation(page).getByText("asked, allowed").waitFor();
      await asked.waitFor({ state: "detached" });
      expect(faults).toEqual([]);
    }));

  test("a fork shows what was said before it, above a line, and not what is said there after it", () =>
    withTab("sessions", async ({ page, faults }) => {
      await startSession(page, server.workspace);
      await say(page, "what is in this folder");
      await conversation(page).getByText("There are").waitFor();
      const parent = page.url();
      await page.getByRole("button", { name: "Fork" }).click();
      await page.waitForURL((url) => url.href !== parent && url.pathname.includes("/sessions/"));
      await conversation(page).getByText("Forked here").waitFor();
      await conversation(page).getByText("what is in this folder").waitFor();
      const fork = page.url();
      await page.goto(parent);
      await say(page, "read .env");
      await conversation(page).getByText("keys, tokens and passwords are not for agents").first().waitFor();
      await page.goto(fork);
      await conversation(page).getByText("There are").waitFor();
      await say(page, "hello there");
      await conversation(page).getByText("hello there").first().waitFor();
      const text = (await conversation(page).textContent()) ?? "";
      expect(text.indexOf("Forked here")).toBeGreaterThan(text.indexOf("There are"));
      expect(text.indexOf("hello there")).toBeGreaterThan(text.indexOf("Forked here"));
      expect(text).not.toContain("keys, tokens and passwords");
      await conversation(page).getByRole("link", { name: "the session it comes from" }).click();
      await page.waitForURL(parent);
      expect(faults).toEqual([]);
    }));

  test("what a person denies does not run, and everybody is told why", () =>
    withTab("sessions", async ({ page, faults }) => {
      await rm(made(), { force: true });
      await startSession(page, server.workspace);
      await say(page, "run `make`");
      await page.getByRole("region", { name: "The agent asks" }).waitFor();
      const place = page.url();
      await page
        .getByRole("link", { name: /Approvals/ })
        .first()
        .click();
      await page.getByText("On behalf of").waitFor();
      // The keys that go somewhere answer nothing on their way.
      await page.keyboard.press("g");
      await page.keyboard.press("a");
      const reason = page.getByLabel("Why not?");
      await expect
        .poll(async () => {
          await page.keyboard.press("d");
          return reason.isVisible();
        })
        .toBe(true);
      await reason.fill("not on a Sunday");
      await page.keyboard.press("Enter");
      await page.getByText("Nothing waits for you").waitFor();
      await page.getByRole("tab", { name: "Answered" }).click();
      await page.getByText("not on a Sunday").waitFor();
      await page.goto(place);
      await conversation(page).getByText("blocked").first().waitFor();
      expect(await conversation(page).textContent()).toContain("not on a Sunday");
      expect(existsSync(made())).toBe(false);
      expect(faults).toEqual([]);
    }));

  test("of two browsers that answer one approval, one wins and the other is told", () =>
    withTab("sessions", async ({ page }) =>
      withTab("approvals", async ({ page: other }) => {
        await startSession(page, server.workspace);
        await say(page, "run `make`");
        const one = page.getByRole("button", { name: "Allow once" });
        const two = other.getByRole("button", { name: "Allow once" });
        await Promise.all([one.waitFor(), two.waitFor()]);
        // The second browser does not hear of the first one's answer before its own is on the way.
        let release: (() => void) | undefined;
        const held = new Promise<void>((resolve) => {
          release = resolve;
        });
        await other.route("**/answer", async (route) => {
          await held;
          await route.continue();
        });
        await two.click();
        await one.click();
        await conversation(page).getByText("It went through").waitFor();
        const answered = other.waitForResponse(/\/answer$/);
        release?.();
        expect((await answered).status()).toBe(409);
        await other.getByText("Somebody else had answered that already").waitFor();
      }),
    ));

  test("the browser tells of an approval where the person wants it", () =>
    withTab("approvals", async ({ page, faults }) => {
      await page.evaluate(`
        window.told = [];
        window.Notification = class extends EventTarget {
          static permission = "granted";
          constructor(title, { body }) { super(); window.told.push(title + ": " + body); }
          close() {}
        };
      `);
      await page.getByRole("button", { name: "Notices: off" }).click();
      await page.getByRole("button", { name: "Notices: on" }).waitFor();
      await startSession(page, server.workspace);
      await say(page, "run `make`");
      await page.getByRole("region", { name: "The agent asks" }).waitFor();
      const told = () => page.evaluate("window.told.join()");
      await expect.poll(told).toBe("native asks: run_command: no rule lets it pass by itself");
      await page.getByLabel("Message").press("Escape");
      await conversation(page).getByText("The turn was stopped.").waitFor();
      expect(faults).toEqual([]);
    }));

  test("what is said while a turn runs waits for its own, and can be taken back", () =>
    withTab("sessions", async ({ page, faults }) => {
      await startSession(page, server.workspace);
      await say(page, "count to 120");
      await conversation(page).getByText("1 2 3").waitFor();
      await say(page, "say hello twice");
      await say(page, "what is in this folder");
      const waiting = page.getByRole("list", { name: "Waiting to be said" });
      await waiting.getByText("say hello twice").waitFor();
      await waiting.getByRole("listitem").first().getByRole("button", { name: "Take back" }).click();
      await conversation(page).getByText("There are").waitFor();
      await waiting.waitFor({ state: "detached" });
      expect(await conversation(page).textContent()).not.toContain("say hello twice");
      expect(faults).toEqual([]);
    }));

  test("a turn is stopped", () =>
    withTab("sessions", async ({ page, faults }) => {
      await startSession(page, server.workspace);
      await say(page, "count to 9000");
      await conversation(page).getByText("1 2 3").waitFor();
      await page.getByLabel("Message").press("Escape");
      await conversation(page).getByText("The turn was stopped.").waitFor();
      expect(faults).toEqual([]);
    }));

  test("a server that is killed in the middle of a turn comes back, and the conversation goes on without a gap", () =>
    withTab("sessions", async ({ page }) => {
      await startSession(page, server.workspace);
      await say(page, "count to 1000");
      await conversation(page).getByText(" 20 21").waitFor();
      await server.kill();
      await page.getByText("Reins cannot be reached").waitFor();
      expect(await conversation(page).textContent()).toContain(" 20 21");
      await server.restart();
      await conversation(page).getByText("The turn was cut off").waitFor();
      const said = (await conversation(page).textContent()) ?? "";
      const counted = /1 2 3 [\d\s]+/.exec(said)?.[0].trim().split(/\s+/) ?? [];
      expect(counted.length).toBeGreaterThan(20);
      expect(counted).toEqual(counted.map((_, index) => String(index + 1)));
      await say(page, "what is in this folder");
      await conversation(page).getByText("There are").waitFor();
    }));

  test("an approval outlives a killed server: it is answered afterwards, and counts when the action comes again", () =>
    withTab("sessions", async ({ page }) => {
      await rm(made(), { force: true });
      await startSession(page, server.workspace);
      await say(page, "run `make`");
      const asked = page.getByRole("region", { name: "The agent asks" });
      await asked.waitFor();
      await server.kill();
      await page.getByText("Reins cannot be reached").waitFor();
      await server.restart();
      await conversation(page).getByText("The turn was cut off").waitFor();
      await asked.getByRole("button", { name: "Allow once" }).click();
      await asked.waitFor({ state: "detached" });
      expect(existsSync(made())).toBe(false);
      await say(page, "run `make`");
      await conversation(page).getByText("It went through").waitFor();
      expect(existsSync(made())).toBe(true);
    }));
});
