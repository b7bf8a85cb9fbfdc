import { copyFile, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Vault } from "@reins/supervisor";
import { expect, onTestFinished, test } from "vitest";
import { SealedLogins } from "./sealed-logins.ts";

const URLS = ["https://notes.example.com/mcp", "https://other.example.com/mcp"] as const;
const login = { handle: "handle-1", wanted: { scope: "notes" } };

async function newHome() {
  const home = await mkdtemp(join(tmpdir(), "sealed-logins-"));
  onTestFinished(() => rm(home, { recursive: true }));
  const keys = join(home, "keys");
  const logins = async () => new SealedLogins(home, await Vault.open(keys));
  return { home, keys, logins };
}

test("a login is read at its server alone, and its file shows nothing of it", async () => {
  const { home, logins } = await newHome();
  const kept = await logins();
  expect(await kept.read(URLS[0])).toBeUndefined();
  await kept.write(URLS[0], login);
  expect(await kept.read(URLS[0])).toEqual(login);
  const folder = join(home, "mcp-logins");
  const [first = ""] = await readdir(folder);
  expect(await readFile(join(folder, first), "utf8")).not.toContain("handle-1");
  await kept.write(URLS[1], login);
  const [second = ""] = (await readdir(folder)).filter((name) => name !== first);
  await copyFile(join(folder, first), join(folder, second));
  expect(await kept.read(URLS[1])).toBeUndefined();
});

test("a login outlives a new key of the home once it is sealed anew, and no key that is gone", async () => {
  const { keys, logins } = await newHome();
  await (await logins()).write(URLS[0], login);
  await Vault.rotate(keys);
  await (await logins()).renew();
  await (await Vault.open(keys)).forgetFormer();
  expect(await (await logins()).read(URLS[0])).toEqual(login);
  await rm(join(keys, "vault.key"));
  expect(await (await logins()).read(URLS[0])).toBeUndefined();
});
