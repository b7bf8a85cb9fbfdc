import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ControlEvent, Decided, Principal, RequestContext, Subject } from "@reins/supervisor";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type FolderOptions, type FolderRequest, reachesAll, SessionFolders } from "./session-folders.ts";

let base: string;
let home: string;
let userHome: string;
let given: string;
let other: string;
let refusals: { readonly event: ControlEvent; readonly reason: string | undefined }[];

beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "session-folders-")));
});
afterAll(() => rm(base, { recursive: true, force: true }));
beforeEach(async () => {
  await rm(base, { recursive: true, force: true });
  [home, userHome] = [join(base, "user", ".reins"), join(base, "user")];
  [given, other] = [join(base, "given"), join(base, "other")];
  for (const folder of [home, join(given, "project"), other]) await mkdir(folder, { recursive: true });
  refusals = [];
});

const principal = (own: Partial<Principal> = {}): Principal => ({
  ...{ id: "tok_1", kind: "user", user: "ann", tenant: "acme", roles: [], scopes: ["*"], agents: ["*"] },
  started: "interactive",
  ...own,
});
const START = { tool: "session/new", effects: [], opaque: false, doubts: [], claims: {}, arguments: {} };
const OPERATOR = principal({ id: "local", tenant: "default", user: "operator", roles: ["admin"] });

/** Folders of a home in which `acme` was given one. */
function folders(more: Partial<FolderOptions> = {}): SessionFolders {
  const harness = {
    home,
    identity: { subjectFor: (claimed: object) => claimed },
    supervisor: {
      decide: async (
        event: ControlEvent,
        _: Subject,
        { bounds }: RequestContext,
      ): Promise<Partial<Decided>> => {
        const reason = bounds?.(event, START);
        refusals.push({ event, reason });
        return { verdict: "blocked", reason: reason ?? "", enforcement: "performed", entry: "cid" };
      },
    },
  } as unknown as FolderOptions["harness"];
  return new SessionFolders({ harness, userHome, tenants: { acme: [given] }, ...more });
}

const request = (cwd: unknown, more: Partial<FolderRequest> = {}): FolderRequest => ({
  ...{ principal: principal(), agent: "stub", method: "session/new", cwd, isConfined: false },
  ...more,
});

describe("a folder of a tenant in another of its folders", () => {
  const nested = () => join(given, "project", "inner");
  const own = () => folders({ tenants: { acme: [nested(), given] } });
  const beyond = (at: string) => own().beyond(principal(), at);

  test("is a folder like any other, and the first of them is where relative paths start", async () => {
    await mkdir(nested(), { recursive: true });
    expect(await own().callerPlace(principal())).toEqual({ cwd: nested(), roots: [nested(), given] });
    expect(await beyond(join(nested(), "file"))).toBeUndefined();
  });

  test.each([
    ["it", () => nested()],
    ["the folder that it lies in", () => join(given, "project")],
  ])("leads nowhere else where a link takes the place of %s", async (_, placeOf) => {
    await mkdir(join(other, "inner"), { recursive: true });
    const place = placeOf();
    await rm(place, { recursive: true, force: true });
    await symlink(place === nested() ? join(other, "inner") : other, place);
    expect(await realpath(nested())).toBe(join(other, "inner"));
    expect(await beyond(join(other, "inner", "file"))).toContain("not in a folder");
    expect(await own().callerPlace(principal())).toEqual({ cwd: given, roots: [given] });
    await expect(own().admit(request(nested()))).rejects.toThrow("is not in a folder");
  });

  test("may be reached by a link that the operator made beside them", async () => {
    await mkdir(nested(), { recursive: true });
    await symlink(given, join(base, "linked"));
    const linked = folders({ tenants: { acme: [join(base, "linked"), join(base, "linked/project")] } });
    const roots = [given, join(given, "project")];
    expect(await linked.callerPlace(principal())).toEqual({ cwd: given, roots });
  });
});

