import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { settleVerify } from "./settings.ts";

const NOTE = "reins/test\n1\nAAAA\n\n— reins/test BBBB\n";

describe("the settings of reins ledger verify", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "reins-verify-"));
    await writeFile(join(folder, "seen.note"), NOTE);
    await writeFile(join(folder, "log.key"), "reins/test+aa+bb\n");
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("may all be left out", async () => {
    expect(await settleVerify({})).toEqual({ logKey: undefined, seen: undefined, token: undefined });
  });

  it("take a key and a checkpoint as they are, or from files", async () => {
    expect(await settleVerify({ key: "k", seen: NOTE })).toMatchObject({ logKey: "k", seen: NOTE });
    const flags = { key: `@${join(folder, "log.key")}`, seen: join(folder, "seen.note") };
    expect(await settleVerify(flags)).toMatchObject({ logKey: "reins/test+aa+bb", seen: NOTE });
  });

  it("say which file is missing", async () => {
    await expect(settleVerify({ seen: join(folder, "none") })).rejects.toMatchObject({
      message: expect.stringContaining("--seen"),
      exitCode: 2,
    });
  });
});
