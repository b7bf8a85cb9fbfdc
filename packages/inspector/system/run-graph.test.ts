import type { RunGraph } from "@reins/api";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { anAction, aRunGraph, everyStatus, hostileGraph, layeredGraph } from "../test/run-graphs.ts";
import { keepPicture } from "./fixtures/artefacts.ts";
import { barriersIn } from "./fixtures/axe.ts";
import { chromiumPath, type Looking, launch, openTab, type Tab } from "./fixtures/inspected-browser.ts";
import { InspectedServer } from "./fixtures/inspected-server.ts";
import { ScriptedRun } from "./fixtures/scripted-runs.ts";

const found = await chromiumPath();

const LOOKS: readonly (readonly [string, Looking])[] = [
  ["light", { theme: "light" }],
  ["dark", { theme: "dark", width: 1600, height: 1000 }],
  ["phone", { theme: "light", width: 390, height: 844 }],
];

requirement(
  "Chromium",
  found.path !== undefined,
  found.path === undefined ? found.why : "",
)("the graph of a run", () => {
  let server: InspectedServer;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([InspectedServer.start(), launch(found.path ?? "")]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  interface Opened extends Tab {
    readonly run: ScriptedRun;
  }
  const open = async (graph: RunGraph, looking: Looking = {}, search = ""): Promise<Opened> => {
    const tab = await openTab(browser, await server.entrance("nowhere"), looking);
    await tab.page.getByRole("heading", { name: "Page not found" }).waitFor();
    const run = await ScriptedRun.on(tab.page, graph);
    await tab.page.goto(`${server.address}/ui/runs/${graph.run_id}${search}`);
    return { ...tab, run };
  };

  describe.each(LOOKS)("in %s", (look, looking) => {
    test.each<readonly [string, RunGraph, string]>([
      ["running", everyStatus(), "?view=graph"],
      ["list", everyStatus(), "?view=list"],
      ["action", everyStatus(), "?view=graph&action=find"],
      [
        "failed-action",
        { ...everyStatus(), status: "blocked", waits_for: "model" },
        "?view=graph&action=south",
      ],
      ["waiting", { ...everyStatus(), status: "waiting", waits_for: "permission" }, ""],
      ["large", layeredGraph(120, 10), "?view=graph"],
      ["hostile", hostileGraph(), "?view=graph&action=b"],
      ["empty", aRunGraph([], { status: "completed", plan: true }), ""],
    ])("%s has no errors and no accessibility violations", async (name, graph, search) => {
      const { page, context, faults } = await open(graph, looking, search);
      await page.getByText(`Run ${graph.run_id}`).waitFor();
      await drawn(page);
      await keepPicture(page, `graph-${name}-${look}`);
      expect(await barriersIn(page)).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth > window.innerWidth")).toBe(false);
      expect(faults).toEqual([]);
      await context.close();
    });
  });

  test("placeholder", () => {
    expect(anAction("a").id).toBe("a");
  });
});

/** Settles when nothing is loading any more. */
async function drawn(page: Page): Promise<void> {
  await expect.poll(() => page.getByText(/ …$/).and(page.getByRole("status")).count()).toBe(0);
  await page.waitForTimeout(400);
}
