import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CliError } from "./errors/cli-error.ts";
import { artifactsIn, databaseIn, homeFolder, keysIn, openHome, socketIn } from "./home.ts";

describe("the home folder", () => {
  it("is reins in the user's data folder", () => {
    expect(homeFolder(undefined, {})).toBe(join(homedir(), ".local", "share", "reins"));
    expect(homeFolder(undefined, { XDG_DATA_HOME: "/data" })).toBe("/data/reins");
    expect(homeFolder(undefined, { XDG_DATA_HOME: "data" })).toBe(homeFolder(undefined, {}));
  });

  it("is where REINS_HOME says, and before that where the flag says", () => {
    expect(homeFolder(undefined, { REINS_HOME: "/env" })).toBe("/env");
    expect(homeFolder("flag", { REINS_HOME: "/env" })).toBe(resolve("flag"));
  });

  it("holds socket, database, keys and artifacts", () => {
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

  it("makes it for this user only", async () => {
    const home = join(folder, "a", "b");
    expect(await openHome(home)).toEqual({ othersMayWrite: false });
    expect((await stat(home)).mode & 0o777).toBe(0o700);
  });

  it("notices when others may write to it", async () => {
    await chmod(join(folder, "a"), 0o777);
    expect(await openHome(join(folder, "a"))).toEqual({ othersMayWrite: true });
  });

  it("says what to do when it cannot be used", async () => {
    await writeFile(join(folder, "file"), "");
    const failed = openHome(join(folder, "file"));
    await expect(failed).rejects.toThrow(CliError);
    await expect(failed).rejects.toMatchObject({ exitCode: 1, next: expect.stringContaining("--home") });
  });
});
