import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EntryPage } from "@reins/api";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { barriersIn } from "./fixtures/axe.ts";
import { chromiumPath, launch, openTab, type Tab } from "./fixtures/inspected-browser.ts";
import { InspectedServer } from "./fixtures/inspected-server.ts";
import { PromptedAgent } from "./fixtures/prompted-agent.ts";
import { setSeen } from "./fixtures/seen.ts";

const chromium = await chromiumPath();

requirement(
  "Chromium",
  chromium.path !== undefined,
  chromium.path === undefined ? chromium.why : "",
)("the record in the page", () => {
  let browser: Browser;
  let server: InspectedServer;
  let tab: Tab;

  beforeAll(async () => {
    server = await InspectedServer.start();
    browser = await launch(chromium.path!);
    const agent = await PromptedAgent.begin(server);
    await agent.prompt("read README.md");
    await agent.prompt("read .env");
    tab = await openTab(browser, await server.entrance("ledger"));
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  it("shows entries as they are recorded, filtered", async () => {
    const { page } = tab;
    await page.getByText("First look at this ledger").waitFor();
    await page.getByLabel("Verdict").selectOption("blocked");
    // Named in the prompt, it is looked at before the model is asked, and again by the call.
    await page.getByText("read_file: keys, tokens and passwords are not for agents").first().waitFor();
    expect(await page.getByRole("region", { name: "Entries" }).getByRole("listitem").count()).toBe(2);
    expect(page.url()).toContain("tag=blocked");
    await page.getByText("live", { exact: true }).waitFor();
    const agent = await PromptedAgent.begin(server);
    await agent.prompt("read .env");
    await page.getByRole("listitem").nth(3).waitFor();
    await setSeen(page, false);
    await agent.prompt("read .env");
    await setSeen(page, true);
    await page.getByRole("listitem").nth(4).waitFor();
  });

  it("explains a blocked action and verifies its entry", async () => {
    const { page } = tab;
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: /Entry \d+: policy verdict/ }).waitFor();
    await page
      .getByText(/because .*place credentials/)
      .first()
      .waitFor();
    await page.getByText("paths.any place harness did not hold").waitFor();
    await page.getByText("holds", { exact: true }).waitFor();
    const steps = page.getByRole("list", { name: "Steps of the proof" }).getByRole("listitem");
    expect(await steps.allTextContents()).toEqual([
      expect.stringMatching(/holds:\s+The entry matches its content id/),
      expect.stringMatching(/holds:\s+It is in the tree/),
      expect.stringMatching(/holds:\s+The tree is signed/),
      expect.stringMatching(/open:\s+It has no signature of its own/),
      expect.stringMatching(/holds:\s+Its parent precedes it/),
      expect.stringMatching(/holds:\s+It is consistent with this browser's checkpoint/),
    ]);
  });

  it("rejects a forged entry of the server", async () => {
    const { page } = tab;
    await page.route("**/v1/ledger/entries/*/proof", async (route) => {
      const response = await route.fetch();
      const text = await response.text();
      await route.fulfill({ response, body: text.replace('"verdict":"blocked"', '"verdict":"allowed"') });
    });
    await page.getByRole("button", { name: "Prove it" }).click();
    await page.getByText("does not hold", { exact: true }).waitFor();
    const [first] = await page.getByRole("list", { name: "Steps of the proof" }).getByRole("listitem").all();
    expect(await first?.textContent()).toMatch(/fails:\s+The entry matches its content id/);
    await page.unroute("**/v1/ledger/entries/*/proof");
  });

  it("escapes hidden characters in the titles of actions", async () => {
    const { page } = tab;
    await (await PromptedAgent.begin(server)).prompt("run `echo a\u202eb`");
    const query = "?quality=tool_call&limit=1";
    const { entries } = EntryPage.parse(await server.ask("GET", `/v1/ledger${query}`));
    await page.goto(`${server.address}/ui/ledger/${entries[0]?.entry.cid}`);
    await page.locator("header").getByText("echo a⟨U+202E⟩b").first().waitFor();
  });

  it("verifies the whole ledger on the page", async () => {
    const { page } = tab;
    await page.goto(`${server.address}/ui/ledger`);
    await page.getByRole("button", { name: "Verify the ledger" }).click();
    await page.getByText("The ledger holds").waitFor();
    await page.getByText(/it extends the \d+ entries that this browser saw/).waitFor();
  });

  it("backtests a draft constitution, and decides one action by it", async () => {
    const { page } = tab;
    await page.goto(`${server.address}/ui/policy?tab=draft`);
    const editor = page.getByLabel("Draft of constitution.yaml");
    const check = page.getByRole("region", { name: "Check results" });
    await check.getByText("fine", { exact: true }).waitFor();
    const rules = await editor.inputValue();
    const name = "name: credentials_are_out_of_reach";
    const [start, end] = [rules.indexOf(name), rules.indexOf("- name: nothing_is_destroyed")];

    await editor.fill(rules.replace(name, "nmae: credentials_are_out_of_reach"));
    await check.getByText("would be rejected").waitFor();
    await check
      .getByText(`line ${rules.slice(0, start).split("\n").length}:`)
      .first()
      .waitFor();

    const rule = rules.slice(start, end).replace("verdict: blocked", "verdict: ask");
    const test = /expect: blocked(?=,\s*\}\s*- \{\s*name: a search)/;
    await editor.fill((rules.slice(0, start) + rule + rules.slice(end)).replace(test, "expect: ask"));
    await check.getByText("fine", { exact: true }).waitFor();
    await check.getByText("looser, or not provably stricter").waitFor();
    await page.getByRole("button", { name: "Backtest" }).click();
    await page.getByText("5 looser").waitFor();
    const change = page.getByRole("table", { name: "What the draft would have changed" });
    expect(await change.getByRole("row").nth(1).textContent()).toMatch(/looserblocked.*ask.*read_file/);

    await change.getByRole("link").first().click();
    await page.getByRole("button", { name: "What would my draft have done?" }).click();
    await page.getByText("instead of blocked, by credentials_are_out_of_reach").waitFor();
    expect(tab.faults).toEqual([]);
  });

  it("explains a hypothetical action", async () => {
    const { page } = tab;
    await page.goto(`${server.address}/ui/policy?tab=explain`);
    await page.getByLabel("Tool").fill("run_command");
    await page.getByLabel("Arguments, as JSON").fill('{ "command": "rm -rf /etc" }');
    await page.getByRole("button", { name: "What would be decided?" }).click();
    await page.getByText("it would destroy something outside of the workspace").waitFor();
  });

  it("applies a looser constitution only after an admin accepted it", async () => {
    const { page } = tab;
    const path = join(server.home, "constitution.yaml");
    const rules = await readFile(path, "utf8");
    await writeFile(
      path,
      rules.replace("condition: {}\n    verdict: ask", "condition: {}\n    verdict: allowed"),
    );
    await page.getByRole("button", { name: "Reload" }).click();
    const bar = page.getByRole("alert").filter({ hasText: "is invalid" });
    await bar.getByText("a download").waitFor();

    // Without the tests of the old rules, which the looser ones would fail.
    const looser = rules.replace("condition: {}\n    verdict: ask", "condition: {}\n    verdict: allowed");
    await writeFile(path, looser.slice(0, looser.indexOf("\ntests:") + 1));
    await page.getByRole("button", { name: "Reload" }).click();
    const waiting = page.getByRole("region", { name: "Pending policy" });
    await waiting.getByRole("button", { name: "Review" }).click();
    const dialog = page.getByRole("dialog", { name: "Pending constitution" });
    await dialog.getByText("everything_else_is_asked_about").waitFor();
    await dialog.getByRole("button", { name: "Accept" }).click();
    await waiting.waitFor({ state: "detached" });
    await page.getByRole("tab", { name: "Constitution" }).click();
    const rule = page.getByRole("row", { name: /everything_else_is_asked_about/ });
    expect(await rule.textContent()).toContain("allowed");
  });

  it("has no accessibility violations in any tab of the policy", async () => {
    const { page } = tab;
    for (const side of await page.getByRole("tab").all()) {
      await side.click();
      await expect.poll(() => page.getByText(/ …$/).count()).toBe(0);
      expect(await barriersIn(page)).toEqual([]);
    }
    expect(tab.faults).toEqual([]);
  });

  it("warns on every page if the history differs from the kept checkpoint", async () => {
    const { page } = tab;
    const copy = `${server.home}-of-then`;
    await server.kill();
    await cp(server.home, copy, { recursive: true, filter: (path) => !path.endsWith(".sock") });
    await server.restart();
    await (await PromptedAgent.begin(server)).prompt("read README.md");
    const before = await sizeOf(server);
    await page.goto("about:blank");
    await page.goto(await server.entrance("ledger"));
    await page.getByText(`${before} entries that begin with`).waitFor();

    // Restores an old copy, deletes the machine's own checkpoint, and lets the ledger grow beyond its former size.
    await server.kill();
    await rm(server.home, { recursive: true });
    await cp(copy, server.home, { recursive: true });
    await rm(join(server.home, "..", ".local"), { recursive: true, force: true });
    await server.restart();
    const other = await PromptedAgent.begin(server);
    while ((await sizeOf(server)) <= before) await other.prompt("read .env");

    await page.goto(await server.entrance("policy"));
    const alert = page
      .getByRole("alert")
      .filter({ hasText: "differs from the one that this browser verified before" });
    await alert.waitFor();
    expect(await alert.textContent()).toContain("are not shown to start with");
    await page.goto(`${server.address}/ui/ledger`);
    await alert.waitFor();

    await alert.getByRole("button", { name: "What now?" }).click();
    await page.getByRole("dialog").getByText(`This browser saw`).waitFor();
    await page.getByRole("button", { name: "Forget and start over" }).click();
    await alert.waitFor({ state: "detached" });
  });
});

/** How many entries the ledger has. */
async function sizeOf(server: InspectedServer): Promise<number> {
  const page = EntryPage.parse(await server.ask("GET", "/v1/ledger?limit=1"));
  return (page.entries[0]?.seq ?? -1) + 1;
}