describe("the folders of a session", () => {
  test("are those that lie in what the tenant was given, by where they really are", async () => {
    await symlink(join(given, "project"), join(given, "link"));
    const place = await folders().admit(request(join(given, "link"), { additional: [given] }));
    expect(place).toMatchObject({ cwd: join(given, "project"), additional: [given] });
    expect(place.real).toEqual([join(given, "project"), given]);
    expect(Object.keys(place.identities)).toEqual([join(given, "project"), given]);
    expect(refusals).toEqual([]);
  });

  test.each<[string, () => string | Promise<string>]>([
    ["elsewhere", () => other],
    ["in a folder whose name begins the same", () => `${given}-too`],
    ["above", () => base],
    ["elsewhere by its dots", () => `${given}/../other`],
    [
      "elsewhere by a link",
      async () => {
        await symlink(other, join(given, "link"));
        return join(given, "link");
      },
    ],
    [
      "where a link leads to nothing",
      async () => {
        await symlink(join(other, "none"), join(given, "link"));
        return join(given, "link", "deeper");
      },
    ],
    ["in a missing folder elsewhere", () => join(other, "none")],
  ])("are refused, on the record, where one lies %s", async (_, pathOf) => {
    const cwd = await pathOf();
    await expect(folders().admit(request(cwd))).rejects.toMatchObject({ code: -32010 });
    await expect(folders().admit(request(given, { additional: [cwd] }))).rejects.toThrow(
      "is not in a folder that the tenant acme was given",
    );
    expect(refusals.map(({ event }) => event.event_type)).toEqual(["session_start", "session_start"]);
    expect(refusals[0]?.reason).toContain(cwd);
  });

  test("that are not there are said to be missing only in what the tenant was given", async () => {
    await writeFile(join(given, "file"), "");
    const missing = folders().admit(request(join(given, "none")));
    await expect(missing).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining("no folder"),
    });
    await expect(folders().admit(request(join(given, "file")))).rejects.toThrow("is not a folder");
    await expect(folders().admit(request(join(other, "none")))).rejects.toThrow("acme was given");
  });

  test.each([undefined, 7, "", "relative", "~/x", "/a\0b", ["/w"]])(
    "have absolute paths, which %j is not",
    async (cwd) => {
      await expect(folders().admit(request(cwd))).rejects.toMatchObject({ code: -32602 });
      await expect(folders().admit(request(given, { additional: [cwd] }))).rejects.toThrow("absolute");
      expect(refusals).toEqual([]);
    },
  );

  test("of a child lie in those of the session that begins it", async () => {
    const above = [join(given, "project")];
    await expect(folders().admit(request(given, { above }))).rejects.toThrow(
      "the session that begins this one",
    );
    await mkdir(join(given, "project", "src"));
    expect(await folders().admit(request(join(given, "project", "src"), { above }))).toMatchObject({
      cwd: join(given, "project", "src"),
    });
    const child = request(other, { principal: OPERATOR, above });
    await expect(folders().admit(child)).rejects.toThrow("the session that begins this one");
  });

  test("of the operator may be any, but never the machine, its system, the home or what Reins keeps", async () => {
    const admit = (cwd: string, isConfined = false) =>
      folders().admit(request(cwd, { principal: OPERATOR, isConfined }));
    expect(await admit(other)).toMatchObject({ cwd: other });
    await expect(admit("/")).rejects.toThrow();
    for (const folder of ["/proc", "/proc/self", "/dev", "/sys"])
      if (process.platform === "linux") await expect(admit(folder), folder).rejects.toThrow("system");
    await expect(admit(userHome)).rejects.toThrow("holds the files of Reins itself");
    await expect(admit(userHome, true)).rejects.toThrow("whole home");
    await expect(admit(home, true)).rejects.toThrow("holds the files of Reins itself");
    await mkdir(join(home, "keys"));
    await expect(admit(join(home, "keys"), true)).rejects.toThrow("lies in the files of Reins itself");
    await mkdir(join(userHome, "project"));
    expect(await admit(join(userHome, "project"))).toMatchObject({ cwd: join(userHome, "project") });
  });
});

describe("the folder of a session that names none", () => {
  test("is the workspace of the default tenant, and the first that another was given", async () => {
    const own = folders({ workspace: other });
    expect(await own.defaultFor(OPERATOR)).toBe(other);
    expect(await own.defaultFor(principal({ tenant: "default" }))).toBe(other);
    expect(await own.defaultFor(principal())).toBe(given);
  });

  test("is made beside the home for a tenant that was given none", async () => {
    const made = join(userHome, ".reins-workspaces", "solo");
    expect(await folders().defaultFor(principal({ tenant: "solo" }))).toBe(made);
    const admitted = await folders().admit(request(made, { principal: principal({ tenant: "solo" }) }));
    expect(admitted.cwd).toBe(made);
  });

  test("is none for a tenant whose list is empty", async () => {
    const none = folders({ tenants: { acme: [] } });
    await expect(none.defaultFor(principal())).rejects.toThrow("was given no folder to work in");
    await expect(none.admit(request(given))).rejects.toThrow("which are none");
  });

  test("is not taken from a tenant named like a member of every object", async () => {
    const made = await folders().defaultFor(principal({ tenant: "constructor" }));
    expect(made).toBe(join(userHome, ".reins-workspaces", "constructor"));
  });
});

describe("what Reins reads for a principal", () => {
  test("lies in the folders of its tenant, or anywhere for the operator", async () => {
    const own = folders();
    expect(await own.beyond(principal(), join(given, "a"))).toBeUndefined();
    expect(await own.beyond(principal(), `${given}-too/a`)).toContain("the tenant acme was given");
    expect(await own.beyond(OPERATOR, "/etc/hosts")).toBeUndefined();
  });

  test("lies anywhere for admins of the default tenant, and of no other", () => {
    const admin = { roles: ["admin"] };
    expect(reachesAll(OPERATOR)).toBe(true);
    expect(reachesAll(principal({ ...admin, tenant: "default" }))).toBe(true);
    expect(reachesAll(principal(admin))).toBe(false);
    expect(reachesAll(principal({ ...admin, tenant: "default", kind: "agent" }))).toBe(false);
    expect(reachesAll(principal({ tenant: "default" }))).toBe(false);
  });
});
