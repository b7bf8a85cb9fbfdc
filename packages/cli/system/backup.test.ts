import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";
import { folder } from "./support/reins.ts";

describe("reins backup", () => {
  it("makes copies under load that verify as they are", { timeout: 120_000 }, async () => {
    const home = new OperatedHome();
    const reins = await home.up();
    let isOver = false;
    const load = (async () => {
      for (let n = 0; !isOver; n += 1) await home.ask({ command: `make t${n}`, session: `s${n % 5}` });
    })();
    for (let n = 0; n < 4; n += 1) {
      const file = join(folder, `copy-${n}.db`);
      expect(await home.run("backup", file)).toMatchObject({ code: 0 });
      const verified = await home.run("ledger", "verify", file);
      expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining("VERIFIED")]);
    }
    expect(await home.run("backup", join(folder, "copy-0.db"))).toMatchObject({
      code: expect.not.closeTo(0),
    });
    isOver = true;
    await load;
    await home.stop(reins);
  });
});
