import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { SessionFolders } from "../src/governor/session-folders.ts";
import { govern } from "./fixtures/governed.ts";
import { openTestHome } from "./fixtures/home.ts";

/** A user without roles who says yes to whatever their own agent asks. */
async function agreeable(enforcement: "asked" | "confined" = "asked") {
  const home = await openTestHome();
  const { harness, workspace } = home;
  const own = join(workspace, "own");
  await mkdir(own);
  await mkdir(join(workspace, "others"));
  await writeFile(join(workspace, "others", "plan.txt"), "the plan of others");
  await writeFile(join(own, "notes.txt"), "notes of one's own");
  await symlink("../others", join(own, "link"));
  const { identity } = harness;
  await identity.addUser({ id: "ann", name: "Ann", email: "ann@example.com", roles: [], scopes: ["*"] });
  const { secret } = await identity.createToken({ user: "ann", agents: ["*"] });
  const principal = await identity.authenticate(secret);
  if (!principal) throw new Error("the token is not known");
  const folders = new SessionFolders({ harness, workspace: own });
  const governed = await govern({ home, principal, folders, enforcement, person: () => "allow_once" });
  return { ...governed, own };
}

describe("a file that a user names in a prompt", () => {
  const named = ["@{base}/others/plan.txt", "@../others/plan.txt", "@link/plan.txt", "@{base}/others"];
  test.each(named)(
    "outside of the folders of their tenant is not read, though they agree: %s",
    async (name) => {
      const { agent, call, begin, own, workspace, offered } = await agreeable();
      const text = `see @notes.txt and ${name.replace("{base}", workspace)}`;
      const link = { type: "resource_link", name: "x", uri: `file://${workspace}/others/plan.txt` };
      const sessionId = await begin({ cwd: own });
      await call("session/prompt", { sessionId, prompt: [link, { type: "text", text }] });
      const told = JSON.stringify(agent.got.filter(({ method }) => method === "session/prompt"));
      expect(told).toContain("notes of one's own");
      expect(told).toContain("is not in a folder that the tenant default was given");
      expect(told).not.toMatch(/the plan of others|which the prompt names\]\\nplan/u);
      expect(offered).toEqual([]);
    },
  );
});

describe("a refusal of what lies outside of a user's folders", () => {
  /** Names of things outside, each with one for something that is not there. */
  const PAIRS: [string, string][] = [
    ["{base}/others/plan.txt", "{base}/others/nope.txt"],
    ["../others/plan.txt", "../others/nope.txt"],
    ["link/plan.txt", "link/nope.txt"],
    ["{base}/others/deep/x.txt", "{base}/others/deap/x.txt"],
    ["{base}/others/plan.txt/x", "{base}/others/nope.txt/x"],
    ["{base}/others", "{base}/other5"],
    ["{base}/others/.env", "{base}/others/.enw"],
    ["dangling-there", "dangling-nope"],
    ["twice-there", "twice-nope"],
  ];

  test("is the same whether there is something or not, named in any way", async () => {
    const { agent, call, begin, own, workspace, offered } = await agreeable();
    await mkdir(join(workspace, "others/deep"));
    for (const file of ["deep/x.txt", ".env"])
      await writeFile(join(workspace, "others", file), "KEY=of others");
    for (const [name, target] of [
      ["dangling-there", "../others/plan.txt"],
      ["dangling-nope", "../others/nope.txt"],
      ["twice-there", "dangling-there"],
      ["twice-nope", "dangling-nope"],
    ] as const)
      await symlink(target, join(own, name));
    const sessionId = await begin({ cwd: own });
    const told = async (block: object) => {
      const before = agent.got.length;
      const answer = await call("session/prompt", { sessionId, prompt: [block] });
      return JSON.stringify([answer, agent.got.slice(before).map(({ params }) => params.prompt)]);
    };
    const ways: ((name: string) => object)[] = [
      (name) => ({ type: "text", text: `see @${name} now` }),
      (name) => ({ type: "text", text: `see mail@${name}, now` }),
      (name) => ({ type: "text", text: `see @"${name}".` }),
      (name) => ({ type: "resource_link", name: "x", uri: `file://${resolve(own, name)}` }),
      (name) => ({ type: "resource", resource: { uri: name.startsWith("/") ? `file://${name}` : name } }),
    ];
    for (const [there, nope] of PAIRS)
      for (const way of ways) {
        const heard: string[] = [];
        for (const pattern of [there, nope]) {
          const name = pattern.replace("{base}", workspace);
          const said = await told(way(name));
          heard.push(said.replaceAll(resolve(own, name), "NAME").replaceAll(name, "NAME"));
        }
        const [one, other] = heard;
        expect(one, there).toContain("which was not read");
        expect(one, there).toBe(other);
        expect(one, there).not.toContain("of others");
      }
    expect(offered).toEqual([]);
  });

  test("of a session's folder is the same too", async () => {
    const { call, own, workspace } = await agreeable();
    await symlink("../others", join(own, "dangling-there"));
    await symlink("../nope", join(own, "dangling-nope"));
    for (const [there, nope] of [
      [join(workspace, "others"), join(workspace, "other5")],
      [join(own, "dangling-there"), join(own, "dangling-nope")],
    ] as const) {
      const refusals = [];
      for (const cwd of [there, nope]) {
        const { code, message } = await call("session/new", { cwd, mcpServers: [] }).catch((error) => error);
        refusals.push({ code, message: String(message).replaceAll(cwd, "NAME") });
      }
      expect(refusals[0]).toEqual(refusals[1]);
    }
  });
});

test("a program that a confined user names as an MCP server is not started outside of the sandbox", async () => {
  const { call, own, offered } = await agreeable("confined");
  const server = { name: "mine", command: "/bin/sh", args: ["./x.sh"], env: [] };
  const begun = await call("session/new", { cwd: own, mcpServers: [server] });
  expect(JSON.stringify(begun)).toContain("it would run outside of the sandbox");
  expect(offered).toEqual([]);
});
