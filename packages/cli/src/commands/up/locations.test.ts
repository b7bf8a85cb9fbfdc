import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readlink, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, test } from "vitest";
import { realDatabase } from "../../home.ts";
import { linkDatabase, sessionWorkspace } from "./up.ts";

async function folders() {
  const home = await mkdtemp(join(tmpdir(), "reins-database-"));
  const elsewhere = await mkdtemp(join(tmpdir(), "reins-elsewhere-"));
  onTestFinished(() => rm(home, { recursive: true }));
  onTestFinished(() => rm(elsewhere, { recursive: true }));
  return { home, link: join(home, "reins.db"), path: join(elsewhere, "data", "r.db"), elsewhere };
}

describe("a database outside of its home", () => {
  it("is linked from the home", async () => {
    const { home, link, path } = await folders();
    expect(await realDatabase(home)).toBe(link);
    await linkDatabase(home, path);
    expect(await readlink(link)).toBe(path);
    expect(await realDatabase(home)).toBe(path);
    await linkDatabase(home, path);
    expect(await readlink(link)).toBe(path);
  });

  it("is private, also in a folder that is not", async () => {
    const { home, elsewhere } = await folders();
    await chmod(elsewhere, 0o755);
    await linkDatabase(home, join(elsewhere, "r.db"));
    expect((await stat(join(elsewhere, "r.db"))).mode & 0o077).toBe(0);
  });

  it("does not replace the database of a home", async () => {
    const { home, link, path, elsewhere } = await folders();
    await writeFile(link, "history");
    await expect(linkDatabase(home, path)).rejects.toMatchObject({
      message: `The database of ${home} is ${link}, and not ${path}.`,
      next: expect.stringContaining(`mv ${link} ${path}`),
    });
    await linkDatabase(home, link);
    await rm(link);
    await symlink(join(elsewhere, "other.db"), link);
    await expect(linkDatabase(home, path)).rejects.toMatchObject({
      next: expect.stringContaining(`rm ${link}`),
    });
  });

  it("requires a folder that can be created", async () => {
    const { home, elsewhere } = await folders();
    await writeFile(join(elsewhere, "file"), "");
    await expect(linkDatabase(home, join(elsewhere, "file", "r.db"))).rejects.toThrow("cannot be at");
  });
});

test("sessions work in the given folder, else here, and never around or inside the home", async () => {
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
