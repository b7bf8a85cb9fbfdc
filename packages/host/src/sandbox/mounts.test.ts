import { expect, test } from "vitest";
import { isHidden, isInside, type Mount, mountArguments } from "./mounts.ts";

const mounts: Mount[] = [
  { path: "/srv/work/reins", kind: "mask" },
  { path: "/srv/work", kind: "write", source: "/srv/work" },
  { path: "/home", kind: "mask" },
  { path: "/srv/work/reins/homes/a", kind: "write", source: "/srv/work/reins/homes/a" },
];

test("the most specific mount is made last, so that it decides", () => {
  const args = mountArguments(mounts, []).join(" ");
  expect(args).toBe(
    [
      "--ro-bind / / --dev /dev --proc /proc",
      "--tmpfs /home",
      "--bind /srv/work /srv/work",
      "--tmpfs /srv/work/reins",
      "--bind /srv/work/reins/homes/a /srv/work/reins/homes/a",
      "--remount-ro /home --remount-ro /srv/work/reins",
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
  expect(["/home/me", "/srv/work/reins/reins.db", "/srv/work/reins/homes/b"].filter(hidden)).toHaveLength(3);
  expect(["/usr/bin/node", "/srv/work/x", "/srv/work/reins/homes/a/x"].filter(hidden)).toEqual([]);
});

test("a folder does not hold its neighbour that begins with its name", () => {
  expect(isInside("/srv/work2", "/srv/work")).toBe(false);
  expect(isInside("/srv/work", "/")).toBe(true);
});
