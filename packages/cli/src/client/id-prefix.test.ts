import { describe, expect, it } from "vitest";
import { idByPrefix } from "./id-prefix.ts";

const FORM = { what: "grant", mark: "grt_", length: 12, list: "reins approvals grants" };
const pages = (...found: string[][]) =>
  async function* () {
    for (const ids of found) yield ids.map((id) => ({ id }));
  };

describe("an abbreviated id", () => {
  const known = [pages(["grt_aaaa1111"], ["grt_bbbb1111", "grt_bbbb2222"])];

  it("is completed with or without its common prefix", async () => {
    expect(await idByPrefix("grt_aaaa", FORM, known)).toBe("grt_aaaa1111");
    expect(await idByPrefix("bbbb2", FORM, known)).toBe("grt_bbbb2222");
  });

  it("is searched in order until something is found", async () => {
    const searches = [pages(["grt_aaaa1111"]), pages(["grt_aaaa1111", "grt_aaaa2222", "grt_cccc3333"])];
    expect(await idByPrefix("aaaa", FORM, searches)).toBe("grt_aaaa1111");
    expect(await idByPrefix("cccc", FORM, searches)).toBe("grt_cccc3333");
  });

  it("is not searched when it is complete", async () => {
    expect(await idByPrefix("grt_zzzz9999", FORM, [])).toBe("grt_zzzz9999");
  });

  it("is rejected when it is ambiguous", async () => {
    await expect(idByPrefix("bbbb", FORM, known)).rejects.toMatchObject({
      message: '"bbbb" is the beginning of more than one grant.',
      next: "Give more of the id:\n  grt_bbbb1111\n  grt_bbbb2222",
      exitCode: 2,
    });
    await expect(idByPrefix("bbb", FORM, known)).rejects.toMatchObject({ exitCode: 2 });
  });

  it("is rejected when nothing matches", async () => {
    await expect(idByPrefix("zzzz", FORM, known)).rejects.toMatchObject({
      message: "There is no grant whose id begins with grt_zzzz.",
      next: "To see them: reins approvals grants",
      exitCode: 1,
    });
  });
});
