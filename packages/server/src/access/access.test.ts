import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Access } from "./access.ts";

async function newHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "access-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  return home;
}

function clockAt(start: string) {
  const time = { now: Date.parse(start) };
  return { time, clock: { now: () => new Date(time.now), after: () => () => {} } };
}

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

describe("the start token", () => {
  test("is made once, kept for this user alone, and the same after a restart", async () => {
    const home = await newHome();
    const first = await Access.open({ home });
    expect(first.token).toMatch(/^reins_[\w-]{43}$/);
    expect(await modeOf(join(home, "start-token"))).toBe(0o600);
    expect((await Access.open({ home })).token).toBe(first.token);
    expect([first.ofToken(first.token), first.ofToken(first.token)]).toEqual(["local", "local"]);
    expect(first.ofToken(`${first.token}x`)).toBeUndefined();
    expect(first.ofToken("")).toBeUndefined();
  });

  test("is one for all who start at once, and nothing is left behind", async () => {
    const home = await newHome();
    const all = await Promise.all(Array.from({ length: 8 }, () => Access.open({ home })));
    expect(new Set(all.map(({ token }) => token)).size).toBe(1);
    expect(await readdir(home)).toEqual(["start-token"]);
  });

  test("gives way to those that an operator sets, and is not made for nothing", async () => {
    const home = await newHome();
    const access = await Access.open({ home, tokens: ["one", "two"] });
    expect(access.token).toBe("one");
    expect([access.ofToken("one"), access.ofToken("two")]).toEqual(["local", "local"]);
    expect(await readdir(home)).toEqual([]);
  });

  test("is not taken from a file that others may read, that leads elsewhere or holds something else", async () => {
    const home = await newHome();
    const path = join(home, "start-token");
    const { token } = await Access.open({ home });
    await chmod(path, 0o644);
    await expect(Access.open({ home })).rejects.toMatchObject({ code: "exposed" });
    await chmod(path, 0o600);
    await writeFile(path, "short\n");
    await expect(Access.open({ home })).rejects.toMatchObject({ code: "damaged" });
    await rm(path);
    await writeFile(join(home, "other"), token, { mode: 0o600 });
    await symlink(join(home, "other"), path);
    await expect(Access.open({ home })).rejects.toMatchObject({ code: "exposed" });
  });
});

describe("a code", () => {
  test("lets in once", async () => {
    const access = await Access.open({ home: await newHome() });
    const code = access.newCode();
    const login = await access.login(code);
    expect(access.ofLogin(login!.id)).toBe("local");
    expect(await access.login(code)).toBeUndefined();
    expect(await access.login("guess")).toBeUndefined();
  });

  test("is worth nothing after ten minutes", async () => {
    const { time, clock } = clockAt("2026-11-15T12:00:00Z");
    const access = await Access.open({ home: await newHome(), clock });
    const [early, late] = [access.newCode(), access.newCode()];
    time.now += 10 * 60_000 - 1;
    expect(await access.login(early)).toBeDefined();
    time.now += 1;
    expect(await access.login(late)).toBeUndefined();
  });

  test("can be for somebody else than the operator", async () => {
    const access = await Access.open({ home: await newHome() });
    const login = await access.login(access.newCode("tok_1"));
    expect(access.ofLogin(login!.id)).toBe("tok_1");
  });

  test("is forgotten when too many come after it", async () => {
    const access = await Access.open({ home: await newHome() });
    const first = access.newCode();
    for (let count = 0; count < 64; count += 1) access.newCode();
    expect(await access.login(first)).toBeUndefined();
  });

  test("is not forgotten because somebody else wants many", async () => {
    const access = await Access.open({ home: await newHome() });
    const code = access.newCode();
    for (let count = 0; count < 100; count += 1) access.newCode("tok_1");
    expect(await access.login(code)).toBeDefined();
  });
});

describe("a login", () => {
  test("outlives a restart, and no file tells what its cookie holds", async () => {
    const home = await newHome();
    const before = await Access.open({ home });
    const login = await before.login(before.newCode());
    const after = await Access.open({ home });
    expect(after.ofLogin(login!.id)).toBe("local");
    expect(after.cookie).toBe(before.cookie);
    expect(await readFile(join(home, "logins.json"), "utf8")).not.toContain(login!.id);
    expect(await modeOf(join(home, "logins.json"))).toBe(0o600);
  });

  test("does not end because somebody else has many", async () => {
    const home = await newHome();
    const path = join(home, "logins.json");
    const before = await Access.open({ home });
    const login = await before.login(before.newCode());
    const { logins } = JSON.parse(await readFile(path, "utf8"));
    const more = Array.from({ length: 255 }, (_, n) => ({ ...logins[0], hash: `${n}`, principal: "tok_1" }));
    await writeFile(path, JSON.stringify({ logins: [...logins, ...more] }));
    const after = await Access.open({ home });
    expect(await after.login(after.newCode("tok_1"))).toBeDefined();
    expect(after.ofLogin(login!.id)).toBe("local");
    expect(JSON.parse(await readFile(path, "utf8")).logins).toHaveLength(256);
  });

  test("ends when it is ended, for good", async () => {
    const home = await newHome();
    const access = await Access.open({ home });
    const [one, other] = [await access.login(access.newCode()), await access.login(access.newCode())];
    await access.logout(one!.id);
    await access.logout("nobody's");
    expect(access.ofLogin(one!.id)).toBeUndefined();
    const after = await Access.open({ home });
    expect([after.ofLogin(one!.id), after.ofLogin(other!.id)]).toEqual([undefined, "local"]);
  });

  test("ends by itself", async () => {
    const { time, clock } = clockAt("2026-11-15T12:00:00Z");
    const access = await Access.open({ home: await newHome(), clock });
    const login = await access.login(access.newCode());
    expect(login!.expires.toISOString()).toBe("2026-11-22T12:00:00.000Z");
    time.now = login!.expires.getTime();
    expect(access.ofLogin(login!.id)).toBeUndefined();
  });

  test("is begun anew where the file was damaged", async () => {
    const home = await newHome();
    await writeFile(join(home, "logins.json"), "{", { mode: 0o600 });
    const access = await Access.open({ home });
    expect(access.ofLogin((await access.login(access.newCode()))!.id)).toBe("local");
  });

  test("has a cookie of its own for each home, because cookies know no ports", async () => {
    const [one, other] = [
      await Access.open({ home: await newHome() }),
      await Access.open({ home: await newHome() }),
    ];
    expect(one.cookie).not.toBe(other.cookie);
  });
});
