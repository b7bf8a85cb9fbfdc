import type { Browser, Page } from "playwright-core";
import { z } from "zod";
import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { conversation, say, startSession } from "../system/fixtures/conversation.ts";
import { chromiumPath, launch, openTab } from "../system/fixtures/inspected-browser.ts";
import { InspectedServer } from "../system/fixtures/inspected-server.ts";
import { TALKATIVE } from "../system/fixtures/talkative-agent.ts";

const UPDATES = 10_000;
const SCROLLING_MS = 4_000;

/** What a user notices: how soon the page is there, how smoothly it scrolls, how soon it shows a change. */
const bench: Bench = {
  name: "page",
  title: "the inspector in a real Chromium, against a real server",
  async run({ scale }): Promise<BenchRow[]> {
    const { path } = await chromiumPath();
    if (path === undefined) throw new Error("there is no Chromium to measure with");
    const server = await InspectedServer.start({ files: TALKATIVE });
    const browser = await launch(path);
    try {
      return [
        ...(await firstLoad(browser, server)),
        ...(await scrolling(browser, server)),
        await approving(browser, server, scale === "full" ? 10 : 3),
      ];
    } finally {
      await browser.close();
      await server.close();
    }
  },
};
export default bench;

const Loaded = z.object({ kilobytes: z.number(), milliseconds: z.number() });

/** How much script comes, and when the page can be used, for a browser that has never seen it. */
async function firstLoad(browser: Browser, server: InspectedServer): Promise<BenchRow[]> {
  const times: z.infer<typeof Loaded>[] = [];
  for (let round = 0; round < 3; round += 1) {
    const { page, context } = await openTab(browser, await server.entrance());
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.getByText("Three things to try").waitFor();
    times.push(
      Loaded.parse(
        await page.evaluate(`({
          milliseconds: performance.now(),
          kilobytes: performance.getEntriesByType("resource")
            .filter(({ name }) => name.endsWith(".js"))
            .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0) / 1_000,
        })`),
      ),
    );
    await context.close();
  }
  const { kilobytes, milliseconds } = times.toSorted(
    (one, other) => one.milliseconds - other.milliseconds,
  )[1] ?? {
    kilobytes: Number.NaN,
    milliseconds: Number.NaN,
  };
  return [
    { what: "script of the first load, compressed", value: kilobytes, unit: "KB", ...within(400) },
    { what: "until it can be used", value: milliseconds, unit: "ms", ...within(1_500) },
  ];
}

const Scrolled = z.object({ frames: z.number(), milliseconds: z.number(), slowest: z.number() });

/** How a session of many updates comes in, and how it scrolls. */
async function scrolling(browser: Browser, server: InspectedServer): Promise<BenchRow[]> {
  const { page, context } = await openTab(browser, await server.entrance("sessions"));
  await startSession(page, server.workspace, "talkative");
  await say(page, `Say ${UPDATES} updates`);
  await conversation(page).getByText(`Update ${UPDATES} has`).waitFor();
  await page.reload();
  await conversation(page).getByText(`Update ${UPDATES} has`).waitFor();
  const shown = Number(await page.evaluate("performance.now()"));
  // The page treats scrolling after a wheel event as the user's.
  await conversation(page).hover();
  await page.mouse.wheel(0, -400);
  await page.getByRole("button", { name: "Newest" }).waitFor();
  const { frames, milliseconds, slowest } = Scrolled.parse(await page.evaluate(SCROLL));
  await context.close();
  const rate = (frames / milliseconds) * 1_000;
  return [
    {
      what: `scrolling through ${UPDATES} updates`,
      value: rate,
      unit: "frames/s",
      baseline: { what: "what is wanted", value: 50 },
      bar: { ratio: 1, sense: "at least" },
    },
    { what: "the slowest of 100 frames", value: slowest, unit: "ms" },
    { what: `${UPDATES} updates shown after a reload`, value: shown, unit: "ms" },
  ];
}

/** Scrolls from the end towards the beginning, a bit with every frame. */
const SCROLL = `new Promise((resolve) => {
  const box = document.querySelector("section[aria-label=Conversation]");
  const began = performance.now();
  const frames = [];
  const step = (now) => {
    frames.push(now);
    box.scrollTop -= 90;
    if (now - began < ${SCROLLING_MS}) return requestAnimationFrame(step);
    const lengths = frames.slice(1).map((at, index) => at - frames[index]).sort((one, other) => one - other);
    resolve({
      frames: lengths.length,
      milliseconds: frames.at(-1) - frames[0],
      slowest: lengths[Math.floor(lengths.length * 0.99)],
    });
  };
  requestAnimationFrame(step);
})`;

const Seen = z.object({ at: z.number(), id: z.string() });
const Asked = z.looseObject({ created_at: z.string() });

/** How long after it was asked an approval stands in the inbox of another browser. */
async function approving(browser: Browser, server: InspectedServer, rounds: number): Promise<BenchRow> {
  const asking = await openTab(browser, await server.entrance("sessions"));
  const inbox = await openTab(browser, await server.entrance("approvals"));
  await inbox.page.getByText("No pending approvals").waitFor();
  await startSession(asking.page, server.workspace);
  const waits: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const seen = nextApproval(inbox.page);
    await say(asking.page, "run `make`");
    const { at, id } = Seen.parse(await seen);
    const { created_at } = Asked.parse(await server.ask("GET", `/v1/approvals/${id}`));
    waits.push(at - Date.parse(created_at));
    await inbox.page.getByRole("button", { name: "Allow once" }).click();
    await inbox.page.getByText("No pending approvals").waitFor();
    await asking.page.getByRole("region", { name: "The agent asks" }).waitFor({ state: "detached" });
  }
  await asking.context.close();
  await inbox.context.close();
  const value = waits.toSorted((one, other) => one - other)[Math.floor(waits.length / 2)] ?? Number.NaN;
  return { what: "an approval appears, after it was asked (median)", value, unit: "ms", ...within(100) };
}

/** The next approval that the page draws, and when. */
function nextApproval(page: Page): Promise<unknown> {
  return page.evaluate(`new Promise((resolve) => {
    const look = (_, watcher) => {
      const card = document.querySelector("[data-approval]");
      if (!card) return;
      watcher.disconnect();
      resolve({ at: Date.now(), id: card.dataset.approval });
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true });
  })`);
}

/** Holds a figure to a most. */
function within(value: number): Pick<BenchRow, "baseline" | "bar"> {
  return { baseline: { what: "what is wanted", value }, bar: { ratio: 1, sense: "at most" } };
}
