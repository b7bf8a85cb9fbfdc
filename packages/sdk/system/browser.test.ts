import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import sparticuz from "@sparticuz/chromium";
import { chromium, type Page } from "playwright-core";
import { build, type Rollup } from "vite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import type { StartedServer } from "../src/start.ts";
import { makeRoom, type Room, startIn } from "./fixtures/server.ts";

/** The most that the library may weigh in a browser, compressed, without what is loaded when it is needed. */
const MAX_BYTES = 60_000;

const chunks = await bundle();
const browser = await launch();

async function bundle(): Promise<ReadonlyMap<string, Rollup.OutputChunk>> {
  const built = await build({
    root: fileURLToPath(new URL("..", import.meta.url)),
    configFile: false,
    logLevel: "error",
    build: {
      write: false,
      minify: true,
      target: "es2023",
      // As in the bundle of a page: what the entry and the parts loaded later share stays in the entry.
      rolldownOptions: { preserveEntrySignatures: "allow-extension" },
      lib: { entry: "src/index.ts", formats: ["es"], fileName: "sdk" },
    },
  });
  const outputs = [built].flat().flatMap((one) => ("output" in one ? one.output : []));
  return new Map(outputs.flatMap((one) => (one.type === "chunk" ? [[one.fileName, one] as const] : [])));
}

async function launch() {
  try {
    const executablePath = await sparticuz.executablePath();
    const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
    return { browser: await chromium.launch({ executablePath, args, headless: true }), why: "" };
  } catch (error) {
    return { browser: undefined, why: error instanceof Error ? error.message : String(error) };
  }
}

const entry = [...chunks.values()].find(({ isEntry }) => isEntry)!;

test("the library in a browser imports nothing of Node and nothing that is not in it", () => {
  for (const { imports, dynamicImports, code } of chunks.values()) {
    for (const name of [...imports, ...dynamicImports]) expect([...chunks.keys()]).toContain(name);
    expect(code).not.toMatch(/["']node:/);
  }
});

test("the library is small, and the verifier, agents, files and runs are apart from it", () => {
  const loaded = [entry, ...entry.imports.map((name) => chunks.get(name)!)];
  const bytes = loaded.reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0);
  console.log(`the library: ${bytes} bytes compressed in a browser`);
  expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
  expect(entry.dynamicImports).toHaveLength(4);
});

interface Found {
  readonly types: readonly string[];
  readonly text: string;
  readonly size: number;
  readonly file: string;
}

/** Runs in the page. */
async function useSdk(
  { connect }: typeof import("../src/index.ts"),
  { url, token }: { readonly url: string; readonly token: string },
): Promise<Found> {
  const client = await connect(url, { token, onPermission: () => "deny" });
  const session = await client.sessions.create({ agent: "scripted" });
  const types: string[] = [];
  for await (const event of session.prompt("count 20")) types.push(event.type);
  const { text } = await session.prompt("ask").result();
  const { size } = await client.ledger.checkpoint();
  await client.files.write("from-a-page.txt", new Blob(["of a page"]));
  const file = await (await client.files.read("from-a-page.txt", { start: 5 })).text();
  await client.close();
  return { types, text, size, file };
}

/** Runs in the page: counts until the turn is cut off, then reads what was stored of it. */
async function countUntilCut(
  { connect }: typeof import("../src/index.ts"),
  { url, token }: { readonly url: string; readonly token: string },
  onNumber: (seen: number) => void,
): Promise<{ readonly seen: readonly string[]; readonly stored: readonly string[]; readonly error: string }> {
  const client = await connect(url, { token });
  const session = await client.sessions.create({ agent: "scripted" });
  const numberOf = (text: string) => (/^\d+ $/.test(text) ? [text.trim()] : []);
  const seen: string[] = [];
  let error = "";
  try {
    for await (const event of session.prompt("count 100000"))
      if (event.type === "text") {
        seen.push(...numberOf(event.text));
        onNumber(seen.length);
      }
  } catch (cut) {
    error = cut instanceof Error ? cut.name : String(cut);
  }
  const stored: string[] = [];
  for await (const event of session.history())
    if (event.type === "text") stored.push(...numberOf(event.text));
  await client.close();
  return { seen, stored, error };
}

requirement(
  "Chromium",
  browser.browser !== undefined,
  browser.why,
)("in Chromium", () => {
  let room: Room;
  let reins: StartedServer;
  let page: Page;
  beforeAll(async () => {
    room = await makeRoom();
    reins = await startIn(room);
    page = await browser.browser!.newPage();
    await page.route(`${reins.url}/sdk/*`, (route) => {
      const name = new URL(route.request().url()).pathname.slice("/sdk/".length);
      const body = chunks.get(name)?.code ?? "<!doctype html><title>sdk</title>";
      return route.fulfill({ contentType: chunks.has(name) ? "text/javascript" : "text/html", body });
    });
    await page.goto(`${reins.url}/sdk/index.html`);
    await page.addScriptTag({
      type: "module",
      content: `import * as sdk from "/sdk/${entry.fileName}"; globalThis.sdk = sdk;`,
    });
    await page.waitForFunction("globalThis.sdk !== undefined");
  });
  afterAll(async () => {
    await browser.browser?.close();
    await reins?.close();
    await room?.remove();
  });

  test("a turn runs, a question is answered and the ledger is verified", async () => {
    const { url, token } = reins;
    const found = await page.evaluate<Found>(`(${useSdk})(sdk, ${JSON.stringify({ url, token })})`);
    expect(found.types).toEqual(["prompt", ...Array.from({ length: 20 }, () => "text"), "end"]);
    expect(found.text).toContain("no");
    expect(found.size).toBeGreaterThan(0);
    expect(found.file).toBe("page");
  });

  test("a server that is killed in a streamed turn and started again: no update is lost or repeated", async () => {
    const { url, token, pid } = reins;
    const given = JSON.stringify({ url, token });
    const counting = page.evaluate<Awaited<ReturnType<typeof countUntilCut>>>(
      `(${countUntilCut})(sdk, ${given}, (seen) => { globalThis.seen = seen; })`,
    );
    await expect.poll(() => page.evaluate("globalThis.seen")).toBeGreaterThan(100);
    process.kill(pid, "SIGKILL");
    reins = await startIn(room, { port: Number(new URL(url).port), token });
    const { seen, stored, error } = await counting;
    expect(error).toBe("InterruptedError");
    expect(seen.length).toBeGreaterThan(100);
    expect(seen).toEqual(seen.map((_, index) => `${index + 1}`));
    expect(stored).toEqual(seen);
  });
});
