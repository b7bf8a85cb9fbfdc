import { describe, expect, it } from "vitest";
import type { FilePort } from "../files.ts";
import type { FactsContext } from "../gather.ts";
import { isWithin, Places } from "./places.ts";

/** A machine on which every path is what it seems. */
const files: FilePort = {
  realpath: (path) => Promise.resolve(path),
  lstat: () => Promise.resolve("folder"),
  readlink: () => Promise.resolve(undefined),
  list: () => Promise.resolve([]),
  readStart: () => Promise.resolve(""),
  linkedIdentity: () => Promise.resolve(undefined),
  bytes: () => Promise.resolve(undefined),
  slice: () => Promise.resolve(undefined),
  state: () => Promise.resolve(undefined),
};

const context: FactsContext = {
  roots: ["/home/u/work", "/srv/second"],
  cwd: "/home/u/work",
  home: "/home/u",
  harness: "/home/u/.local/share/reins",
  agent: "native",
  tables: new Map(),
  files,
};

const place = async (path: string, { writes = false, deep = false } = {}, more: Partial<FactsContext> = {}) =>
  (await Places.of({ ...context, ...more })).placeOf(path, { writes, deep });

describe("the place of a path", () => {
  it.each([
    ["/home/u/work/src/a.ts", "workspace"],
    ["/home/u/work", "workspace"],
    ["/srv/second/x", "workspace"],
    ["/home/u/work-other/x", "home"],
    ["/home/u/x", "home"],
    ["/home/other/x", "home"],
    ["/root/x", "home"],
    ["/tmp/x", "shared"],
    ["/var/tmp/x", "shared"],
    ["/tmpx", "system"],
    ["/etc/passwd", "system"],
    ["/", "system"],
    ["/home/u/.local/share/reins/reins.db", "harness"],
    ["/home/u/.local/share/REINS/keys", "harness"],
    ["/home/u/.ssh/id_ed25519", "credentials"],
    ["/home/u/work/.env", "credentials"],
    ["/home/u/work/.env.production", "credentials"],
    ["/home/u/work/.env.example", "workspace"],
    ["/home/u/work/deploy/server.pem", "credentials"],
    ["/usr/share/ca/x.pem", "system"],
    ["/home/u/work/environment.ts", "workspace"],
    ["/home/u/work/src/id_generator.ts", "workspace"],
    ["/etc/shadow", "credentials"],
    ["/proc/4/environ", "credentials"],
    ["/home/u/.config/gcloud/x", "credentials"],
    ["/Users/u/Library/Keychains/x", "credentials"],
    ["/home/u/work/.SSH./Config", "credentials"],
    ["/home/u/work/.s\u200csh/x", "credentials"],
    ["/home/u/work/.ｅｎｖ", "credentials"],
  ])("%s is %s to a reader", async (path, expected) => {
    expect(await place(path)).toBe(expected);
  });

  it.each([
    "/home/u/.bashrc",
    "/home/u/work/.git/hooks/pre-commit",
    "/home/u/work/.git/config",
    "/home/u/work/.git",
    "/home/u/work/.GIT/hooks/x",
    "/home/u/work/sub/.github/workflows/ci.yml",
    "/home/u/work/.claude/settings.json",
    "/home/u/work/.mcp.json",
    "/home/u/work/CLAUDE.md",
    "/home/u/work/.vscode/tasks.json",
    "/etc/cron.d/x",
    "/usr/local/bin/x",
    "/Users/u/Library/LaunchAgents/x.plist",
  ])("%s is what runs later to a writer, and lies where it lies to a reader", async (path) => {
    expect(await place(path, { writes: true })).toBe("persistence");
    expect(await place(path)).not.toBe("persistence");
  });

  it("is that of what it holds, when everything below is touched", async () => {
    expect(await place("/home/u", { deep: true })).toBe("harness");
    expect(await place("/", { deep: true })).toBe("harness");
    expect(await place("/home", { deep: true }, { harness: "/srv/reins" })).toBe("credentials");
    expect(await place("/home/u/work", { deep: true })).toBe("workspace");
  });

  it("leaves an agent the private home that the harness keeps for it", async () => {
    const home = "/home/u/.local/share/reins/homes/one";
    expect(await place(`${home}/x`, {}, { home })).toBe("home");
    expect(await place("/home/u/.local/share/reins/homes/two/x", {}, { home })).toBe("harness");
  });

  it("knows the folder for passing files that the environment names, and the home inside one", async () => {
    expect(await place("/scratch/x", {}, { environment: { TMPDIR: "/scratch" } })).toBe("temporary");
    expect(await place("/tmp/h/x", {}, { home: "/tmp/h" })).toBe("home");
    expect(await place("/data/x", {}, { temporary: ["/data"] })).toBe("temporary");
    expect(await place("/tmp/x", {}, { temporary: ["/data"] })).toBe("shared");
  });

  it("gives a session its own part of a folder that others use, and no more", async () => {
    const own = { environment: { TMPDIR: "/tmp/session-1" } };
    expect(await place("/tmp/session-1/x", {}, own)).toBe("temporary");
    expect(await place("/tmp/session-2/x", {}, own)).toBe("shared");
    expect(await place("/tmp/x", {}, { environment: { TMPDIR: "/tmp" } })).toBe("shared");
    const places = await Places.of(context);
    places.noteMade("/tmp/made");
    const touch = { writes: true, deep: true };
    expect(places.placeOf("/tmp/made/below/x", touch)).toBe("temporary");
    expect(places.placeOf("/tmp/made-not", touch)).toBe("shared");
    expect(places.placeOf("/tmp", touch)).toBe("shared");
  });
});

it("a link that is put in the place of a shared folder later makes nothing shared", async () => {
  const links = new Map<string, string>();
  const machine = { ...files, realpath: async (path: string) => links.get(path) ?? path };
  expect(await place("/tmp/x", {}, { files: machine })).toBe("shared");
  links.set("/tmp", "/etc");
  expect(await place("/etc/x", {}, { files: machine })).toBe("system");
});

it("a folder holds itself and what is below it, and nothing that only starts alike", () => {
  expect(isWithin("/a/b", "/a/b")).toBe(true);
  expect(isWithin("/a/b/c", "/a/b")).toBe(true);
  expect(isWithin("/a/bc", "/a/b")).toBe(false);
  expect(isWithin("/a", "/")).toBe(true);
});
