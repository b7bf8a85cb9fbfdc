import { execFile } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { root } from "../../../scripts/root.ts";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import { start } from "../src/start.ts";

const MAX_BYTES = 250 * 1000 * 1000;
const MAX_TOUR_MS = 60_000;
const PUBLISHED = ["ahp", "cli", "sdk", "verify"];
const BUILD_MS = 900_000;
const run = promisify(execFile);

describe.skipIf(!registryAnswers)(`what is published${NEEDS_REGISTRY}`, () => {
  let base: string;
  let folder: string;
  let tarballs: string[];

  /** An environment with an empty home, in which npm finds packages as it does on this machine. */
  const environment = (node = process.execPath): NodeJS.ProcessEnv => ({
    ...Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(?:REINS|XDG|VITEST)_/.test(name)),
    ),
    PATH: `${dirname(node)}:/usr/bin:/bin`,
    HOME: join(base, "home"),
    npm_config_userconfig: process.env.npm_config_userconfig ?? join(homedir(), ".npmrc"),
    npm_config_cache: process.env.npm_config_cache ?? join(homedir(), ".npm"),
    npm_config_update_notifier: "false",
  });
  const npm = (...args: readonly string[]) =>
    run("npm", ["--no-audit", "--no-fund", ...args], { cwd: folder, env: environment(), timeout: 300_000 });

  beforeAll(async () => {
    base = await realpath(await mkdtemp(join(tmpdir(), "reins-install-")));
    folder = join(base, "project");
    for (const name of ["home", "project", "tarballs", "workspace"]) await mkdir(join(base, name));
    await run(process.execPath, [join(root, "scripts/build.ts")], { cwd: root, timeout: BUILD_MS });
    for (const name of PUBLISHED)
      await run("npm", ["pack", "--pack-destination", join(base, "tarballs")], {
        cwd: join(root, "packages", name, "dist"),
        env: environment(),
      });
    tarballs = (await readdir(join(base, "tarballs"))).map((name) => join(base, "tarballs", name));
    await writeFile(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
    await writeFile(join(base, "workspace/package.json"), '{ "scripts": { "test": "echo fine" } }\n');
    await writeFile(join(base, "workspace/.env"), "KEY=1\n");
    const began = performance.now();
    await npm("install", ...tarballs);
    console.log(`installed in ${((performance.now() - began) / 1_000).toFixed(1)} s`);
    for (const name of ["tour.mjs", "elsewhere.mjs"])
      await cp(fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url)), join(folder, name));
  }, BUILD_MS);
  afterAll(() => rm(base, { recursive: true, force: true }));

  async function tour(node: string): Promise<void> {
    const began = performance.now();
    const { stdout } = await run(node, ["tour.mjs", join(base, "workspace")], {
      cwd: folder,
      env: environment(node),
      maxBuffer: 16 * 1024 * 1024,
    });
    const tookMs = performance.now() - began;
    console.log(`the tour took ${(tookMs / 1_000).toFixed(1)} s`);
    expect(JSON.parse(stdout)).toMatchObject({
      talk: expect.stringContaining("package.json"),
      write: expect.stringContaining("hello.txt is written"),
      tests: expect.stringContaining("I was not allowed to do that"),
      secret: expect.stringContaining("I was not allowed to do that"),
      asked: ["run_command: npm test"],
      proved: true,
      page: 200,
      html: expect.stringContaining("<script"),
    });
    expect(await readFile(join(base, "workspace/hello.txt"), "utf8")).toContain("hello");
    expect(tookMs).toBeLessThan(MAX_TOUR_MS);
  }

  test("is four packages, of which none needs one that is not published", async () => {
    const names = tarballs.map((path) =>
      path
        .split("/")
        .at(-1)
        ?.replace(/-\d.*$/, ""),
    );
    expect(names.toSorted()).toEqual(["reins", "reins-ahp", "reins-sdk", "reins-verify"]);
    const installed = await readdir(join(folder, "node_modules/@reins"));
    expect(installed.toSorted()).toEqual(["ahp", "sdk", "verify"]);
    const { dependencies } = JSON.parse(
      await readFile(join(folder, "node_modules/reins/package.json"), "utf8"),
    );
    expect(Object.keys(dependencies)).toEqual(["better-sqlite3", "web-tree-sitter"]);
    const bytes = await sizeOf(join(folder, "node_modules"));
    console.log(`it takes ${Math.round(bytes / 1_000_000)} MB`);
    expect(bytes).toBeLessThan(MAX_BYTES);
  });

  test("runs the tour on this Node", () => tour(process.execPath));

  let oldest: string | undefined;
  /** The oldest Node that the packages claim. */
  async function oldestNode(): Promise<string> {
    if (oldest !== undefined) return oldest;
    const { engines } = JSON.parse(await readFile(join(folder, "node_modules/reins/package.json"), "utf8"));
    const version = `${engines.node.replace(">=", "")}.0`;
    const prefix = join(base, "node");
    await npm("install", "--prefix", prefix, `node-${process.platform}-${process.arch}@${version}`);
    const node = join(prefix, `node_modules/node-${process.platform}-${process.arch}/bin/node`);
    expect((await run(node, ["--version"])).stdout.trim()).toBe(`v${version}`);
    oldest = node;
    return node;
  }

  test("runs the tour on the oldest Node that the packages claim", async () => tour(await oldestNode()));

  test("verifies a ledger on the oldest Node without a warning, and runs the examples there", async () => {
    const node = await oldestNode();
    const reins = (...args: readonly string[]) => {
      const running = run(join(folder, "node_modules/.bin/reins"), args, {
        cwd: join(base, "workspace"),
        env: { ...environment(node), REINS_LOG: "error", REINS_HOME: join(base, "home-of-oldest") },
      });
      running.child.stdin?.end();
      return running;
    };
    await reins("run", "what is in this folder");
    const { stdout, stderr } = await reins("ledger", "verify");
    expect(stdout).toContain("VERIFIED");
    expect(stderr).not.toContain("Warning");
    const server = await start({
      home: join(base, "home-of-oldest"),
      workspace: join(base, "workspace"),
      command: [node, join(folder, "node_modules/.bin/reins")],
      timeoutMs: 110_000,
    });
    onTestFinished(() => server.close());
    const env = { ...environment(node), REINS_URL: server.url, REINS_TOKEN: server.token };
    const examples = ["sdk-ci-gate.ts", "sdk-files.ts", "sdk-supervisor.ts"].map(
      (name) => `examples/${name}`,
    );
    await Promise.all(examples.map((path) => run(node, [path], { cwd: root, env })));
  });

  test.each([
    ["Deno", "deno", "2.9.6", ["run", "--no-lock", "--node-modules-dir=manual", "--allow-net=127.0.0.1"]],
    ["Bun", "bun", "1.4.4", ["run"]],
  ] as const)("drives an agent from %s", async (_, name, version, command) => {
    const prefix = join(base, name);
    await npm("install", "--prefix", prefix, `${name}@${version}`);
    const reins = await start({
      home: join(base, `home-of-${name}`),
      workspace: join(base, "workspace"),
      command: [process.execPath, join(folder, "node_modules/.bin/reins")],
      timeoutMs: 110_000,
    });
    onTestFinished(() => reins.close());
    const program = join(prefix, "node_modules/.bin", name);
    const { stdout } = await run(program, [...command, "elsewhere.mjs", reins.url, reins.token], {
      cwd: folder,
      env: { ...environment(), NO_COLOR: "1" },
    });
    expect(JSON.parse(stdout)).toEqual({
      types: expect.arrayContaining(["end", "prompt", "text", "tool"]),
      text: expect.stringContaining("I was not allowed to do that"),
      asked: ["run_command: npm test"],
      file: "another runtime",
      proved: true,
      missing: ["ApiError", "not_found"],
    });
  });

  test("is a command, installed globally or run by npx, with an empty home", async () => {
    const program = tarballs.find((path) => /\/reins-\d/.test(path))!;
    const prefix = join(base, "global");
    await npm("install", "--global", "--prefix", prefix, program);
    const options = { cwd: join(base, "workspace"), env: { ...environment(), REINS_LOG: "error" } };
    const reins = (...args: readonly string[]) => {
      const running = run(join(prefix, "bin/reins"), args, options);
      // `reins run` reads what is piped into it.
      running.child.stdin?.end();
      return running;
    };
    expect((await reins("--version")).stdout.trim()).toMatch(/^\d+\.\d+\.\d+$/);
    expect((await reins("run", "what is in this folder")).stdout).toContain("package.json");
    expect((await reins("ledger", "verify")).stdout).toContain("VERIFIED");
    const { stdout } = await npm("exec", "--yes", `--package=${program}`, "--", "reins", "--version");
    expect(stdout.trim()).toMatch(/^\d+\.\d+\.\d+$/);
  });

  test("starts as the container file says, with a token alone, and is healthy as its check asks", async () => {
    const file = await readFile(join(root, "Containerfile"), "utf8");
    const words = (name: string): string[] =>
      JSON.parse(new RegExp(`${name} (\\[.*\\])$`, "m").exec(file)?.[1] ?? "[]");
    const [program = "", ...first] = words("^ENTRYPOINT");
    const given = words("^CMD").map((word) => (word === "/workspace" ? join(base, "workspace") : word));
    const free = createServer().listen(0, "127.0.0.1");
    await once(free, "listening");
    const { port } = Object(free.address());
    await once(free.close(), "close");
    const env = { ...environment(), REINS_HOME: join(base, "home-of-container"), REINS_LOG: "error" };
    const started = (host: string, more: NodeJS.ProcessEnv = {}) =>
      execFile(
        join(folder, "node_modules/.bin", program),
        [...first, ...given.map((word) => (word === "0.0.0.0" ? host : word)), "--port", String(port)],
        { cwd: join(base, "workspace"), env: { ...env, ...more } },
        () => undefined,
      );
    expect(await once(started("0.0.0.0"), "exit")).toEqual([2, null]);
    const reins = started("127.0.0.1", { REINS_TOKEN: `reins_${"0".repeat(48)}` });
    onTestFinished(() => void reins.kill("SIGKILL"));
    const [check = "", ...args] = words("^ {2}CMD").map((word) => word.replace(":18789/", `:${port}/`));
    await expect
      .poll(
        () =>
          run(check, args, { env }).then(
            ({ stderr }) => stderr,
            () => "not healthy",
          ),
        { timeout: 60_000 },
      )
      .toBe("");
    reins.kill("SIGTERM");
    expect(await once(reins, "exit")).toEqual([0, null]);
  });

  test("has declarations that a TypeScript program compiles with", async () => {
    const program = `
import { AhpClient } from "@reins/ahp";
import { connect, type PromptEvent, rpcStream } from "@reins/sdk";
import { start, type StartedServer } from "@reins/sdk/start";
import { verifyProof } from "@reins/verify";
const reins: StartedServer = await start();
for await (const event of (await reins.sessions.create()).prompt("hello")) {
  const one: PromptEvent = event;
  if (one.type === "text") one.text satisfies string;
}
for await (const { id, facts } of reins.approvals.pending()) [id, facts.effects.length] satisfies [string, number];
// @ts-expect-error a number is no address
await connect(4);
// @ts-expect-error there is no such event
((event: PromptEvent) => event.type === "nothing");
export { AhpClient, rpcStream, verifyProof };
`;
    await writeFile(join(folder, "program.ts"), program);
    const compilerOptions = {
      ...{ target: "es2024", module: "nodenext", strict: true, noEmit: true, skipLibCheck: true },
      ...{ types: ["node"], typeRoots: [join(root, "node_modules/@types")] },
    };
    await writeFile(
      join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions, files: ["program.ts"] }),
    );
    const compiler = join(root, "node_modules/typescript/bin/tsc");
    const { stdout } = await run(process.execPath, [compiler, "-p", folder]).catch(
      (error: { readonly stdout: string }) => error,
    );
    expect(stdout).toBe("");
  });
});

test("npm link in a clone puts reins on the PATH, on any Node, and prints nothing else", async () => {
  const prefix = await realpath(await mkdtemp(join(tmpdir(), "reins-link-")));
  onTestFinished(() => rm(prefix, { recursive: true }));
  await mkdir(join(prefix, "lib"));
  await run("npm", ["link", "--no-audit", "--no-fund"], {
    cwd: root,
    env: { ...process.env, npm_config_prefix: prefix },
  });
  const { stdout } = await run("reins", ["--version"], {
    cwd: prefix,
    env: { ...process.env, PATH: `${join(prefix, "bin")}:${process.env.PATH}` },
  });
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

async function sizeOf(folder: string): Promise<number> {
  let bytes = 0;
  for (const path of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (path.isFile()) bytes += (await stat(join(path.parentPath, path.name))).size;
  return bytes;
}
