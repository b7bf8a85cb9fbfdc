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

test("workspace, home and temporary folder can be written; what is masked, and homes, are not there", async () => {
  expect(await kindAt(join(place, "work/src"))).toBe("write");
  expect(await kindAt(join(place, "reins/home/.config"))).toBe("write");
  expect(await kindAt(join(place, "reins/tmp"))).toBe("write");
  expect(await kindAt(join(place, "reins/reins.db"))).toBe("mask");
  expect(await kindAt(join(await realpath(homedir()), ".ssh"))).toBe("mask");
  expect(await kindAt("/usr/bin/env")).toBe("read");
});

test("Reins' home stays hidden in a workspace that holds it", async () => {
  expect(await kindAt(join(place, "reins/reins.db"), { roots: [place] })).toBe("mask");
  expect(await kindAt(join(place, "notes"), { roots: [place] })).toBe("write");
});

test("a bind shows a part of what is masked", async () => {
  const binds = [{ path: join(place, "reins/agents/claude"), access: "read" } as const];
  expect(await kindAt(join(place, "reins/agents/claude/cli.js"), { binds })).toBe("read");
  expect(await kindAt(join(place, "reins/agents/codex"), { binds })).toBe("mask");
});

test("a file is masked by one that cannot be read", async () => {
  const secret = join(place, "work/.env");
  await writeFile(secret, "KEY=1");
  const { mounts } = await viewOf({ ...confinement, masked: [secret] });
  expect(mountAt(secret, mounts)).toEqual({ path: secret, kind: "read", source: "/dev/null" });
});

test("a workspace is resolved; the link that named it is there too, if it would be hidden", async () => {
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

test("a workspace inside what is masked is refused, and one that is not there", async () => {
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

test("the most specific mount is made last, so that it decides", () => {
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

test("of two mounts at one place the later decides", () => {
  const twice: Mount[] = [
    { path: "/tmp", kind: "scratch" },
    { path: "/tmp", kind: "write", source: "/tmp" },
  ];
  expect(mountArguments(twice, [])).not.toContain("--tmpfs");
});

test("what is hidden is what no mount shows", () => {
  const hidden = (path: string) => isHidden(path, mounts);
  expect(
    ["/home/me", "/srv/project/reins/reins.db", "/srv/project/reins/homes/b"].filter(hidden),
  ).toHaveLength(3);
  expect(["/usr/bin/node", "/srv/project/x", "/srv/project/reins/homes/a/x"].filter(hidden)).toEqual([]);
});

test("a folder does not hold its neighbour that begins with its name", () => {
  expect(isInside("/srv/project2", "/srv/project")).toBe(false);
  expect(isInside("/srv/project", "/")).toBe(true);
});
