import { cp, mkdir, open, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";
import type { Reins } from "./support/reins.ts";

/** A home after kill -9, with an older copy of it: what was decided in between is acknowledged. */
async function killedHome() {
  const home = new OperatedHome();
  await home.stop(await home.up());
  const older = `${home.path}-older`;
  await cp(home.path, older, { recursive: true });
  const reins = await home.up();
  for (let turn = 0; turn < 3; turn += 1) await home.ask({ command: `make t${turn}` });
  // By the last of them the first checkpoint is kept outside of the home.
  await new Promise((resolve) => setTimeout(resolve, 500));
  await reins.kill();
  return { home, older };
}

async function healthOf(reins: Reins): Promise<unknown> {
  const response = await fetch(`${reins.addressOf("http").replace(/\/ahp$/, "")}/v1/health`);
  return Object(await response.json()).status;
}

async function flip(path: string, place: number): Promise<void> {
  const file = await open(path, "r+");
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, place);
  await file.write(Buffer.of((byte[0] ?? 0) ^ 4), 0, 1, place);
  await file.close();
}

describe("a home from which something is missing after kill -9", () => {
  it.each<[string, (path: string, older: string) => Promise<void>]>([
    ["the log of its database was removed", (path) => rm(join(path, "reins.db-wal"))],
    [
      "an older copy of its database was put back",
      async (path, older) => {
        for (const name of ["reins.db-wal", "reins.db-shm"]) await rm(join(path, name), { force: true });
        await cp(join(older, "reins.db"), join(path, "reins.db"));
      },
    ],
    [
      "it was put back as a whole",
      async (path, older) => {
        await rm(path, { recursive: true });
        await mkdir(path, { mode: 0o700 });
        await cp(older, path, { recursive: true });
      },
    ],
    [
      "a bit of the log of its database was flipped",
      async (path) => {
        const { size } = await stat(join(path, "reins.db-wal"));
        await flip(join(path, "reins.db-wal"), size >> 1);
      },
    ],
    ["a bit of its database was flipped", (path) => flip(join(path, "reins.db"), 4_096 * 9 + 4_000)],
  ])(
    "is named, decides nothing, and goes on only when told to: %s",
    { timeout: 120_000 },
    async (how, damage) => {
      const { home, older } = await killedHome();
      await damage(home.path, older);
      const reins = home.start("up", "--port", "0", "--workspace", home.workspace);
      await reins.printed("damaged or was rolled back");
      await expect.poll(() => healthOf(reins)).toBe("failed");
      await expect(home.ask()).rejects.toThrow();
      await home.stop(reins);
      const { findings } = JSON.parse((await home.run("doctor", "--json")).stdout);
      const database = findings.find(({ check, state }: { check: string; state: string }) => {
        return check === "database" && state === "wrong";
      });
      if (how !== "it was put back as a whole") expect(database?.mend).toContain("--accept-loss");
      const accepted = home.start("up", "--port", "0", "--workspace", home.workspace, "--accept-loss");
      await accepted.printed("rules are in force");
      await expect.poll(() => healthOf(accepted)).toBe("ok");
      await home.ask({ command: "make more" });
      await home.stop(accepted);
      const lines = (await home.done("ledger", "log", "--json", "--tag", "server")).trim().split("\n");
      expect(lines.map((line) => JSON.parse(line).entry.payload.event)).toContain("loss");
    },
  );
});
