import { existsSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sessionWorkspace } from "./workspace.ts";

test("sessions work where somebody says, else here, and never around or inside the home", async () => {
  const base = await realpath(await mkdtemp(join(tmpdir(), "reins-workspace-")));
  onTestFinished(() => rm(base, { recursive: true }));
  const [home, here] = [join(base, "home"), join(base, "here")];
  for (const folder of [home, here]) await mkdir(folder);
  const beside = `${home}-workspace`;
  expect(await sessionWorkspace(home, ["/srv"], base)).toBe("/srv");
  expect(await sessionWorkspace(home, [], here)).toBe(here);
  expect(existsSync(beside)).toBe(false);
  expect(await sessionWorkspace(home, [], base)).toBe(beside);
  expect(await sessionWorkspace(home, [], home)).toBe(beside);
  expect(existsSync(beside)).toBe(true);
});
