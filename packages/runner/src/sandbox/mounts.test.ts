import { expect, test } from "vitest";
import { isHidden, isInside, type Mount, mountArguments } from "./mounts.ts";

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
