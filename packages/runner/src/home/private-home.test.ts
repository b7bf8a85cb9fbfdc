import { execFileSync } from "node:child_process";
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { collectionOf, contentDigest, PrivateHome, projectionOf } from "./private-home.ts";

let place: string;
let from: string;
const to = ".codex/auth.json";

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), "private-home-"));
  from = join(place, "user", "auth.json");
  await mkdir(join(place, "user"));
  await writeFile(from, '{"token":"old"}');
  return () => rm(place, { recursive: true, force: true });
});

const prepare = (files: { path: string; text: string; mode?: number }[] = []) =>
  PrivateHome.prepare({ folder: join(place, "agent"), credentials: [{ from, to }], files });
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
const text = (path: string) => readFile(path, "utf8");

test("creates home and temporary folder side by side, private to the user", async () => {
  const { home, temporary } = await prepare();
  expect([await modeOf(home), await modeOf(temporary)]).toEqual(["700", "700"]);
  expect(home.startsWith(`${temporary}/`) || temporary.startsWith(`${home}/`)).toBe(false);
});

test("copies credentials with mode 0600 and writes settings as given", async () => {
  const { home } = await prepare([
    { path: ".config/agent/settings.json", text: "{}" },
    { path: "bin/ask", text: "#!/bin/sh\n", mode: 0o700 },
  ]);
  const copy = join(home, to);
  expect(await text(copy)).toBe('{"token":"old"}');
  expect(await modeOf(copy)).toBe("600");
  expect((await lstat(copy)).isSymbolicLink()).toBe(false);
  expect(await modeOf(join(home, ".config/agent/settings.json"))).toBe("600");
  expect(await modeOf(join(home, "bin/ask"))).toBe("700");
});

test("keeps files of the agent and restores settings", async () => {
  const files = [{ path: "settings.json", text: '{"ask":true}' }];
  const { home } = await prepare(files);
  await writeFile(join(home, "history"), "a session");
  await writeFile(join(home, "settings.json"), '{"ask":false}');
  await prepare(files);
  expect(await text(join(home, "history"))).toBe("a session");
  expect(await text(join(home, "settings.json"))).toBe('{"ask":true}');
});

test("clears paths before every start without following links", async () => {
  const options = { folder: join(place, "agent"), credentials: [{ from, to }], files: [] };
  const { home } = await PrivateHome.prepare(options);
  await mkdir(join(home, ".codex/rules"));
  await writeFile(join(home, ".codex/rules/evil.rules"), "allow all");
  await writeFile(join(home, ".codex/hooks.json"), "{}");
  await mkdir(join(place, "elsewhere/plugin"), { recursive: true });
  await symlink(join(place, "elsewhere"), join(home, ".config"));
  const clears = [".codex/rules", ".codex/hooks.json", ".config/plugin", ".absent/folder"];
  await PrivateHome.prepare({ ...options, clears });
  expect(await readdir(join(home, ".codex"))).toEqual(["auth.json"]);
  expect(await readdir(join(home, ".config"))).toEqual([]);
  expect(await readdir(join(place, "elsewhere"))).toEqual(["plugin"]);
});

test("skips a missing credential", async () => {
  await rm(from);
  const { home } = await prepare();
  expect(await readdir(join(home, ".codex"))).toEqual([]);
});

test("copies a renewed credential back once, with mode 0600", async () => {
  const home = await prepare();
  await writeFile(join(home.home, to), '{"token":"new"}');
  expect(await home.collect()).toEqual([{ credential: { from, to }, outcome: "collected" }]);
  expect(await text(from)).toBe('{"token":"new"}');
  expect(await modeOf(from)).toBe("600");
  expect(await home.collect()).toMatchObject([{ outcome: "unchanged" }]);
  expect(await readdir(join(place, "user"))).toEqual(["auth.json"]);
});

test("collects a credential that was renewed before Reins was killed", async () => {
  const { home } = await prepare();
  await writeFile(join(home, to), '{"token":"new"}');
  await prepare();
  expect(await text(from)).toBe('{"token":"new"}');
  expect(await text(join(home, to))).toBe('{"token":"new"}');
});

test("does not overwrite what the user changed, and gives it to the agent next", async () => {
  const home = await prepare();
  await writeFile(join(home.home, to), '{"token":"new"}');
  await writeFile(from, '{"token":"logged in again"}');
  expect(await home.collect()).toMatchObject([{ outcome: "conflict" }]);
  await prepare();
  expect(await text(from)).toBe('{"token":"logged in again"}');
  expect(await text(join(home.home, to))).toBe('{"token":"logged in again"}');
});

