import { approvalOperations, EntryPage, ledgerOperations, type ShownApproval } from "@reins/api";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { keepPicture } from "./fixtures/artefacts.ts";
import { barriersIn } from "./fixtures/axe.ts";
import { conversation, say, startSession } from "./fixtures/conversation.ts";
import { chromiumPath, type Looking, launch, openTab, type Tab } from "./fixtures/inspected-browser.ts";
import { InspectedServer } from "./fixtures/inspected-server.ts";

const found = await chromiumPath();

const LOOKS: readonly (readonly [string, Looking])[] = [
  ["light", { theme: "light" }],
  ["dark", { theme: "dark" }],
  ["phone", { theme: "light", width: 390, height: 844 }],
];

/** Every page: its name, its place, and a word that shows that it is there. */
const PLACES: readonly (readonly [string, (ids: Ids) => string, string])[] = [
  ["overview", () => "", "Overview"],
  ["sessions", () => "sessions", "Sessions"],
  ["conversation", ({ session }) => `sessions/${session}`, "what is in this folder"],
  ["approvals", () => "approvals", "Approvals"],
  ["policy", () => "policy", "Policy"],
  ["ledger", () => "ledger", "Ledger"],
  ["entry", ({ entry }) => `ledger/${entry}`, "Entry"],
  ["agents", () => "agents", "Agents"],
  ["tools", () => "tools", "Tools"],
  ["skills", () => "skills?skill=deploy", "Skills"],
  ["wire", () => "wire", "Wire"],
  ["nowhere", () => "nowhere", "Page not found"],
];

interface Ids {
  readonly session: string;
  readonly entry: string;
}

requirement(
  "Chromium",
  found.path !== undefined,
  found.path === undefined ? found.why : "",
)("every page", () => {
  let server: InspectedServer;
  let browser: Browser;
  let ids: Ids;
  beforeAll(async () => {
    const files = {
      "reins.yaml": "native: { tool_search: { defer: [read_board, post_board] } }\n",
      "skills/deploy/SKILL.md": "---\nname: deploy\ndescription: Ship a release\n---\n# Deploy\n",
    };
    [server, browser] = await Promise.all([InspectedServer.start({ files }), launch(found.path ?? "")]);
    const { page, context } = await openTab(browser, await server.entrance("sessions"));
    ids = await workFor(page, server);
    await context.close();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  describe.each(LOOKS)("in %s", (look, looking) => {
    let tab: Tab;
    beforeAll(async () => {
      tab = await openTab(browser, await server.entrance("nowhere"), looking);
      await tab.page.getByRole("heading", { name: "Page not found" }).waitFor();
    });
    afterAll(() => tab?.context.close());

    test.each(PLACES)("%s has no errors and no accessibility violations", async (name, placeOf, word) => {
      const { page, faults } = tab;
      faults.length = 0;
      await page.goto(`${server.address}/ui/${placeOf(ids)}`);
      await page.getByRole("heading", { level: 1, name: word }).waitFor();
      await settled(page);
      // The list draws the newest messages only, and a page that attached since has pushed the prompts below them.
      if (name === "wire") {
        await page.getByLabel("Method").fill("session/prompt");
        await page.keyboard.press("Enter");
        await page.getByRole("log").getByText("session/prompt").first().waitFor();
      }
      await keepPicture(page, `${name}-${look}`);
      expect(await barriersIn(page)).toEqual([]);
      expect(await isTooWide(page)).toBe(false);
      expect(faults).toEqual([]);
    });

    test("the start dialog has no accessibility violations", async () => {
      const { page } = tab;
      await page.goto(`${server.address}/ui/sessions`);
      await page.getByRole("button", { name: "Start a session" }).click();
      await page.getByLabel("Model").waitFor();
      await keepPicture(page, `start-${look}`);
      expect(await barriersIn(page)).toEqual([]);
      expect(await isTooWide(page)).toBe(false);
    });
  });
});

/** Has the demo do a bit of everything, and leaves a question open. */
async function workFor(page: Page, server: InspectedServer): Promise<Ids> {
  await startSession(page, server.workspace);
  const session = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  await say(page, "what is in this folder");
  await conversation(page).getByText("There are").waitFor();
  await say(page, "write a file notes.txt that says hello");
  await conversation(page).getByText("notes.txt is written").waitFor();
  await say(page, "read .env");
  await conversation(page).getByText("I was not allowed").waitFor();
  await say(page, "run `make`");
  await page.getByRole("region", { name: "The agent asks" }).waitFor();
  const query = "?quality=policy_verdict&limit=1";
  const { entries } = EntryPage.parse(await server.ask("GET", ledgerOperations.listEntries.path + query));
  const asked: { approvals: ShownApproval[] } = approvalOperations.listApprovals.answer.parse(
    await server.ask("GET", "/v1/approvals?state=pending"),
  );
  expect(asked.approvals).toHaveLength(1);
  return { session, entry: entries[0]?.entry.cid ?? "" };
}

/** Settles when nothing is on its way any more that the page says is. */
async function settled(page: Page): Promise<void> {
  await expect.poll(() => page.getByText(/ …$/).and(page.getByRole("status")).count()).toBe(0);
}

/** Whether the page as a whole has to be moved sideways. */
async function isTooWide(page: Page): Promise<boolean> {
  return Boolean(await page.evaluate("document.documentElement.scrollWidth > window.innerWidth"));
}
