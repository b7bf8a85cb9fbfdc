import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
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
  root = mkdtempSync(join(tmpdir(), "bootstrap-"));
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
async function start(...args: string[]): Promise<string> {
  const env = { ...process.env, NODE_COMPILE_CACHE: join(root, "compiled") };
  const { stdout } = await execute(
    process.execPath,
    [join(root, "scripts/bootstrap.mjs"), "start", ...args],
    { env },
  );
  return stdout.trim();
}

describe("npm start", () => {
  it("runs from the bundle while that is the same as the sources, and from these otherwise", async () => {
    expect(await start("--port", "0")).toBe("bundle up --port 0");
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
