import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { chromiumPath, launch, openTab, type Tab } from "./fixtures/inspected-browser.ts";
import { InspectedServer } from "./fixtures/inspected-server.ts";
import { POND, PondPackage } from "./fixtures/pond-package.ts";
import { PromptedAgent } from "./fixtures/prompted-agent.ts";

const chromium = await chromiumPath();

requirement(
  "Chromium",
  chromium.path !== undefined,
  chromium.path === undefined ? chromium.why : "",
)("agents in the page", () => {
  let browser: Browser;
  let packages: PondPackage;
  let server: InspectedServer;
  let tab: Tab;

  beforeAll(async () => {
    packages = await PondPackage.serve();
    server = await InspectedServer.start({
      files: { "agents.yaml": POND },
      environment: packages.environment,
    });
    browser = await launch(chromium.path!);
    tab = await openTab(browser, await server.entrance());
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    packages?.close();
  });

  it("are absent in a new home, and the overview shows first steps", async () => {
    const { page } = tab;
    await page.getByRole("heading", { name: "Three things to try" }).waitFor();
    await page.getByRole("link", { name: "install another" }).click();
    await page.getByText("No agent is running").waitFor();
  });

  it("are listed in the start dialog, which links to their page", async () => {
    const { page } = tab;
    await page.getByRole("button", { name: /The pond/ }).waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Sessions" }).click();
    await page.getByRole("button", { name: "Start a session" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("option", { name: "The pond (not installed)" }).waitFor({ state: "attached" });
    await dialog.getByRole("link", { name: "agents" }).click();
    await page.getByRole("button", { name: /The pond/ }).waitFor();
  });

  it("shows the progress of an installation", async () => {
    const { page } = tab;
    const download = Promise.withResolvers<void>();
    packages.gate = download.promise;
    await page.getByRole("button", { name: /The pond/ }).click();
    await page.getByText("not verified yet").waitFor();
    await page.getByRole("button", { name: "Install", exact: true }).click();
    await page.getByText("Installing packages: 0 of 1").waitFor();
    download.resolve();
    await page.getByText("Installed 1.0.0").waitFor();
    await page.getByText("versions chosen at install").waitFor();
    await page.getByText("pond 1.0.0").waitFor();
  });

  it("shows process, memory and standard error of a running agent", async () => {
    const { page } = tab;
    await PromptedAgent.begin(server, "pond");
    const row = page.getByRole("row", { name: /^pond/ });
    await row.waitFor();
    expect(await row.textContent()).toMatch(/\d+\.?\d* MB/);
    await row.getByRole("button", { name: "Standard error" }).click();
    await page.getByText("the pond is cold").waitFor();
  });

  it("kills an agent from the page, and its process is gone", async () => {
    const { page } = tab;
    const row = page.getByRole("row", { name: /^pond/ });
    const pid = Number(await row.getByRole("cell").nth(1).textContent());
    expect(isThere(pid)).toBe(true);
    await row.getByRole("button", { name: "Kill" }).click();
    await page.getByRole("dialog", { name: "Kill pond?" }).waitFor();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Reason").fill("it would not leave the pond");
    await dialog.getByRole("button", { name: "Kill", exact: true }).click();
    await dialog.getByText("1 gone").waitFor();
    expect(await dialog.textContent()).toContain(String(pid));
    expect(isThere(pid)).toBe(false);
    await dialog.getByRole("link", { name: "in the ledger" }).click();
    await page.getByRole("heading", { name: /Entry \d+: kill/ }).waitFor();
    await page.getByText("it would not leave the pond").first().waitFor();
    await page.getByText("It is signed by its actor").waitFor();
  });

  it("kills everything only after a confirmation", async () => {
    const { page } = tab;
    await PromptedAgent.begin(server, "pond");
    await page.goto(`${server.address}/ui/agents`);
    await page.getByRole("row", { name: /^pond/ }).waitFor();
    await page.getByRole("button", { name: "Kill everything" }).click();
    await page.getByRole("dialog", { name: "Kill everything?" }).waitFor();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("row", { name: /^pond/ }).waitFor();
    await page.getByRole("button", { name: "Kill everything" }).click();
    await dialog.getByRole("button", { name: "Kill", exact: true }).click();
    await dialog.getByText("1 gone").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByText("No agent is running").waitFor();
  });

  it("appear in the overview", async () => {
    const { page } = tab;
    await page.goto(`${server.address}/ui/`);
    await page.getByRole("heading", { name: "Latency" }).waitFor();
    expect(await page.getByRole("row", { name: /^A verdict/ }).textContent()).toMatch(/[1-9][\d.]* m?s/);
    await page.getByRole("img", { name: "Time to a verdict" }).locator("canvas").waitFor();
  });

  it("receive mail and board posts from the overview", async () => {
    const { page } = tab;
    const mail = page.getByRole("form", { name: "Write to an agent" });
    await mail.getByLabel("To").fill("pond");
    await mail.getByLabel("Message").fill("come back");
    await mail.getByRole("button", { name: "Send" }).click();
    await page.getByText("operator to pond").waitFor();
    await page.getByLabel("Board message").fill("the pond is open");
    await page.getByRole("button", { name: "Post" }).click();
    await page.getByText(/operator.*the pond is open/).waitFor();
    expect(tab.faults).toEqual([]);
  });
});

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
