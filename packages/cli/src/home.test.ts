import { chmod, mkdir, mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CliError } from "./errors.ts";
import { artifactsIn, databaseIn, homeFolder, keysIn, openHome, socketIn } from "./home.ts";

describe("the home folder", () => {
  it("is reins in the user's data folder by default", () => {
    expect(homeFolder(undefined, {})).toBe(join(homedir(), ".local", "share", "reins"));
    expect(homeFolder(undefined, { XDG_DATA_HOME: "/data" })).toBe("/data/reins");
    expect(homeFolder(undefined, { XDG_DATA_HOME: "data" })).toBe(homeFolder(undefined, {}));
  });

  it("is the flag, else REINS_HOME", () => {
    expect(homeFolder(undefined, { REINS_HOME: "/env" })).toBe("/env");
    expect(homeFolder("flag", { REINS_HOME: "/env" })).toBe(resolve("flag"));
  });

  it("contains socket, database, keys and artifacts", () => {
    expect(socketIn("/home")).toBe("/home/ahp.sock");
    expect(databaseIn("/home")).toBe("/home/reins.db");
    expect(keysIn("/home")).toBe("/home/keys");
    expect(artifactsIn("/home")).toBe("/home/artifacts");
  });
});

describe("opening the home folder", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "reins-home-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("creates it for this user only", async () => {
    const home = join(folder, "a", "b");
    const said: string[] = [];
    await openHome(home, (message) => said.push(message));
    expect((await stat(home)).mode & 0o777).toBe(0o700);
    expect(said).toEqual([]);
  });

  it.each([0o755, 0o750, 0o777, 0o705])(
    "takes one that others could look into from them (%o)",
    async (mode) => {
      const home = join(folder, `home-${mode}`);
      const files = ["reins.db", "reins.db-wal", "reins.db-shm", "log-a.journal", "agent-mailbox.jsonl"];
      const folders = ["", "artifacts", "homes", "keys"];
      for (const name of folders) await mkdir(join(home, name), { recursive: true });
      for (const name of files) await writeFile(join(home, name), "", { mode: 0o644 });
      for (const name of folders) await chmod(join(home, name), mode);
      for (const name of files) await chmod(join(home, name), 0o644);
      const said: string[] = [];
      await openHome(home, (message) => said.push(message));
      const modes = async (names: string[]) =>
        Promise.all(names.map(async (name) => (await stat(join(home, name))).mode & 0o777));
      expect(await modes(files)).toEqual(files.map(() => 0o600));
      expect(await modes(folders)).toEqual(folders.map(() => 0o700));
      for (const name of [...files, ...folders])
        expect(said.filter((one) => one.includes(` ${join(home, name)};`))).toHaveLength(1);
    },
  );

  it("makes a database outside of the home private", async () => {
    const [home, elsewhere] = [join(folder, "linked"), join(folder, "elsewhere.db")];
    await mkdir(home, { mode: 0o700 });
    await writeFile(elsewhere, "");
    await chmod(elsewhere, 0o644);
    await symlink(elsewhere, join(home, "reins.db"));
    await openHome(home, () => undefined);
    expect((await stat(elsewhere)).mode & 0o777).toBe(0o600);
  });

  it("rejects a shared folder, and does not change it", async () => {
    const shared = join(folder, "shared");
    await mkdir(shared);
    await chmod(shared, 0o1777);
    await expect(openHome(shared, () => undefined)).rejects.toThrow("is a shared folder");
    expect((await stat(shared)).mode & 0o7777).toBe(0o1777);
  });

  it("says what to do about a home that cannot be used", async () => {
    await writeFile(join(folder, "file"), "");
    const failed = openHome(join(folder, "file"), () => undefined);
    await expect(failed).rejects.toThrow(CliError);
    await expect(failed).rejects.toMatchObject({ exitCode: 1, next: expect.stringContaining("--home") });
  });
});