test("does not follow a link in place of a credential", async () => {
  const home = await prepare();
  const secret = join(place, "user", "id_ed25519");
  await writeFile(secret, "a key");
  await rm(join(home.home, to));
  await symlink(secret, join(home.home, to));
  expect(await home.collect()).toMatchObject([{ outcome: "unusable", error: { code: "unsafe_file" } }]);
  expect(await text(from)).toBe('{"token":"old"}');
});

test("replaces links in place of folders and settings and leaves their targets untouched", async () => {
  const files = [{ path: ".codex/config.toml", text: "ask = true" }];
  const { home } = await prepare(files);
  await rm(join(home, ".codex"), { recursive: true });
  await symlink(join(place, "user"), join(home, ".codex"));
  await prepare(files);
  expect(await readdir(join(place, "user"))).toEqual(["auth.json"]);
  expect((await lstat(join(home, ".codex"))).isSymbolicLink()).toBe(false);
  await rm(join(home, ".codex/config.toml"));
  await symlink(from, join(home, ".codex/config.toml"));
  await prepare(files);
  expect(await text(from)).toBe('{"token":"old"}');
  expect(await text(join(home, ".codex/config.toml"))).toBe("ask = true");
});

test("does not wait for a pipe in place of a credential", async () => {
  const home = await prepare();
  await rm(join(home.home, to));
  execFileSync("/bin/sh", ["-c", `mkfifo "$0"`, join(home.home, to)]);
  expect(await home.collect()).toMatchObject([{ outcome: "unusable" }]);
});

test("rejects a user's credential that is not a plain file, and accepts a linked folder", async () => {
  const linked = join(place, "linked");
  await symlink(join(place, "user"), linked);
  const credentials = (path: string) => ({
    folder: join(place, "agent"),
    credentials: [{ from: path, to }],
    files: [],
  });
  const { home } = await PrivateHome.prepare(credentials(join(linked, "auth.json")));
  expect(await text(join(home, to))).toBe('{"token":"old"}');
  await symlink(from, join(place, "link.json"));
  await expect(PrivateHome.prepare(credentials(join(place, "link.json")))).rejects.toMatchObject({
    code: "unsafe_file",
  });
});

test.each(["../outside", "/etc/passwd", "a/../../b", "", "a//b"])(
  "%j is no place in a home",
  async (path) => {
    await expect(prepare([{ path, text: "" }])).rejects.toMatchObject({ code: "unsafe_file" });
  },
);

test("restores private access to a home", async () => {
  const folder = join(place, "agent");
  await mkdir(folder, { mode: 0o755 });
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await prepare();
  expect(await modeOf(folder)).toBe("700");
});

const old = Buffer.from('{"token":"old"}');
const renewed = Buffer.from('{"token":"renewed"}');
const changed = Buffer.from('{"token":"changed by the user"}');
const projected = contentDigest(old);

test.each([
  ["there is none", { source: undefined, copy: undefined, projected: undefined }, "keep"],
  ["only the agent has one", { source: undefined, copy: renewed, projected: undefined }, "keep"],
  ["only the user has one", { source: old, copy: undefined, projected: undefined }, "project"],
  ["both are the same", { source: old, copy: old, projected }, "keep"],
  ["the user changed it", { source: changed, copy: old, projected }, "project"],
  ["the agent renewed it and it was not collected", { source: old, copy: renewed, projected }, "collect"],
  ["both changed it", { source: changed, copy: renewed, projected }, "project"],
  ["the agent left half a file", { source: old, copy: Buffer.from('{"tok'), projected }, "project"],
  [
    "the agent made one that was never given",
    { source: old, copy: renewed, projected: undefined },
    "project",
  ],
] as const)("before the start, when %s", (_, state, expected) => {
  expect(projectionOf(state)).toBe(expected);
});

test.each([
  ["nothing changed", { source: old, copy: old, projected }, "unchanged"],
  ["the agent removed it", { source: old, copy: undefined, projected }, "unchanged"],
  ["the agent renewed it", { source: old, copy: renewed, projected }, "collected"],
  ["both changed it", { source: changed, copy: renewed, projected }, "conflict"],
  ["the user removed it", { source: undefined, copy: renewed, projected }, "conflict"],
  ["the agent emptied it", { source: old, copy: Buffer.alloc(0), projected }, "unusable"],
  ["the agent left half a file", { source: old, copy: Buffer.from('{"tok'), projected }, "unusable"],
  ["it was never given", { source: undefined, copy: renewed, projected: undefined }, "unchanged"],
] as const)("after the end, when %s", (_, state, expected) => {
  expect(collectionOf(state)).toBe(expected);
});
