import type { PlacedEntry } from "@reins/ledger";
import { describe, expect, it } from "vitest";
import { findEntry, readCidPrefix } from "./ledger.ts";

const placed = (cid: string) => ({ seq: 0, entry: { cid } }) as PlacedEntry;
const ledgerOf = (...cids: string[]) => ({
  find: async (prefix: string, limit: number) =>
    cids
      .filter((cid) => cid.startsWith(prefix))
      .slice(0, limit)
      .map(placed),
});

describe("an entry by the beginning of its content id", () => {
  it("is found when it is the only one", async () => {
    const found = await findEntry(ledgerOf("abcd1", "ffff2"), "abc");
    expect(found.entry.cid).toBe("abcd1");
  });

  it("is rejected when it is ambiguous", async () => {
    const failed = findEntry(ledgerOf("abcd1", "abcd2"), "abcd");
    await expect(failed).rejects.toMatchObject({
      message: "More than one entry begins with abcd.",
      next: "abcd1\nabcd2\nGive more of it.",
      exitCode: 1,
    });
  });

  it("is reported as missing", async () => {
    await expect(findEntry(ledgerOf(), "abcd")).rejects.toMatchObject({ exitCode: 1 });
  });

  it.each(["abc", "xyz1", "", "a".repeat(65)])("is not %j", (text) => {
    expect(() => readCidPrefix(text)).toThrow("is not a content id");
  });

  it("may be uppercase", () => {
    expect(readCidPrefix("ABCD")).toBe("abcd");
  });
});
