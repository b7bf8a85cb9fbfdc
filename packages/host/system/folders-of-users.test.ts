import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
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

test("a program that a confined user names as an MCP server is not started outside of the sandbox", async () => {
  const { call, own, offered } = await agreeable("confined");
  const server = { name: "mine", command: "/bin/sh", args: ["./x.sh"], env: [] };
  const begun = await call("session/new", { cwd: own, mcpServers: [server] });
  expect(JSON.stringify(begun)).toContain("it would run outside of the sandbox");
  expect(offered).toEqual([]);
});
