import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { keepPicture } from "./fixtures/artefacts.ts";
import { barriersIn } from "./fixtures/axe.ts";
import { chromiumPath, launch, openTab } from "./fixtures/inspected-browser.ts";
import { InspectedServer } from "./fixtures/inspected-server.ts";

const found = await chromiumPath();
const RUN = { run_id: "run-of-frogs", session_id: "pond" };

requirement(
  "Chromium",
  found.path !== undefined,
  found.path === undefined ? found.why : "",
)("runs on the page", () => {
  let server: InspectedServer;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([InspectedServer.start(), launch(found.path ?? "")]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  let second = 0;
  const send = async (event_type: string, payload: object) => {
    second += 1;
    const timestamp = `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;
    const params = {
      event_type,
      session_id: RUN.session_id,
      agent_id: "counter",
      timestamp,
      depth: 0,
      payload,
    };
    await server.ask("POST", "/ahp", { jsonrpc: "2.0", method: "ahp/event", params });
  };
  const note = (contract: string, payload: object) =>
    send(contract, {
      ...RUN,
      updated_at: new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString(),
      ...payload,
    });

  test("links from the overview to a run with transitions, rejected events and agent reports", async () => {
    await note("run_lifecycle", { status: "created", prompt: "count the frogs" });
    await note("run_lifecycle", { status: "executing" });
    await note("task_list", { tasks: [{ id: "a", title: "find the pond", status: "completed" }] });
    await note("run_lifecycle", { status: "created" });
    await send("heartbeat", {});
    await send("error", { error: "the pond is frozen" });
    const { page, context, faults } = await openTab(browser, await server.entrance());
    await page.getByRole("heading", { name: "Agent reports" }).waitFor();
    await page.getByText("the pond is frozen").waitFor();
    await keepPicture(page, "overview-with-runs");
    await page.getByTitle(`Run ${RUN.run_id}`).click();

    const events = page.getByRole("list", { name: "Events of the run" });
    await events.getByText("created → executing").waitFor();
    await events.getByText("added find the pond (completed)").waitFor();
    await events.getByText("rejected").waitFor();
    await events.getByText("executing does not become created").waitFor();
    await page.getByText("the pond is frozen").waitFor();

    await note("verification", {
      status: "failed",
      checks: [{ id: "c", subject: "all frogs", status: "failed" }],
    });
    await events.getByText("all frogs: failed").waitFor();
    await page.getByRole("heading", { name: "Checks" }).waitFor();
    await keepPicture(page, "run");
    expect(await barriersIn(page)).toEqual([]);
    expect(faults).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    await keepPicture(page, "run-phone");
    expect(await page.evaluate("document.documentElement.scrollWidth > window.innerWidth")).toBe(false);
    await context.close();
  });
});
