import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StoreError } from "@reins/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HomeStore } from "../src/commands/up/up.ts";
import { databaseIn } from "../src/home.ts";

let home = "";
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "home-store-"));
});
afterAll(() => rm(home, { recursive: true }));

describe("the store of a home", () => {
  it("touches no file before it is opened, and can be given up", async () => {
    const store = await HomeStore.prepare(home);
    await store.close();
    expect(existsSync(databaseIn(home))).toBe(false);
  });

  it("is opened once for the first caller, and again for the next", async () => {
    const store = await HomeStore.prepare(home);
    store.begin();
    store.begin();
    const first = await store.open();
    expect(existsSync(databaseIn(home))).toBe(true);
    await expect(store.open()).rejects.toThrow(StoreError);
    await first.close();
    const second = await store.open();
    expect(second).not.toBe(first);
    await second.close();
    await store.close();
  });

  it("is tried again after it could not be opened", async () => {
    const holder = await (await HomeStore.prepare(home)).open();
    const store = await HomeStore.prepare(home);
    store.begin();
    await expect(store.open()).rejects.toThrow(StoreError);
    await holder.close();
    store.begin();
    await (await store.open()).close();
    await store.close();
  });

  it("is closed if it is never opened", async () => {
    const store = await HomeStore.prepare(home);
    store.begin();
    await store.close();
    const other = await HomeStore.prepare(home);
    await (await other.open()).close();
    await other.close();
  });
});
