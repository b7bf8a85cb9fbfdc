import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RunGraph } from "@reins/api";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { keepPicture } from "./fixtures/artefacts.ts";
import { barriersIn } from "./fixtures/axe.ts";
import { chromiumPath, launch, openTab } from "./fixtures/inspected-browser.ts";
import { InspectedServer } from "./fixtures/inspected-server.ts";

const found = await chromiumPath();

const tool = (id: string, target: string, input: object, more: object = {}) => ({
  type: "action",
  id,
  executor: { type: "tool", target },
  input,
  ...more,
});

/** Reads a file, asks a person about a command, and writes what came out. */
const DECLARATION = {
  type: "agent.protocol",
  version: "1",
  intent: "execute",
  title: "Build the pond",
  persist: true,
  payload: {
    type: "action_graph",
    actions: [
      tool("read", "read_file", { path: "README.md" }, { title: "Read the introduction" }),
      tool(
        "secret",
        "read_file",
        { path: ".env" },
        { title: "Read the secrets", failure_policy: "continue" },
      ),
      tool("make", "run_command", { command: "make" }, { title: "Build it", depends_on: ["read"] }),
      tool(
        "note",
        "write_file",
        { path: "note.txt", content: { $ref: "action:read.output" } },
        { title: "Write a note", depends_on: ["make"] },
      ),
    ],
  },
};

requirement(
  "Chromium",
  found.path !== undefined,
  found.path === undefined ? found.why : "",
)("a graph that a real server runs", () => {
  let server: InspectedServer;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([InspectedServer.start(), launch(found.path ?? "")]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });
  const node = (page: Page, id: string) => page.locator(`[data-action="${id}"]`);

  const start = async (declaration: object = DECLARATION) => {
    const sections = { "user.visible": "I read, **build** and write a note." };
    const body = { declaration, sections, cwd: server.workspace };
    return RunGraph.parse(await server.ask("POST", "/v1/runs", body)).run_id;
  };

  test("moves on the page from the approval to its end", async () => {
    const { page, context, faults } = await openTab(browser, await server.entrance(`runs/${await start()}`));
    await page.getByRole("heading", { level: 1, name: "Build the pond" }).waitFor();
    await page.getByText("I read, build and write a note.").waitFor();
    await node(page, "make").getByText("waiting").waitFor();
    await node(page, "secret").getByText("blocked").waitFor();
    await keepPicture(page, "graph-live-waiting");
    expect(await barriersIn(page)).toEqual([]);

    await page.getByText("Waits for approval of").getByRole("link", { name: "Build it" }).click();
    await page.getByRole("button", { name: "Allow once" }).click();
    await page.goBack();
    await node(page, "note").getByText("completed").waitFor();
    await node(page, "read").click();
    await page.getByRole("button", { name: "Show the full output" }).click();
    await page.getByText("A small project with frogs in it.").nth(1).waitFor();
    await keepPicture(page, "graph-live-ended");
    await page.getByRole("link", { name: "in the ledger, with its proof" }).click();
    await page.getByRole("heading", { level: 1, name: "policy verdict" }).waitFor();
    expect(faults).toEqual([]);
    await context.close();
  });

  test("is found from its conversation, and continues after a decision about what failed", async () => {
    const actions = [
      tool("read", "read_file", { path: "later.txt" }, { title: "Read what is not there" }),
      tool("again", "read_file", { path: "later.txt" }, { title: "Read it again", depends_on: ["read"] }),
    ];
    const id = await start({
      ...DECLARATION,
      title: "Read later",
      payload: { type: "action_graph", actions },
    });
    const { page, context, faults } = await openTab(browser, await server.entrance());
    await page.getByTitle(`Run ${id}`).click();
    await node(page, "read").getByText("failed").waitFor();
    await node(page, "again").getByText("canceled").waitFor();
    await page.getByRole("definition").getByRole("link").first().click();
    await page.getByText("Graphs of actions").getByRole("link", { name: "Read later" }).click();
    await node(page, "read").click();
    await writeFile(join(server.workspace, "later.txt"), "it is here now");
    await page.getByRole("button", { name: "Try again" }).click();
    await node(page, "again").getByText("completed").waitFor();
    await page.getByText("2 of 2 actions ended").waitFor();
    await keepPicture(page, "graph-live-decided");
    expect(faults).toEqual([]);
    await context.close();
  });

  test("waits for the same approval after the server was killed", async () => {
    const { page, context } = await openTab(browser, await server.entrance(`runs/${await start()}`));
    await node(page, "make").getByText("waiting").waitFor();
    await server.kill();
    await server.restart();
    await page.getByText("Waits for approval of").getByRole("link", { name: "Build it" }).click();
    await page.getByRole("button", { name: "Allow once" }).click();
    await page.goBack();
    await node(page, "note").getByText("completed").waitFor();
    await context.close();
  });

  test("is canceled from the page", async () => {
    const { page, context, faults } = await openTab(browser, await server.entrance(`runs/${await start()}`));
    await node(page, "make").getByText("waiting").waitFor();
    await page.getByRole("button", { name: "Cancel run" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel run" }).click();
    await page.getByText("The run became canceled").waitFor();
    await node(page, "note").getByText("canceled").waitFor();
    expect(faults).toEqual([]);
    await context.close();
  });
});
