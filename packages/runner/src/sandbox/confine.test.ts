import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, realpath, rename, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { confine, networkReach } from "./confine.ts";
import { folderIdentity } from "./view.ts";

/** A folder of a session below two others, and a folder of others. */
async function lay() {
  const base = await realpath(await mkdtemp(join(tmpdir(), "reins-confine-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const own = join(base, "tenant/up/own");
  for (const folder of ["tenant/up/own", "tenant/home", "tenant/tmp", "others/own", "others/up/own"])
    await mkdir(join(base, folder), { recursive: true });
  const confinement = {
    roots: [own],
    home: join(base, "tenant/home"),
    temporary: join(base, "tenant/tmp"),
    masked: [],
    network: "open",
  } as const;
  return { base, own, confinement };
}

const launch = (cwd: string) => ({
  command: "/bin/sh",
  args: ["-c", "echo started"],
  env: { PATH: "/usr/bin:/bin" },
  cwd,
  label: "it",
});
const SANDBOX = { available: true, path: "/bin/true", version: "0" } as never;

/** What is put in the place of the folder, or of one above it. */
const SWAPS: [string, (base: string) => Promise<void>][] = [
  ["a link to another folder", (base) => swap(base, "tenant/up/own", "others/own")],
  ["a link above it", (base) => swap(base, "tenant/up", "others/up")],
  ["another folder", (base) => replace(base, "tenant/up/own", "others/own")],
  ["another folder above it", (base) => replace(base, "tenant/up", "others/up")],
  ["nothing", (base) => rm(join(base, "tenant/up/own"), { recursive: true })],
];

async function swap(base: string, path: string, target: string): Promise<void> {
  await rename(join(base, path), join(base, `${path}-before`));
  await symlink(join(base, target), join(base, path));
}

async function replace(base: string, path: string, other: string): Promise<void> {
  await rename(join(base, path), join(base, `${path}-before`));
  await rename(join(base, other), join(base, path));
}

/** Runs what would run inside of the sandbox, where its paths mean what they mean here. */
function inside({ args }: { readonly args: readonly string[] }) {
  const [command = "", ...rest] = args.slice(args.indexOf("--") + 1);
  const { status, stdout, stderr } = spawnSync(command, rest, { encoding: "utf8" });
  return { status, stdout, stderr };
}

describe("a folder that is replaced after it was checked", () => {
  test.each(SWAPS)("and before the sandbox is made, is not shown to an agent: %s", async (_, swapped) => {
    const { base, own, confinement } = await lay();
    const identities = { [own]: String(await folderIdentity(own)) };
    await swapped(base);
    const confined = confine(launch(confinement.home), { ...confinement, identities }, { sandbox: SANDBOX });
    await expect(confined).rejects.toMatchObject({ code: expect.stringMatching(/^(replaced|missing)$/) });
  });

  test.each(SWAPS)("and before it is mounted, is left before anything is started: %s", async (_, swapped) => {
    const { base, confinement } = await lay();
    const confined = await confine(launch(confinement.home), confinement, { sandbox: SANDBOX });
    await swapped(base);
    const { status, stdout, stderr } = inside(confined.launch);
    expect({ status, stdout }).toEqual({ status: 126, stdout: "" });
    expect(stderr).toContain("is not the folder that was checked");
  });

  test("differs from the same folder with other files in it", async () => {
    const { own, confinement } = await lay();
    const identities = { [own]: String(await folderIdentity(own)) };
    await mkdir(join(own, "new"));
    const given = { ...confinement, identities };
    const confined = await confine(launch(confinement.home), given, { sandbox: SANDBOX });
    expect(inside(confined.launch)).toEqual({ status: 0, stdout: "started\n", stderr: "" });
  });
});

test("variables get their names inside alone, whatever they hold, and none takes the place of the mark", async () => {
  const { confinement } = await lay();
  const values = {
    LD_PRELOAD: "",
    BASH_ENV: "/evil",
    IFS: "a",
    A_1: "$(touch /x) `x` 'y' \"z\"\n;",
    PS4: "$(x)",
  };
  const env = {
    ...{ ...values, PATH: "/usr/bin:/bin", REINS_PROCESS: "another", UID: "0", SHELLOPTS: "xtrace" },
    ...{ "BASH_FUNC_exec%%": "() { :; }", "a b": "1", "": "2" },
  };
  const given = { ...launch(confinement.home), command: "/usr/bin/env", args: ["-0"], env };
  const { launch: outside } = await confine(given, confinement, { sandbox: SANDBOX });
  const names = Object.keys(outside.env);
  expect(names.filter((name) => !/^REINS_INSIDE_[A-Z_0-9]+$/.test(name))).toEqual([]);
  const [command = "", ...rest] = outside.args.slice(outside.args.indexOf("--") + 1);
  const marked = { ...outside.env, REINS_PROCESS: "mark" };
  const { stdout, stderr } = spawnSync(command, rest, { encoding: "utf8", env: marked });
  expect(stderr).toBe("");
  const seen = Object.fromEntries(
    stdout.split("\0").map((one) => [one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)]),
  );
  expect(seen).toMatchObject({ ...values, PATH: env.PATH, REINS_PROCESS: "mark", HOME: expect.any(String) });
  expect(Object.keys(seen).filter((name) => name.startsWith("REINS_INSIDE_"))).toEqual([]);
});

test("returns no identity for a path through a link", async () => {
  const { base, own } = await lay();
  await symlink(join(base, "tenant"), join(base, "link"));
  await symlink(own, join(base, "tenant/own"));
  expect(await folderIdentity(own)).toMatch(/^\d+:\d+$/);
  for (const path of ["link/up/own", "tenant/own", "nowhere"])
    expect(await folderIdentity(join(base, path)), path).toBeUndefined();
});

test("classifies patterns for any host, or for a whole top-level domain, as an open network", () => {
  expect(networkReach("off")).toBe("off");
  expect(networkReach("open")).toBe("open");
  for (const host of ["*", "*:443", "*:*", "*.com", "*.com:443", "*."])
    expect([host, networkReach({ hosts: ["api.example.com", host] })]).toEqual([host, "open"]);
  for (const host of ["api.example.com", "*.example.com", "127.0.0.1:80", "*.example.com:*", "localhost"])
    expect([host, networkReach({ hosts: [host] })]).toEqual([host, "hosts"]);
  expect(networkReach({ hosts: [] })).toBe("hosts");
});
