import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { acquireLock } from "./lock.mjs";

describe("acquireLock", () => {
  let folder = "";
  let path = "";
  const unexpectedWait = () => expect.unreachable("no other process holds the lock");
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "reins-lock-"));
    path = join(folder, "deep", "install.lock");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("lets one in at a time and tells the others whom they wait for", async () => {
    const release = await acquireLock(path, unexpectedWait);
    const waitedFor: string[] = [];
    let entered = false;
    const second = acquireLock(path, (holder) => waitedFor.push(holder)).then((releaseSecond) => {
      entered = true;
      return releaseSecond;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(entered).toBe(false);
    release();
    (await second)();
    expect(waitedFor).toEqual([String(process.pid)]);
    expect(existsSync(path)).toBe(false);
  });

  it("takes over from a process that died", async () => {
    const child = spawn(process.execPath, ["--eval", ""]);
    await once(child, "exit");
    (await acquireLock(path, unexpectedWait))();
    writeFileSync(path, String(child.pid));
    (await acquireLock(path, unexpectedWait))();
    expect(existsSync(path)).toBe(false);
  });

  it("waits for a holder that slept with the machine and beats again, and leaves it its lock", async () => {
    (await acquireLock(path, unexpectedWait, 20))();
    writeFileSync(path, String(process.pid));
    utimesSync(path, 0, 0);
    const waitedFor: string[] = [];
    const second = acquireLock(path, (holder) => waitedFor.push(holder), 20);
    const now = new Date();
    utimesSync(path, now, now);
    await expect.poll(() => waitedFor).toEqual([String(process.pid)]);
    rmSync(path);
    (await second)();
  });

  it("lets go of no lock but its own", async () => {
    const release = await acquireLock(path, unexpectedWait);
    writeFileSync(path, "1");
    release();
    expect(existsSync(path)).toBe(true);
  });

  it("takes over when the heartbeat stopped long ago, even if the process id is in use again", async () => {
    (await acquireLock(path, unexpectedWait))();
    writeFileSync(path, String(process.pid));
    utimesSync(path, 0, 0);
    (await acquireLock(path, unexpectedWait, 20))();
    expect(existsSync(path)).toBe(false);
  });
});
