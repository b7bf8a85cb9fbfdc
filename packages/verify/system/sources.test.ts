import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { verify } from "../src/node/verify.ts";
import { LedgerMaker, textOf } from "../test/ledger-maker.ts";
import { proofOf } from "../test/proof-maker.ts";
import { faultsOf } from "../test/read.ts";
import { makeSample } from "../test/sample.ts";
import { withEntry } from "../test/tamper.ts";

const { ledger, seen } = makeSample();
const trust = { logKey: ledger.logKey, seen };
const text = textOf(ledger.lines());

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reins-verify-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

describe("a file", () => {
  it("is verified, compressed or not, export or proof", async () => {
    expect(await verify(await file("export.jsonl", text), trust)).toMatchObject({ ok: true, entries: 19 });
    expect(await verify(await file("export.jsonl.gz", gzipSync(text)), trust)).toMatchObject({
      ok: true,
      entries: 19,
    });
    const proof = JSON.stringify(proofOf(ledger, 5, 1));
    expect(await verify(await file("proof.json", proof), { logKey: ledger.logKey })).toMatchObject({
      ok: true,
      entries: 2,
    });
  });

  it("with thousands of signatures is verified on threads, and the bad one is named", async () => {
    const long = new LedgerMaker();
    for (let count = 0; count < 1_500; count += 1) long.append({ quality: "turn", entity: "session:one" });
    long.checkpoint();
    const good = await file("long.jsonl", textOf(long.lines()));
    expect(await verify(good)).toMatchObject({ ok: true, signatures: 1_501 });
    const changed = withEntry(long.lines(), 1_400, ({ proof, ...entry }) => {
      const signature = Buffer.alloc(64, 1).toString("base64");
      return { ...entry, proof: { ...proof, signature } };
    });
    const report = await verify(await file("bad.jsonl", textOf(changed)));
    expect(faultsOf(report)).toEqual(["cid_mismatch@1400", "signature_invalid@1400"]);
    expect(report.signatures).toBe(1_500);
  });
});

describe("a URL", () => {
  let server: Server;
  let address: string;

  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.headers.authorization !== "Bearer secret") {
        response.writeHead(401).end();
        return;
      }
      if (request.url === "/busy") response.writeHead(503).end();
      else if (request.url === "/export.gz") response.end(gzipSync(text));
      else if (request.url === "/broken") {
        response.write(text.slice(0, 5_000));
        setTimeout(() => response.destroy(), 50);
      } else if (request.url === "/export") response.end(text);
      else response.writeHead(404).end();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const bound = server.address();
    address = `http://127.0.0.1:${typeof bound === "object" ? bound?.port : bound}`;
  });
  afterAll(() => void server.close());

  it("is verified as it arrives", async () => {
    expect(await verify(`${address}/export`, { ...trust, token: "secret" })).toMatchObject({
      ok: true,
      entries: 19,
    });
    expect(await verify(`${address}/export.gz`, { ...trust, token: "secret" })).toMatchObject({ ok: true });
  });

  it("that breaks off is a fault", async () => {
    const report = await verify(`${address}/broken`, { ...trust, token: "secret" });
    expect(report.faults.map(({ code }) => code)).toContain("stream_broken");
    expect(report.entries).toBeGreaterThan(0);
  });

  it.each([
    ["without a token", "/export", undefined, "refused", false],
    ["that leads nowhere", "/nowhere", "secret", "refused", false],
    ["that is busy", "/busy", "secret", "refused", true],
  ])("%s is an error that says whether to try again", async (_, path, token, code, retryable) => {
    await expect(verify(address + path, { token })).rejects.toMatchObject({ code, retryable });
  });

  it("without a server is an error that says to try again", async () => {
    await expect(verify("http://127.0.0.1:1/export")).rejects.toMatchObject({
      code: "unreachable",
      retryable: true,
    });
  });
});
