import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { approvalOperations } from "@reins/api";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { conversation, say, startSession } from "./fixtures/conversation.ts";
import { chromiumPath, launch, openTab } from "./fixtures/inspected-browser.ts";
import { InspectedServer } from "./fixtures/inspected-server.ts";
import { openUnseen, setSeen } from "./fixtures/seen.ts";

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

  test("a new user opens the page, starts the demo, sends a prompt and sees the response", () =>
    withTab("", async ({ page, faults }) => {
      await startSession(page, server.workspace);
      await say(page, "what is in this folder");
      await conversation(page).getByText("There are").waitFor();
      expect(await conversation(page).textContent()).toContain("README.md");
      await conversation(page).getByText("completed").waitFor();
      expect(faults).toEqual([]);
    }));

  test("creates a session once across retries, and does not open it after the dialog was closed", () =>
    withTab("sessions", async ({ page }) => {
      // What can be chosen is known from a session before.
      await startSession(page, server.workspace);
      const asked: string[] = [];
      const beginning = Promise.withResolvers<void>();
      await page.routeWebSocket("**/acp", (socket) => {
        const there = socket.connectToServer();
        socket.onMessage(async (message) => {
          const { id, method } = Object(JSON.parse(String(message)));
          asked.push(String(method));
          const refused = { jsonrpc: "2.0", id, error: { code: -32603, message: "not just now" } };
          const sets = asked.filter((one) => one.startsWith("session/set_"));
          const begins = asked.filter((one) => one === "session/new");
          if (method === "session/new" && begins.length > 1) await beginning.promise;
          if (sets.length === 1 && sets[0] === method) socket.send(JSON.stringify(refused));
          else there.send(message);
        });
      });
      await page.goto(`${server.address}/ui/sessions?start=true`);
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Folder").fill(server.workspace);
      await dialog.getByLabel("Mode", { exact: true }).selectOption("Plan");
      await dialog.getByRole("button", { name: "Start", exact: true }).click();
      await dialog.getByText("not just now").waitFor();
      await dialog.getByRole("button", { name: "Start", exact: true }).click();
      await dialog.waitFor({ state: "detached" });
      await page.getByLabel("Message").waitFor();
      expect(asked.filter((method) => method === "session/new")).toHaveLength(1);

      await page.goto(`${server.address}/ui/sessions?start=true`);
      const before = await page.getByRole("row").count();
      await dialog.getByLabel("Folder").fill(server.workspace);
      await dialog.getByLabel("First message").fill("what is in this folder");
      await dialog.getByRole("button", { name: "Start", exact: true }).click();
      await dialog.getByText("Starting native").waitFor();
      await dialog.getByRole("button", { name: "Cancel" }).click();
      beginning.resolve();
      await expect.poll(() => page.getByRole("row").count()).toBeGreaterThan(before);
      expect(new URL(page.url()).pathname).toBe("/ui/sessions");
      expect(asked).not.toContain("session/prompt");
    }));

  test("shows a blocked action with reason and explanation", () =>
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

  test("runs an allowed action, and its card says that a person was asked", () =>
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

  test("shows the history before a fork above a line, and not what follows in the original", () =>
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
      await conversation(page).getByRole("link", { name: "the original session" }).click();
      await page.waitForURL(parent);
      expect(faults).toEqual([]);
    }));

  test("does not run a denied action, and shows the reason to all clients", () =>
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
      const reason = page.getByLabel("Reason (sent to the agent and recorded)");
      await expect
        .poll(async () => {
          await page.keyboard.press("d");
          return reason.isVisible();
        })
        .toBe(true);
      // A key does not allow while a denial is being written.
      await page.getByRole("heading", { name: "Approvals" }).click();
      await page.keyboard.press("a");
      await reason.fill("not on a Sunday");
      await page.keyboard.press("Enter");
      await page.getByText("No pending approvals").waitFor();
      await page.getByRole("tab", { name: "Answered" }).click();
      await page.getByText("not on a Sunday").waitFor();
      const { approvals } = approvalOperations.listApprovals.answer.parse(
        await server.ask("GET", "/v1/approvals?order=newest&limit=1"),
      );
      await page.goto(`${server.address}/ui/approvals?approval=${approvals[0]?.id}`);
      await page.getByRole("heading", { name: "Request and answer" }).waitFor();
      await page.getByText("not on a Sunday", { exact: true }).waitFor();
      await page.goto(place);
      await conversation(page).getByText("blocked").first().waitFor();
      expect(await conversation(page).textContent()).toContain("not on a Sunday");
      expect(existsSync(made())).toBe(false);
      expect(faults).toEqual([]);
    }));

  test("accepts the first of two answers and notifies the other browser", () =>
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
        await other.getByText("Another user answered first").waitFor();
      }),
    ));

  test("shows a browser notification for an approval if it is enabled", () =>
    withTab("approvals", async ({ page, faults }) => {
      await page.evaluate(`
        window.notices = [];
        window.Notification = class extends EventTarget {
          static permission = "granted";
          constructor(title, { body }) { super(); window.notices.push(title + ": " + body); }
          close() {}
        };
      `);
      await page.getByRole("button", { name: "Notifications: off" }).click();
      await page.getByRole("button", { name: "Notifications: on" }).waitFor();
      // It is for this that one tab goes on in the background.
      await setSeen(page, false);
      await startSession(page, server.workspace);
      await say(page, "run `make`");
      await page.getByRole("region", { name: "The agent asks" }).waitFor();
      const notices = () => page.evaluate("window.notices.join()");
      await expect.poll(notices).toBe("native asks: run_command: no rule allows it without asking");
      await page.getByLabel("Message").press("Escape");
      await conversation(page).getByText("The turn was cancelled.").waitFor();
      expect(faults).toEqual([]);
    }));

  test("shows an approval if the browser rejects notifications", () =>
    withTab("approvals", async ({ page, faults }) => {
      await page.evaluate(`
        window.Notification = class {
          static permission = "granted";
          constructor() { throw new TypeError("Illegal constructor"); }
        };
      `);
      await page.getByRole("button", { name: "Notifications: off" }).click();
      await startSession(page, server.workspace);
      await say(page, "run `make`");
      await page.getByRole("navigation").getByRole("status", { name: "1 pending" }).waitFor();
      await page.getByLabel("Message").press("Escape");
      await conversation(page).getByText("The turn was cancelled.").waitFor();
      expect(faults).toEqual([]);
    }));

  test("updates the list of sessions and moves through it by keys", () =>
    withTab("sessions", async ({ page, faults }) =>
      withTab("sessions", async ({ page: other }) => {
        await page.getByRole("table", { name: "Sessions" }).waitFor();
        // From here on the list is not read again.
        await page.route("**/v1/sessions?*", () => undefined);
        await startSession(other, server.workspace);
        await say(other, "count to 9000");
        const row = page.getByRole("row", { name: /running/ });
        await row.waitFor();
        await other.getByLabel("Message").press("Escape");
        await row.waitFor({ state: "detached" });
        await page.getByRole("navigation").getByRole("link", { name: "Sessions" }).click();
        await page.keyboard.press("j");
        await page.keyboard.press("Enter");
        await page.waitForURL(other.url());
        expect(faults).toEqual([]);
      }),
    ));

  test("holds no connections in hidden tabs, so that another tab always opens", () =>
    withTab("approvals", async ({ page, context }) => {
      await page.getByRole("heading", { level: 1, name: "Approvals" }).waitFor();
      // Each would hold two of the six connections that the browser has.
      for (let count = 0; count < 4; count += 1) {
        const one = await openUnseen(context, `${server.address}/ui/sessions`);
        await one.getByRole("table", { name: "Sessions" }).waitFor();
      }
    }));

  test("queues a prompt during a turn, and cancels it", () =>
    withTab("sessions", async ({ page, faults }) => {
      await startSession(page, server.workspace);
      await say(page, "count to 120");
      await conversation(page).getByText("1 2 3").waitFor();
      await say(page, "say hello twice");
      await say(page, "what is in this folder");
      const waiting = page.getByRole("list", { name: "Queued prompts" });
      await waiting.getByText("say hello twice").waitFor();
      await waiting.getByRole("listitem").first().getByRole("button", { name: "Cancel" }).click();
      await conversation(page).getByText("There are").waitFor();
      await waiting.waitFor({ state: "detached" });
      expect(await conversation(page).textContent()).not.toContain("say hello twice");
      expect(faults).toEqual([]);
    }));

  test("cancels a turn", () =>
    withTab("sessions", async ({ page, faults }) => {
      await startSession(page, server.workspace);
      await say(page, "count to 9000");
      await conversation(page).getByText("1 2 3").waitFor();
      await page.getByLabel("Message").press("Escape");
      await conversation(page).getByText("The turn was cancelled.").waitFor();
      expect(faults).toEqual([]);
    }));

  test("continues the conversation without a gap after the server was killed during a turn", () =>
    withTab("sessions", async ({ page }) => {
      await startSession(page, server.workspace);
      await say(page, "count to 1000");
      await conversation(page).getByText(" 20 21").waitFor();
      await server.kill();
      await page.getByText("Reins is unreachable").waitFor();
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

  test("keeps an approval across a killed server, and applies its answer when the action is repeated", () =>
    withTab("sessions", async ({ page }) => {
      await rm(made(), { force: true });
      await startSession(page, server.workspace);
      await say(page, "run `make`");
      const asked = page.getByRole("region", { name: "The agent asks" });
      await asked.waitFor();
      await server.kill();
      await page.getByText("Reins is unreachable").waitFor();
      // A page that was never looked at cannot be had now, and comes with the server.
      await page.getByRole("navigation").getByRole("link", { name: "Policy" }).click();
      await page.getByText("Loading the page").waitFor();
      await server.restart();
      await page.getByRole("heading", { level: 1, name: "Policy" }).waitFor();
      await page.goBack();
      await conversation(page).getByText("The turn was cut off").waitFor();
      await asked.getByRole("button", { name: "Allow once" }).click();
      await asked.waitFor({ state: "detached" });
      expect(existsSync(made())).toBe(false);
      await say(page, "run `make`");
      await conversation(page).getByText("It went through").waitFor();
      expect(existsSync(made())).toBe(true);
    }));
});
