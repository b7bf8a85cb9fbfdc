import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { keepPicture } from "./fixtures/artefacts.ts";
import { barriersIn } from "./fixtures/axe.ts";
import { conversation, say, startSession } from "./fixtures/conversation.ts";
import { chromiumPath, launch, openTab } from "./fixtures/inspected-browser.ts";
import { InspectedServer } from "./fixtures/inspected-server.ts";
import { TALKATIVE } from "./fixtures/talkative-agent.ts";

const found = await chromiumPath();

requirement(
  "Chromium",
  found.path !== undefined,
  found.path === undefined ? found.why : "",
)("an agent that talks and asks", () => {
  let server: InspectedServer;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([
      InspectedServer.start({ files: TALKATIVE }),
      launch(found.path ?? ""),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  test("shows plan, commands and form, loads nothing and hides nothing", async () => {
    const { page, context, faults } = await openTab(browser, await server.entrance("sessions"));
    await startSession(page, server.workspace, "talkative");
    await say(page, "Ask me");
    const form = page.getByRole("region", { name: "The agent asks" });
    await form.getByText("Tell me about the pond.").waitFor();
    await page.getByText("0 of 2").waitFor();
    await keepPicture(page, "form");
    expect(await barriersIn(page)).toEqual([]);
    await form.getByLabel("Which pond").fill("the deep one");
    await form.getByLabel("How many frogs").fill("7");
    await form.getByRole("button", { name: "Send" }).click();
    await conversation(page).getByText('You accept: {"pond":"the deep one","frogs":7}').waitFor();
    await page.getByText("2 of 2").waitFor();
    await conversation(page).getByText("[picture not loaded: a frog").waitFor();
    await conversation(page).getByText("⟨U+202E⟩back").waitFor();
    await page.getByLabel("Message").fill("/");
    await page.getByRole("option", { name: "compact" }).waitFor();
    expect(await barriersIn(page)).toEqual([]);
    await page.keyboard.press("Tab");
    expect(await page.getByLabel("Message").inputValue()).toBe("/compact ");
    expect(faults).toEqual([]);
    await context.close();
  });

  test("keeps the newest of thousands of updates in view until the user scrolls, and draws few", async () => {
    const { page, context, faults } = await openTab(browser, await server.entrance("sessions"));
    await startSession(page, server.workspace, "talkative");
    await say(page, "Say 3000 updates");
    await conversation(page).getByText("Update 3000 has").waitFor();
    expect(Number(await page.evaluate("document.querySelectorAll('[data-index]').length"))).toBeLessThan(60);
    await conversation(page).hover();
    await page.mouse.wheel(0, -3_000);
    await page.getByRole("button", { name: "Newest" }).click();
    await conversation(page).getByText("Update 3000 has").waitFor();
    await page.reload();
    await conversation(page).getByText("Update 3000 has").waitFor();
    expect(faults).toEqual([]);
    await context.close();
  });

  test("is shared by two browsers", async () => {
    const one = await openTab(browser, await server.entrance("sessions"));
    await startSession(one.page, server.workspace, "talkative");
    await say(one.page, "Say 3 updates");
    await conversation(one.page).getByText("Thought 3").waitFor();
    const place = new URL(one.page.url()).pathname.replace("/ui/", "");
    const other = await openTab(browser, await server.entrance(place));
    await conversation(other.page).getByText("Say 3 updates").waitFor();
    await say(other.page, "Say 12 updates");
    await conversation(one.page).getByText("Update 12").waitFor();
    await conversation(one.page).getByText("Say 12 updates").waitFor();
    await say(other.page, "Ask me");
    await one.page.getByRole("button", { name: "Stop" }).waitFor();
    const form = other.page.getByRole("region", { name: "The agent asks" });
    await form.getByLabel("Which pond").fill("the deep one");
    await form.getByRole("button", { name: "Send" }).click();
    await one.page.getByRole("button", { name: "Stop" }).waitFor({ state: "hidden" });
    expect([...one.faults, ...other.faults]).toEqual([]);
    await one.context.close();
    await other.context.close();
  });

  test("is ended permanently, and the page shows it", async () => {
    const { page, context, faults } = await openTab(browser, await server.entrance("sessions"));
    await startSession(page, server.workspace, "talkative");
    await say(page, "Say 2 updates");
    await conversation(page).getByText("Update 2").waitFor();
    await page.getByRole("button", { name: "End", exact: true }).click();
    await page.getByRole("button", { name: "End session" }).click();
    await page.getByText("This session has ended").waitFor();
    await page.reload();
    await page.getByText("This session has ended").waitFor();
    await conversation(page).getByText("Update 2").waitFor();
    expect(faults).toEqual([]);
    await context.close();
  });
});
