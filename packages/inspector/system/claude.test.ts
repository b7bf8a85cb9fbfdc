import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { registryAnswers } from "../../../scripts/test/registry.ts";
import { requirement } from "../../../scripts/test/requirement.ts";
import { keepPicture } from "./fixtures/artefacts.ts";
import { installClaude, ScriptedModel } from "./fixtures/claude.ts";
import { conversation, say, startSession } from "./fixtures/conversation.ts";
import { chromiumPath, launch, openTab } from "./fixtures/inspected-browser.ts";
import { InspectedServer } from "./fixtures/inspected-server.ts";

const found = await chromiumPath();

const declare = registryAnswers
  ? requirement("Chromium", found.path !== undefined, found.path === undefined ? found.why : "")
  : requirement("a package registry", false, "none answers", false);

declare("Claude in the page", () => {
  let model: ScriptedModel;
  let server: InspectedServer;
  let browser: Browser;
  // The first run fetches Claude from npm.
  beforeAll(installClaude, 600_000);
  beforeAll(async () => {
    model = await ScriptedModel.start([
      { prompt: "GREET", says: "Good **morning** from a script." },
      { prompt: "MAKE", says: "It is made.", runs: "make" },
      { prompt: "AGAIN", says: "It was not to be.", runs: "make again" },
    ]);
    server = await InspectedServer.start({ prepare: (home) => model.giveClaude(home) });
    browser = await launch(found.path ?? "");
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await model?.close();
  });

  test("answers, asks, runs an allowed call and skips a denied one", async () => {
    const { page, faults } = await openTab(browser, await server.entrance("sessions"));
    const made = join(server.workspace, "made.txt");
    await startSession(page, server.workspace, "claude");
    await say(page, "GREET me");
    await conversation(page).getByText("from a script").waitFor();
    expect(await conversation(page).locator("strong").textContent()).toBe("morning");
    await say(page, "MAKE it");
    const asked = page.getByRole("region", { name: "The agent asks" });
    await asked.getByText("$ make").waitFor();
    await keepPicture(page, "claude-asks");
    expect(existsSync(made)).toBe(false);
    await asked.getByRole("button", { name: "Allow once" }).click();
    await conversation(page).getByText("It is made.").waitFor();
    expect(existsSync(made)).toBe(true);
    await conversation(page).getByText("asked, allowed").waitFor();
    await say(page, "AGAIN");
    await asked.getByText("$ make again").waitFor();
    await asked.getByRole("button", { name: "Deny …" }).click();
    await page.getByLabel("Reason (sent to the agent and recorded)").fill("once is enough");
    await page.keyboard.press("Enter");
    await conversation(page).getByText("blocked").first().waitFor();
    await keepPicture(page, "claude-denied");
    expect(faults).toEqual([]);
  });
});
