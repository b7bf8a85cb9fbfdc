import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { verifyConsistency, verifyExport, verifyProof } from "@reins/verify";
import { describe, expect, it } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";
import type { Reins } from "./support/reins.ts";

/** Sends requests over HTTP with the start token, as the page does. */
async function asker(home: OperatedHome, reins: Reins) {
  const { origin } = new URL(reins.addressOf("http"));
  const token = await home.startToken();
  return (path: string, init: RequestInit = {}) =>
    fetch(origin + path, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } });
}

describe("what the API gives of the ledger", () => {
  it("proves itself to a verifier that shares no code with it, and the page is served beside it", async () => {
    const home = new OperatedHome();
    const reins = await home.up();
    const ask = await asker(home, reins);
    const json = async (path: string) => Object(await (await ask(path)).json());
    const first = await json("/v1/ledger/checkpoint");
    await home.decide({ tool: "Bash", command: "ls" });
    const { entries } = await json("/v1/ledger?order=oldest&limit=500");
    for (const { entry } of entries) {
      const proof = await (await ask(`/v1/ledger/entries/${entry.cid}/proof`)).text();
      expect(await verifyProof(proof, { logKey: first.log_key })).toMatchObject({ ok: true, pinned: true });
    }
    const { later, hashes, to } = await json(`/v1/ledger/consistency?from=${first.size}`);
    expect(to).toBeGreaterThan(first.size);
    const claim = { logKey: first.log_key, earlier: first.note, later, hashes };
    expect(await verifyConsistency(claim)).toEqual({ ok: true, faults: [] });
    const { body } = await ask("/v1/ledger/export");
    const seen = { logKey: first.log_key, seen: first.note };
    expect(await verifyExport(body!, seen)).toMatchObject({ ok: true, seen: { holds: true } });
    const address = ["ledger", "verify", reins.addressOf("http"), "--token", await home.startToken()];
    expect(await home.done(...address)).toContain("VERIFIED: everything holds");
    const page = await ask("/ui/sessions/1");
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'self'");
    await home.stop(reins);
  });

  it("verifies with a number that JavaScript cannot hold, to the digit", async () => {
    const home = new OperatedHome();
    const rule = "{ name: pay, condition: { arguments: { account: '*3' } }, verdict: allowed }";
    await mkdir(home.path, { mode: 0o700 });
    await writeFile(join(home.path, "constitution.yaml"), `tool_rules: [${rule}]\n`);
    const reins = await home.up();
    const ask = await asker(home, reins);
    const account = JSON.rawJSON("9007199254740993");
    expect(await home.decide({ tool: "pay", arguments: { account } })).toMatchObject({ decision: "allow" });
    const text = await (await ask("/v1/ledger/export")).text();
    const recorded = '"account":{"$number":"9007199254740993"}';
    expect(text).toContain(recorded);
    expect(await verifyExport(new Blob([text]).stream())).toMatchObject({ ok: true });
    const changed = text.replace(recorded, recorded.replace("993", "992"));
    expect(await verifyExport(new Blob([changed]).stream())).toMatchObject({ ok: false });
    await home.stop(reins);
  });
});
