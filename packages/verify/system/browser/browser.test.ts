import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { requirement } from "../../../../scripts/test/requirement.ts";
import type { Report } from "../../src/index.ts";
import { LedgerMaker, textOf } from "../../test/ledger-maker.ts";
import { proofOf } from "../../test/proof-maker.ts";
import { faultsOf } from "../../test/read.ts";
import { makeSample } from "../../test/sample.ts";
import { withEntry } from "../../test/tamper.ts";
import { launchChromium } from "./launch.ts";
import { type Site, serveVerifier } from "./site.ts";

const launched = await launchChromium();
const { browser } = launched;
const why = browser === undefined ? launched.why : "";
if (browser === undefined) console.error(`THE VERIFIER IS NOT TESTED IN A BROWSER: ${why}`);

/** Starts a worker, waits until it has its code, and has it verify one file. */
const IN_WORKER = `new Promise((resolve, reject) => {
  const worker = new Worker("/worker.js", { type: "module" });
  worker.onerror = (event) => reject(new Error(event.message));
  worker.onmessage = ({ data }) => {
    if (data === "ready") return worker.postMessage(GIVEN);
    worker.terminate();
    resolve(data);
  };
})`;

requirement(
  "Chromium",
  browser !== undefined,
  why,
)("in Chromium", () => {
  const { ledger, seen } = makeSample();
  const lines = ledger.lines();
  const trust = { logKey: ledger.logKey, seen };
  let site: Site;
  let page: Page;
  const said: string[] = [];

  beforeAll(async () => {
    site = await serveVerifier();
    page = await browser!.newPage();
    page.on("console", (message) => void said.push(message.text()));
    page.on("pageerror", (error) => void said.push(error.message));
    await page.goto(site.address);
  });
  afterAll(async () => {
    await browser?.close();
    site.close();
  });

  describe.each([
    ["a page", "verifyBase64(...GIVEN)"],
    ["a worker", IN_WORKER],
  ])("in %s", (where, expression) => {
    async function verify(content: string | Uint8Array, options: object = trust): Promise<Report> {
      const given = JSON.stringify([Buffer.from(content).toString("base64"), options]);
      const { report, text } = JSON.parse(await page.evaluate<string>(expression.replace("GIVEN", given)));
      expect(text).toMatch(report.ok ? /\nVERIFIED: / : /\nNOT VERIFIED: /);
      return report;
    }

    it("an export verifies, compressed or not", async () => {
      const expected = { ok: true, entries: 19, signatures: 11, checkpoints: 4, faults: [] };
      expect(await verify(textOf(lines))).toMatchObject(expected);
      expect(await verify(gzipSync(textOf(lines)))).toMatchObject(expected);
    });

    it("a changed export does not, and the entry is named", async () => {
      const changed = withEntry(lines, 9, (entry) => ({ ...entry, payload: { decision: "deny" } }));
      expect(faultsOf(await verify(textOf(changed)))).toEqual(["cid_mismatch@9", "signature_invalid@9"]);
      const cut = gzipSync(textOf(lines)).subarray(0, -10);
      expect(faultsOf(await verify(cut))).toContain("gzip_invalid");
    });

    it("a proof file verifies with no ledger at hand", async () => {
      const file = JSON.stringify(proofOf(ledger, 5, 1));
      expect(await verify(file, { logKey: ledger.logKey })).toMatchObject({
        ok: true,
        entries: 2,
        signatures: 1,
      });
    });

    it("large entries and artifacts need nothing that our Content-Security-Policy forbids", async () => {
      const large = new LedgerMaker();
      const content = large.keepPrivate("y".repeat(300_000));
      large.append({ quality: "tool_result", payload: ["x".repeat(200_000), content] });
      large.checkpoint();
      // On a page, and only there, blake3-jit tries once to compile WebAssembly, is refused, and does without.
      if (where === "a page") expect(said.splice(0)).toMatchObject([expect.stringContaining("WASM SIMD")]);
      expect(await verify(textOf(large.lines()), {})).toMatchObject({ ok: true, entries: 2, withheld: 0 });
      expect(said).toEqual([]);
    });
  });
});
