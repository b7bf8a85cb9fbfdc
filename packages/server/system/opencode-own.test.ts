import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Catalogue } from "@reins/agents";
import { expect, onTestFinished, test } from "vitest";
import { root } from "../../../scripts/root.ts";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import { testAgents } from "../../agents/test/test-agents.ts";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { opencodeClient } from "./fixtures/opencode.ts";

const home = agentsForAll();
const run = promisify(execFile);

interface Route {
  readonly methods: ReadonlySet<string>;
  /** Names of parameters are left out; a star at the end stands for anything. */
  readonly path: string;
}

const METHOD = /^[A-Z]+$/;
const plain = (path: string) => path.replaceAll(/\{\w+\}/g, "{}");

/** The routes that a section of the documentation names: a path without a method has that of the path before. */
function routesIn(text: string): readonly Route[] {
  const routes: Route[] = [];
  let methods: string[] = [];
  let isPending = false;
  for (const [, token = ""] of text.matchAll(/`([^`\n]+)`/g)) {
    const [first = "", path] = token.split(" ");
    if (METHOD.test(first)) {
      methods = isPending ? [...methods, first] : [first];
      isPending = path === undefined;
    }
    const named = path ?? first;
    if (!named.startsWith("/")) continue;
    const isAny =
      named.endsWith("*") || named === "/pty" || /^\/experimental\/(?:tool|worktree)$/.test(named);
    routes.push({ methods: new Set(isAny ? [] : methods), path: plain(named) });
  }
  return routes;
}

function isNamed(routes: readonly Route[], method: string, path: string): boolean {
  return routes.some((route) => {
    if (route.methods.size > 0 && !route.methods.has(method)) return false;
    const isBelow = route.path.endsWith("*") && path.startsWith(route.path.slice(0, -1));
    return isBelow || route.path === path;
  });
}

test("each call of the published SDK is mapped or not as the documentation says", async () => {
  const source = fileURLToPath(import.meta.resolve("@opencode-ai/sdk/v2/client"));
  const generated = await readFile(join(source, "../gen/sdk.gen.js"), "utf8");
  const calls = new Set(
    [...generated.matchAll(/client\)\.(?:sse\.)?(get|post|put|patch|delete)\(\{\s*url: "([^"]+)"/g)].map(
      ([, method = "", url = ""]) => `${method.toUpperCase()} ${plain(url)}`,
    ),
  );
  expect(calls.size).toBeGreaterThan(150);
  const documentation = await readFile(join(root, "docs/opencode.md"), "utf8");
  const [, mapped = "", unmapped = ""] = documentation.split(/^## What is (?:not )?mapped$/m);
  const [isMapped, isUnmapped] = [routesIn(mapped), routesIn(unmapped)];
  const { address, access } = await serveAgents(home());
  const differing: unknown[] = [];
  for (const call of calls) {
    const [method = "", path = ""] = call.split(" ");
    const end = new AbortController();
    const response = await fetch(`${address}/opencode${path.replaceAll("{}", "x")}`, {
      method,
      headers: { authorization: `Bearer ${access.token}`, "content-type": "application/json" },
      ...(method !== "GET" && method !== "DELETE" && { body: "{}" }),
      signal: end.signal,
    });
    end.abort();
    const found = response.status !== 501;
    const said = [isNamed(isMapped, method, path), isNamed(isUnmapped, method, path)];
    if (said[0] !== found || said[1] === found) differing.push({ call, status: response.status, said });
  }
  expect(differing).toEqual([]);
});

test.skipIf(!registryAnswers)(
  `OpenCode's command line prompts, continues, and rejects what a rule asks about${NEEDS_REGISTRY}`,
  { timeout: 600_000 },
  async () => {
    const { folder } = await testAgents().install("opencode");
    const { start } = Catalogue.load().entry("opencode");
    const own = await mkdtemp(join(tmpdir(), "opencode-own-"));
    onTestFinished(() => rm(own, { recursive: true, force: true }));
    const { workspace } = home();
    const { address, access } = await serveAgents(home());
    const opencode = async (prompt: string, ...more: readonly string[]) => {
      const options = ["--attach", `${address}/opencode`, "--dir", workspace, "--format", "json"];
      const env = { PATH: process.env.PATH, HOME: own, OPENCODE_SERVER_PASSWORD: access.token };
      const program = join(folder, Object(start?.file)[`${process.platform}-${process.arch}`]);
      const running = run(program, ["run", ...options, ...more], { cwd: own, env });
      // It quotes words of its command line.
      running.child.stdin?.end(prompt);
      const { stdout } = await running;
      return stdout.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
    };
    const textIn = (events: readonly { readonly type: string; readonly part: { readonly text: string } }[]) =>
      events.flatMap(({ type, part }) => (type === "text" ? [part.text] : [])).join("");
    const first = await opencode("say hello");
    expect(textIn(first)).toContain("hello");
    const [{ sessionID }] = first;
    for (const word of ["more", "again"]) {
      const next = await opencode(`say ${word}`, "--continue");
      expect(textIn(next)).toContain(word);
      expect(next[0].sessionID).toBe(sessionID);
    }
    const path = join(workspace, "own.txt");
    const refused = await opencode(`write ${path}`, "--session", sessionID);
    expect(refused.filter(({ type }) => type === "tool_use")).toMatchObject([
      { part: { state: { status: "error" } } },
    ]);
    expect(existsSync(path)).toBe(false);
    const client = opencodeClient({ address, token: access.token }, workspace);
    const { data = [] } = await client.session.messages({ sessionID });
    const turns = Array.from({ length: 4 }, () => ["user", "assistant"]);
    expect(data.map(({ info }) => info.role)).toEqual(turns.flat());
  },
);
