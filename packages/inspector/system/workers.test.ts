import { call, hold, reply, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { keepPicture } from "./fixtures/artefacts.ts";
import { barriersIn } from "./fixtures/axe.ts";
import { chromiumPath, type Looking, launch, openTab } from "./fixtures/inspected-browser.ts";
import { InspectedServer } from "./fixtures/inspected-server.ts";
import { PromptedAgent } from "./fixtures/prompted-agent.ts";

const found = await chromiumPath();
const RULES = "tool_rules:\n  - { name: all, condition: {}, verdict: allowed }\n";
const LOOKS: readonly (readonly [string, Looking])[] = [
  ["light", { theme: "light" }],
  ["dark", { theme: "dark" }],
  ["phone", { theme: "light", width: 390, height: 844 }],
  ["phone-dark", { theme: "dark", width: 390, height: 844 }],
];
const LONG = `REVIEW every file of the project for frogs that are not tested, ${"and list them by pond ".repeat(12)}`;

requirement(
  "Chromium",
  found.path !== undefined,
  found.path === undefined ? found.why : "",
)("the workers of a session", () => {
  let server: InspectedServer;
  let browser: Browser;
  let model: ScriptedModel;
  const inner = Promise.withResolvers<void>();
  beforeAll(async () => {
    const spawn = (prompt: string, more = {}) => call("spawn_subagent", { prompt, ...more });
    model = await ScriptedModel.listen({
      script: scenes(
        scene(
          "share the work",
          reply(spawn("COUNT the ponds")),
          reply(spawn("ASK another agent", { agent: "gemini" })),
          reply(spawn(LONG)),
          reply(say("All of it is done.")),
        ),
        scene("COUNT", reply(say("There are two ponds."))),
        scene("REVIEW", reply(spawn("PERUSE the introduction")), reply(say("Two files want tests."))),
        scene("PERUSE", reply(say("I read it."), hold(inner.promise))),
        scene("wait for it", reply(spawn("SLEEP over it")), reply(say("Awake."))),
        scene("SLEEP", reply(say("Zzz"), hold(new Promise(() => undefined)))),
      ),
    });
    const { url, key } = model.endpoint;
    const environment = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key, REINS_MODEL: "claude-sonnet-5-5" };
    [server, browser] = await Promise.all([
      InspectedServer.start({ files: { "constitution.yaml": RULES }, environment }),
      launch(found.path ?? ""),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await model?.close();
  });

  const panel = (page: Page) => page.getByRole("group").filter({ hasText: "Workers" }).first();
  const worker = (page: Page, task: string) =>
    page.getByRole("listitem").filter({ hasText: task }).filter({ hasNotText: "share the work" }).last();

  test("are a tree on its page, and change as they work", async () => {
    const agent = await PromptedAgent.begin(server);
    const turn = agent.prompt("share the work");
    const { page, context, faults } = await openTab(
      browser,
      await server.entrance(`sessions/${agent.session}`),
    );
    await worker(page, "PERUSE the introduction").getByText("running").waitFor();
    await panel(page).getByText("2 of 4 running").waitFor();
    await worker(page, "COUNT the ponds").getByText("completed").waitFor();
    await worker(page, "ASK another agent").getByText("failed").waitFor();
    await page
      .getByRole("list", { name: "Workers of subagent" })
      .getByText("PERUSE the introduction")
      .waitFor();
    for (const [name, looking] of LOOKS) {
      const tab = await openTab(browser, await server.entrance(`sessions/${agent.session}`), looking);
      await worker(tab.page, "PERUSE the introduction").getByText("running").waitFor();
      await keepPicture(tab.page, `workers-${name}`);
      expect(await barriersIn(tab.page)).toEqual([]);
      await tab.context.close();
    }
    inner.resolve();
    await panel(page).getByText("4 ended, 1 failed").waitFor();
    await panel(page).getByText("Workers", { exact: true }).click();
    await worker(page, "PERUSE the introduction").getByText("completed").waitFor();
    await turn;
    await page.getByText("All of it is done.").waitFor();
    expect(faults).toEqual([]);
    await context.close();
  });

  test("end as interrupted when the server is killed, once it is back", async () => {
    const agent = await PromptedAgent.begin(server);
    agent.prompt("wait for it").catch(() => undefined);
    const { page, context } = await openTab(browser, await server.entrance(`sessions/${agent.session}`));
    await worker(page, "SLEEP over it").getByText("running").waitFor();
    await server.kill();
    await server.restart();
    await panel(page).getByText("1 ended, 1 failed").waitFor();
    await panel(page).getByText("Workers", { exact: true }).click();
    await worker(page, "SLEEP over it").getByText("failed").waitFor();
    await worker(page, "SLEEP over it").getByText("interrupted").waitFor();
    await keepPicture(page, "workers-interrupted");
    await context.close();
  });
});
