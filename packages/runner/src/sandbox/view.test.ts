import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import type { Confinement } from "./confine.ts";
import { isHidden, isInside, type Mount, mountArguments, mountAt, viewOf } from "./view.ts";

let place: string;
let confinement: Confinement;

beforeEach(async () => {
  place = await realpath(await mkdtemp(join(tmpdir(), "view-")));
  for (const folder of ["work", "reins/home", "reins/tmp", "reins/agents/claude"])
    await mkdir(join(place, folder), { recursive: true });
  confinement = {
    roots: [join(place, "work")],
    home: join(place, "reins/home"),
    temporary: join(place, "reins/tmp"),
    masked: [join(place, "reins")],
    network: "off",
  };
  return () => rm(place, { recursive: true, force: true });
});

const kindAt = async (path: string, changes: Partial<Confinement> = {}) =>
  mountAt(path, (await viewOf({ ...confinement, ...changes })).mounts).kind;

test("mounts workspace, home and temporary folder writable, and hides masked folders and homes", async () => {
  expect(await kindAt(join(place, "work/src"))).toBe("write");
  expect(await kindAt(join(place, "reins/home/.config"))).toBe("write");
  expect(await kindAt(join(place, "reins/tmp"))).toBe("write");
  expect(await kindAt(join(place, "reins/reins.db"))).toBe("mask");
  expect(await kindAt(join(await realpath(homedir()), ".ssh"))).toBe("mask");
  expect(await kindAt("/usr/bin/env")).toBe("read");
});

test("hides the home of Reins in a workspace that contains it", async () => {
  expect(await kindAt(join(place, "reins/reins.db"), { roots: [place] })).toBe("mask");
  expect(await kindAt(join(place, "notes"), { roots: [place] })).toBe("write");
});

test("shows a bind inside a masked folder", async () => {
  const binds = [{ path: join(place, "reins/agents/claude"), access: "read" } as const];
  expect(await kindAt(join(place, "reins/agents/claude/cli.js"), { binds })).toBe("read");
  expect(await kindAt(join(place, "reins/agents/codex"), { binds })).toBe("mask");
});

test("masks a file with one that cannot be read", async () => {
  const secret = join(place, "work/.env");
  await writeFile(secret, "KEY=1");
  const { mounts } = await viewOf({ ...confinement, masked: [secret] });
  expect(mountAt(secret, mounts)).toEqual({ path: secret, kind: "read", source: "/dev/null" });
});

test("resolves a workspace, and keeps the link that named it if that would be hidden", async () => {
  const link = join(place, "reins/link");
  await symlink(join(place, "work"), link);
  const { links, mounts } = await viewOf({ ...confinement, roots: [link] });
  expect(mountAt(join(place, "work"), mounts).kind).toBe("write");
  expect(links).toEqual([{ path: link, target: join(place, "work") }]);
});

test.each([
  ["the whole machine", () => "/"],
  ["the user's home", () => homedir()],
])("%s is no workspace and cannot be bound", async (_, path) => {
  await expect(viewOf({ ...confinement, roots: [path()] })).rejects.toMatchObject({ code: "too_wide" });
  const binds = [{ path: path(), access: "read" } as const];
  await expect(viewOf({ ...confinement, binds })).rejects.toMatchObject({ code: "too_wide" });
});

test("rejects a workspace inside a masked folder, and a missing one", async () => {
  const inside = join(place, "reins/agents");
  await expect(viewOf({ ...confinement, roots: [inside] })).rejects.toMatchObject({ code: "too_wide" });
  const nowhere = join(place, "nowhere");
  await expect(viewOf({ ...confinement, roots: [nowhere] })).rejects.toMatchObject({ code: "missing" });
});

const mounts: Mount[] = [
  { path: "/srv/project/reins", kind: "mask" },
  { path: "/srv/project", kind: "write", source: "/srv/project" },
  { path: "/home", kind: "mask" },
  { path: "/srv/project/reins/homes/a", kind: "write", source: "/srv/project/reins/homes/a" },
];

test("orders mounts so that the most specific one is last", () => {
  const args = mountArguments(mounts, []).join(" ");
  expect(args).toBe(
    [
      "--ro-bind / / --dev /dev --proc /proc",
      "--tmpfs /home",
      "--bind /srv/project /srv/project",
      "--tmpfs /srv/project/reins",
      "--bind /srv/project/reins/homes/a /srv/project/reins/homes/a",
      "--remount-ro /home --remount-ro /srv/project/reins",
    ].join(" "),
  );
});

test("uses the later of two mounts at one path", () => {
  const twice: Mount[] = [
    { path: "/tmp", kind: "scratch" },
    { path: "/tmp", kind: "write", source: "/tmp" },
  ];
  expect(mountArguments(twice, [])).not.toContain("--tmpfs");
});

test("reports paths under masks as hidden", () => {
  const hidden = (path: string) => isHidden(path, mounts);
  expect(
    ["/home/me", "/srv/project/reins/reins.db", "/srv/project/reins/homes/b"].filter(hidden),
  ).toHaveLength(3);
  expect(["/usr/bin/node", "/srv/project/x", "/srv/project/reins/homes/a/x"].filter(hidden)).toEqual([]);
});

test("does not take a sibling with the same name prefix for a child", () => {
  expect(isInside("/srv/project2", "/srv/project")).toBe(false);
  expect(isInside("/srv/project", "/")).toBe(true);
});
