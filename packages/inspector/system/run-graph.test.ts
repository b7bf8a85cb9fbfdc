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

const STATES: readonly (readonly [string, RunGraph, string])[] = [
  ["every status", everyStatus(), "?view=graph"],
  ["list", everyStatus(), "?view=list"],
  ["action", everyStatus(), "?view=graph&action=find"],
  ["decision", { ...everyStatus(), status: "blocked", waits_for: "model" }, "?view=graph&action=south"],
  ["waiting", { ...everyStatus(), status: "waiting", waits_for: "permission" }, "?action=mill"],
  ["large", layeredGraph(120, 10), "?view=graph"],
  ["hostile", hostileGraph(), "?view=graph&action=b"],
  ["empty", aRunGraph([], { status: "completed", plan: true }), ""],
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

  const signIn = async (looking?: Looking): Promise<Tab> => {
    const tab = await openTab(browser, await server.entrance("nowhere"), looking);
    await tab.page.getByRole("heading", { name: "Page not found" }).waitFor();
    return tab;
  };
  const open = async (page: Page, graph: RunGraph, search = ""): Promise<ScriptedRun> => {
    const run = await ScriptedRun.on(page, graph);
    await page.goto(`${server.address}/ui/runs/${graph.run_id}${search}`);
    await page.getByText(`Run ${graph.run_id}`).waitFor();
    await settled(page);
    return run;
  };

  describe.each(LOOKS)("in %s", (look, looking) => {
    let tab: Tab;
    beforeAll(async () => {
      tab = await signIn(looking);
    });
    afterAll(() => tab?.context.close());

    test.each(STATES)("%s has no errors and no accessibility violations", async (name, graph, search) => {
      const { page, faults } = tab;
      faults.length = 0;
      await open(page, graph, search);
      await keepPicture(page, `graph-${name.replaceAll(" ", "-")}-${look}`);
      expect(await barriersIn(page)).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth > window.innerWidth")).toBe(false);
      expect(faults).toEqual([]);
    });
  });

  describe("for a user", () => {
    let tab: Tab;
    let page: Page;
    beforeAll(async () => {
      tab = await signIn();
      page = tab.page;
    });
    afterAll(() => tab?.context.close());
    const node = (id: string) => page.locator(`[data-action="${id}"]`);
    const detail = () => page.getByRole("region", { name: "Chosen action" });

    test("changes while the run goes on, and keeps the chosen action", async () => {
      const run = await open(page, aRunGraph([anAction("a", { status: "running" }), anAction("b")]));
      await node("a").getByText("running").waitFor();
      await node("b").click();
      await detail().getByText("pending").waitFor();
      run.set(
        aRunGraph([anAction("a", { status: "completed" }), anAction("b", { status: "running" })], {
          note: "Half of it is done.",
        }),
      );
      await node("a").getByText("completed").waitFor();
      await detail().getByText("running").waitFor();
      await page.getByText("Half of it is done.").waitFor();
      run.set(
        aRunGraph([anAction("a", { status: "completed" }), anAction("b", { status: "completed" })], {
          status: "completed",
          result_summary: "Seven frogs.",
        }),
      );
      await page.getByText("Seven frogs.").waitFor();
      await page.getByText("2 of 2 actions ended").waitFor();
      expect(await page.getByRole("button", { name: "Cancel" }).count()).toBe(0);
    });

    test("shows verdict, approval, child session and results of an action", async () => {
      const run = await open(page, { ...everyStatus(), status: "waiting", waits_for: "permission" });
      run.texts.set("artifact://run_frogs/find", lines(450));
      await page.getByText("Waits for approval of").getByRole("link", { name: "Ask the miller" }).waitFor();
      await node("find").click();
      const verdict = detail().getByRole("link", { name: "in the ledger, with its proof" });
      expect(await verdict.getAttribute("href")).toBe(`/ui/ledger/${"c".repeat(64)}`);
      await detail().getByText("Found 3 ponds").waitFor();
      await detail().getByText("2.4 s", { exact: true }).waitFor();

      await detail().getByRole("button", { name: "Show the full output" }).click();
      await detail().getByText("Lines 1 to 200 of 450").waitFor();
      await detail().getByRole("button", { name: "Later lines" }).click();
      await detail().getByText("Lines 201 to 400 of 450").waitFor();
      await detail().getByLabel("or find").fill("frog 333");
      await detail().getByRole("button", { name: "Show", exact: true }).click();
      await detail().getByText("Matches within lines 333 to 333 of 450").waitFor();
      await detail().getByRole("button", { name: "Show this artifact" }).click();
      await detail().getByText("nothing is stored as artifact://run_frogs/map").waitFor();

      await node("north").click();
      await detail().getByText("brown ones").waitFor();
      await detail().getByRole("link", { name: "aaaaaaaaaaaaaaaa…" }).waitFor();
      await page.getByText("Declaration", { exact: true }).click();
      await page.getByText("The model called the protocol's tool.").waitFor();
      await page.getByText('"intent": "execute"').waitFor();
    });

    test("cancels the run after a question, and says what happened", async () => {
      const run = await open(page, aRunGraph([anAction("a", { status: "running" }), anAction("b")]));
      run.onControl = () =>
        aRunGraph([anAction("a", { status: "canceled" }), anAction("b", { status: "canceled" })], {
          status: "canceled",
        });
      await page.getByRole("button", { name: "Cancel run" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("1 action is stopped, 1 action does not start.").waitFor();
      await keepPicture(page, "graph-cancel");
      await dialog.getByRole("button", { name: "Cancel run" }).click();
      await page.getByText("The run became canceled; 2 actions became canceled.").waitFor();
      await node("b").getByText("canceled").waitFor();
    });

    test("cancels one action", async () => {
      const run = await open(page, aRunGraph([anAction("a"), anAction("b", { depends_on: ["a"] })]));
      const bodies: unknown[] = [];
      run.onControl = ({ body }) => {
        bodies.push(body);
        return aRunGraph([anAction("a", { status: "canceled" }), anAction("b", { status: "canceled" })]);
      };
      await node("a").click();
      await detail().getByRole("button", { name: "Cancel action" }).click();
      await page.getByRole("dialog").getByText("1 action depends on it.").waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Cancel action" }).click();
      await detail().getByText("The run stayed running; 2 actions became canceled.").waitFor();
      expect(bodies).toEqual([{ actions: ["a"] }]);
    });

    test("decides about a failed action, and shows a refusal in words", async () => {
      const failed = anAction("a", { status: "failed", status_reason: "The pond is frozen." });
      const run = await open(page, aRunGraph([failed], { status: "blocked", waits_for: "model" }));
      const bodies: unknown[] = [];
      run.onControl = ({ body }) => {
        bodies.push(body);
        if (bodies.length === 1) throw new Error("The model decided first.");
        return aRunGraph([anAction("a", { status: "running" })]);
      };
      await page.getByRole("link", { name: "Do a" }).click();
      await detail().getByLabel("Note").fill("use a drill");
      await detail().getByRole("button", { name: "Try again" }).click();
      await detail().getByText("The model decided first.").waitFor();
      await detail().getByRole("button", { name: "Try again" }).click();
      await detail().getByText("The run became running; 1 action became running.").waitFor();
      const decision = { action: "a", decision: "retry", note: "use a drill" };
      expect(bodies).toEqual([decision, decision]);
    });

    test("is usable with the keyboard alone", async () => {
      await open(page, everyStatus());
      await node("find").focus();
      await page.keyboard.press("ArrowRight");
      await expect.poll(() => focused(page)).toBe("south");
      await page.keyboard.press("Enter");
      await detail().getByText("The pond is frozen.").waitFor();
      await expect.poll(() => page.evaluate("document.activeElement.tagName")).toBe("H2");
      await page.keyboard.press("Escape");
      await detail().waitFor({ state: "detached" });
      expect(await focused(page)).toBe("south");
      await page.keyboard.press("j");
      await detail().getByRole("heading", { name: "Find the ponds" }).waitFor();
      await page.keyboard.press("j");
      await detail().getByRole("heading", { name: "Count the frogs of the north pond" }).waitFor();
    });

    test("shows a thousand actions as a list, all of them or by status", async () => {
      const graph = layeredGraph(1_000, 40);
      const run = await open(page, graph);
      await page.getByText("This graph is too large for a picture.").waitFor();
      expect(await page.getByRole("list", { name: "Actions of the run" }).getByRole("button").count()).toBe(
        1_000,
      );
      await page.getByLabel("Status").selectOption("running");
      expect(await page.getByRole("list", { name: "Actions of the run" }).getByRole("button").count()).toBe(
        40,
      );
      await keepPicture(page, "graph-thousand");
      run.set({
        ...graph,
        actions: graph.actions.map((action) =>
          action.id === "a40" ? { ...action, status: "completed" } : action,
        ),
      });
      await expect.poll(() => node("a40").count()).toBe(0);
      await node("a41").click();
      await detail().getByRole("heading", { name: "Action 41 of layer 1" }).waitFor();
    });

    test("runs and loads nothing of hostile texts", async () => {
      const dialogs: string[] = [];
      page.on("dialog", (dialog) => {
        dialogs.push(dialog.message());
        void dialog.dismiss();
      });
      await open(page, hostileGraph(), "?action=b");
      await node("b").getByText("⟨U+202E⟩gnp.exe⟨U+0007⟩").waitFor();
      expect(await page.locator("main img, main script, main [href^='javascript']").count()).toBe(0);
      const text = await page.locator("main").textContent();
      expect(["\u0000", "\u0007", "\u200b", "\u202e"].filter((one) => text?.includes(one))).toEqual([]);
      expect(dialogs).toEqual([]);
    });
  });
});

function lines(total: number): string {
  return Array.from({ length: total }, (_, index) => `frog ${index + 1}`).join("\n");
}

function focused(page: Page): Promise<unknown> {
  return page.evaluate("document.activeElement.dataset.action");
}

/** Settles when nothing is loading any more. */
async function settled(page: Page): Promise<void> {
  await expect.poll(() => page.getByText(/ …$/).and(page.getByRole("status")).count()).toBe(0);
}
