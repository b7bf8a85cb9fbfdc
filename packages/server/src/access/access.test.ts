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
  test("is created once, private, and the same after a restart", async () => {
    const home = await newHome();
    const first = await Access.open({ home });
    expect(first.token).toMatch(/^reins_[\w-]{43}$/);
    expect(await modeOf(join(home, "start-token"))).toBe(0o600);
    expect((await Access.open({ home })).token).toBe(first.token);
    expect([first.ofToken(first.token), first.ofToken(first.token)]).toEqual(["local", "local"]);
    expect(first.ofToken(`${first.token}x`)).toBeUndefined();
    expect(first.ofToken("")).toBeUndefined();
  });

  test("is the same for concurrent starts, without leftover files", async () => {
    const home = await newHome();
    const all = await Promise.all(Array.from({ length: 8 }, () => Access.open({ home })));
    expect(new Set(all.map(({ token }) => token)).size).toBe(1);
    expect(await readdir(home)).toEqual(["start-token"]);
  });

  test("is not created when the operator sets tokens", async () => {
    const home = await newHome();
    const access = await Access.open({ home, tokens: ["one", "two"] });
    expect(access.token).toBe("one");
    expect([access.ofToken("one"), access.ofToken("two")]).toEqual(["local", "local"]);
    expect(await readdir(home)).toEqual([]);
  });

  test("is not read from an exposed file, a link or a damaged file", async () => {
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
  test("works once", async () => {
    const access = await Access.open({ home: await newHome() });
    const code = access.newCode();
    const login = await access.login(code);
    expect(access.ofLogin(login!.id)?.principal).toBe("local");
    expect(await access.login(code)).toBeUndefined();
    expect(await access.login("guess")).toBeUndefined();
  });

  test("expires after ten minutes", async () => {
    const { time, clock } = clockAt("2026-11-15T12:00:00Z");
    const access = await Access.open({ home: await newHome(), clock });
    const [early, late] = [access.newCode(), access.newCode()];
    time.now += 10 * 60_000 - 1;
    expect(await access.login(early)).toBeDefined();
    time.now += 1;
    expect(await access.login(late)).toBeUndefined();
  });

  test("can be for another principal than the operator", async () => {
    const access = await Access.open({ home: await newHome() });
    const login = await access.login(access.newCode({ id: "tok_1" }));
    expect(access.ofLogin(login!.id)?.principal).toBe("tok_1");
  });

  test("is evicted when too many follow", async () => {
    const access = await Access.open({ home: await newHome() });
    const first = access.newCode();
    for (let count = 0; count < 64; count += 1) access.newCode();
    expect(await access.login(first)).toBeUndefined();
  });

  test("is not evicted by another principal's codes", async () => {
    const access = await Access.open({ home: await newHome() });
    const code = access.newCode();
    for (let count = 0; count < 100; count += 1) access.newCode({ id: "tok_1" });
    expect(await access.login(code)).toBeDefined();
  });
});

describe("a login", () => {
  test("survives a restart, and no file contains its cookie", async () => {
    const home = await newHome();
    const before = await Access.open({ home });
    const login = await before.login(before.newCode());
    const after = await Access.open({ home });
    expect(after.ofLogin(login!.id)?.principal).toBe("local");
    expect(after.cookie).toBe(before.cookie);
    expect(await readFile(join(home, "logins.json"), "utf8")).not.toContain(login!.id);
    expect(await modeOf(join(home, "logins.json"))).toBe(0o600);
  });

  test("is not evicted by another principal's logins", async () => {
    const home = await newHome();
    const path = join(home, "logins.json");
    const before = await Access.open({ home });
    const login = await before.login(before.newCode());
    const { logins } = JSON.parse(await readFile(path, "utf8"));
    const more = Array.from({ length: 255 }, (_, n) => ({ ...logins[0], hash: `${n}`, principal: "tok_1" }));
    await writeFile(path, JSON.stringify({ logins: [...logins, ...more] }));
    const after = await Access.open({ home });
    expect(await after.login(after.newCode({ id: "tok_1" }))).toBeDefined();
    expect(after.ofLogin(login!.id)?.principal).toBe("local");
    expect(JSON.parse(await readFile(path, "utf8")).logins).toHaveLength(256);
  });

  test("ends by logout", async () => {
    const home = await newHome();
    const access = await Access.open({ home });
    const [one, other] = [await access.login(access.newCode()), await access.login(access.newCode())];
    await access.logout(one!.id);
    await access.logout("unknown");
    expect(access.ofLogin(one!.id)).toBeUndefined();
    const after = await Access.open({ home });
    expect([after.ofLogin(one!.id), after.ofLogin(other!.id)?.principal]).toEqual([undefined, "local"]);
  });

  test("expires", async () => {
    const { time, clock } = clockAt("2026-11-15T12:00:00Z");
    const access = await Access.open({ home: await newHome(), clock });
    const login = await access.login(access.newCode());
    expect(login!.expires.toISOString()).toBe("2026-11-22T12:00:00.000Z");
    time.now = login!.expires.getTime();
    expect(access.ofLogin(login!.id)).toBeUndefined();
  });

  test("is created anew after the file was damaged", async () => {
    const home = await newHome();
    await writeFile(join(home, "logins.json"), "{", { mode: 0o600 });
    const access = await Access.open({ home });
    expect(access.ofLogin((await access.login(access.newCode()))!.id)?.principal).toBe("local");
  });

  test("has a cookie name per home, because cookies ignore ports", async () => {
    const [one, other] = [
      await Access.open({ home: await newHome() }),
      await Access.open({ home: await newHome() }),
    ];
    expect(one.cookie).not.toBe(other.cookie);
  });
});
