import { execFile } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { root as repository } from "../root.ts";
import { BUNDLE_RECORD, BUNDLES, stateOf } from "./bundle-state.mjs";
import { readStamp, writeStamp } from "./stamp.mjs";

const execute = promisify(execFile);
const MAIN = "packages/cli/src/main.ts";
const BUNDLED = join(BUNDLES, "one", "main.mjs");

/** A repository that is installed, with a program that says where it runs from, and a bundle of it. */
let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "a boot strap-"));
  cpSync(join(repository, "scripts/bootstrap.mjs"), join(root, "scripts/bootstrap.mjs"));
  cpSync(join(repository, "scripts/bootstrap"), join(root, "scripts/bootstrap"), { recursive: true });
  put("package.json", '{ "type": "module" }');
  put("package-lock.json", "{}");
  mkdirSync(join(root, "node_modules/node/bin"), { recursive: true });
  symlinkSync(process.execPath, join(root, "node_modules/node/bin/node"));
  writeStamp(root, false);
  put(MAIN, 'console.log("sources", ...process.argv.slice(2));');
  put(BUNDLED, 'console.log("bundle", ...process.argv.slice(2));');
  put("packages/inspector/dist/index.html", "");
  record();
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function record(): void {
  const fingerprint = readStamp(root)?.fingerprint;
  put(
    BUNDLE_RECORD,
    JSON.stringify({ folder: "one", fingerprint, sources: { [MAIN]: stateOf(join(root, MAIN)) } }),
  );
}

/** What is said by `npm start`. */
async function start({ args = [], env = {} }: { args?: string[]; env?: object } = {}): Promise<string> {
  const { stdout } = await execute(
    process.execPath,
    [join(root, "scripts/bootstrap.mjs"), "start", ...args],
    { env: { ...process.env, NODE_COMPILE_CACHE: join(root, "compiled"), ...env } },
  );
  return stdout.trim();
}

/** Has the next commands meet an npm that notes what it was asked, and then does as told. */
function useNpm(then: string): Record<string, string> {
  const note = `appendFileSync(${JSON.stringify(join(root, "npm.log"))}, process.argv[2] + "\\n");`;
  put("npm-cli.js", `import { appendFileSync } from "node:fs"; ${note} ${then}`);
  return { npm_execpath: join(root, "npm-cli.js") };
}

/** What a command that fails says on stderr. */
async function failure(env: Record<string, string>): Promise<string> {
  const failed = execute(process.execPath, [join(root, "scripts/bootstrap.mjs"), "start"], {
    env: { ...process.env, ...env },
  });
  return failed.then(
    () => expect.unreachable("the command was to fail"),
    ({ stderr }: { stderr: string }) => stderr,
  );
}

describe("an install", () => {
  it("that was cut short is begun anew, from nothing, also when the lockfile is as it was before", async () => {
    put("node_modules/.package-lock.json", "{}");
    writeStamp(root, false);
    put("package-lock.json", '{ "another": true }');
    expect(await failure(useNpm('process.kill(process.pid, "SIGKILL");'))).toContain("could not install");
    put("package-lock.json", "{}");
    expect(await start({ env: useNpm("") })).toBe("sources up");
    expect(readFileSync(join(root, "npm.log"), "utf8")).toBe("install\nci\n");
    expect(await start()).toBe("sources up");
    expect(readFileSync(join(root, "npm.log"), "utf8")).toBe("install\nci\n");
  });

  it("that npm gave up by itself leaves what was there, which still serves its own lockfile", async () => {
    put("node_modules/.package-lock.json", "{}");
    writeStamp(root, false);
    put("package-lock.json", '{ "another": true }');
    const said = await failure(useNpm('console.error("npm error code ENOTFOUND"); process.exit(1);'));
    expect(said).toContain("check the network");
    put("package-lock.json", "{}");
    expect(await start()).toBe("sources up");
    expect(readFileSync(join(root, "npm.log"), "utf8")).toBe("install\n");
  });

  it("into a folder that cannot be written to says what to do", async () => {
    rmSync(join(root, "node_modules/.reins-install.json"));
    rmSync(join(root, ".cache"), { recursive: true });
    put(".cache", "no folder");
    const said = await failure(useNpm(""));
    expect(said).toContain("The packages could not be installed");
    expect(said).not.toContain("    at ");
  });
});

describe("npm start", () => {
  it("says that the page could not be built, and runs all the same", async () => {
    rmSync(join(root, "packages/inspector/dist"), { recursive: true });
    rmSync(join(root, ".cache"), { recursive: true });
    put(".cache", "no folder");
    const { stdout, stderr } = await execute(process.execPath, [
      join(root, "scripts/bootstrap.mjs"),
      "start",
    ]);
    expect(stdout).toBe("sources up\n");
    expect(stderr).toContain("The page could not be built.");
  });

  it("runs from the bundle while that is the same as the sources, and from these otherwise", async () => {
    expect(await start({ args: ["--port", "0"] })).toBe("bundle up --port 0");
    put(MAIN, 'console.log("new sources");');
    expect(await start()).toBe("new sources");
    record();
    expect(await start()).toBe("bundle up");
    rmSync(join(root, BUNDLED));
    expect(await start()).toBe("new sources");
  });

  it("says that the program could not be bundled, and runs all the same", async () => {
    put(MAIN, 'console.log("new sources");');
    const { stdout, stderr } = await execute(process.execPath, [
      join(root, "scripts/bootstrap.mjs"),
      "start",
    ]);
    expect(stdout).toBe("new sources\n");
    expect(stderr).toContain("The program could not be bundled; it runs from its sources.");
  });

  it("keeps the bundle it runs from from being removed", async () => {
    put(
      BUNDLED,
      'import { readdirSync } from "node:fs"; console.log(readdirSync(new URL("users", import.meta.url)).length);',
    );
    expect(await start()).toBe("1");
    expect(readdirSync(join(root, BUNDLES, "one", "users"))).toEqual([]);
  });
});
