import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ProgressLine, remoteSource, verifySettings } from "./verify.ts";

const NOTE = "reins/test\n1\nAAAA\n\n— reins/test BBBB\n";

describe("the settings of reins ledger verify", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "reins-verify-"));
    await writeFile(join(folder, "seen.note"), NOTE);
    await writeFile(join(folder, "log.key"), "reins/test+aa+bb\n");
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("are optional", async () => {
    expect(await verifySettings({})).toEqual({ logKey: undefined, seen: undefined, token: undefined });
  });

  it("accept a key and a checkpoint as text or from files", async () => {
    expect(await verifySettings({ key: "k", seen: NOTE })).toMatchObject({ logKey: "k", seen: NOTE });
    const flags = { key: `@${join(folder, "log.key")}`, seen: join(folder, "seen.note") };
    expect(await verifySettings(flags)).toMatchObject({ logKey: "reins/test+aa+bb", seen: NOTE });
  });

  it("name the missing file", async () => {
    await expect(verifySettings({ seen: join(folder, "none") })).rejects.toMatchObject({
      message: expect.stringContaining("--seen"),
      exitCode: 2,
    });
  });
});

it.each([
  ["http://127.0.0.1:18789", "http://127.0.0.1:18789/v1/ledger/export"],
  ["https://reins.example.com/", "https://reins.example.com/v1/ledger/export"],
  ["http://[::1]:18789/ahp", "http://[::1]:18789/v1/ledger/export"],
  ["https://files.example.com/audit.jsonl.gz", "https://files.example.com/audit.jsonl.gz"],
  ["http://127.0.0.1:18789/v1/ledger/export?x=1", "http://127.0.0.1:18789/v1/ledger/export?x=1"],
  ["audit.jsonl", "audit.jsonl"],
  ["http:", "http:"],
])("%s is fetched from %s", (source, fetched) => {
  expect(remoteSource(source)).toBe(fetched);
});

function screen(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, written, write: (text: string) => written.push(text) };
}

describe("progress", () => {
  it("is shown for long work, not too often, and removed", () => {
    const terminal = screen(true);
    let now = 0;
    const line = new ProgressLine(terminal, () => now);
    for (now = 0; now <= 1_150; now += 50) line.update({ entries: now * 10, total: 20_000 });
    expect(terminal.written).toEqual([
      "\r\u001b[Kverified 10,000 of 20,000 entries (50 %)",
      "\r\u001b[Kverified 11,000 of 20,000 entries (55 %)",
    ]);
    line.clear();
    expect(terminal.written.at(-1)).toBe("\r\u001b[K");
  });

  it("is not shown for short work", () => {
    const terminal = screen(true);
    const line = new ProgressLine(terminal, () => 0);
    line.update({ entries: 1, total: undefined });
    line.clear();
    expect(terminal.written).toEqual([]);
  });

  it("is shown on terminals only", () => {
    const file = screen(false);
    let now = 0;
    const line = new ProgressLine(file, () => now);
    now = 10_000;
    line.update({ entries: 1, total: undefined });
    expect(file.written).toEqual([]);
  });
});
