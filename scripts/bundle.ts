// Makes one program of a few files out of what `npm start` runs: a start that loads thirty files takes half the time of
// one that loads fifteen hundred. Nothing but the bootstrap runs it, with the fingerprint of what is installed.
import { randomBytes } from "node:crypto";
import { glob, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { build, normalizePath } from "vite";
import { BUNDLE_RECORD, BUNDLES, readBundleRecord } from "./bootstrap/bundle-state.mjs";
import { isBundleUsed } from "./bootstrap/bundle-use.mjs";
import { builtins } from "./bundle/builtins.ts";
import { Sources } from "./bundle/sources.ts";
import { root } from "./root.ts";

/** These find files of their own by where they lie. */
const LEFT_OUT = ["better-sqlite3", "web-tree-sitter"];
/**
 * What a start loads, in this order, each with all that it imports and that is in no file before it: a command that asks
 * a running Reins loads no server. Left to itself the bundler shares out what several commands import among a hundred
 * files.
 */
const LOADED_TOGETHER = [
  "program.ts",
  "client/operation-command.ts",
  "commands/ledger/ledger.ts",
  "commands/policy/policy.ts",
  "commands/up/up.ts",
];
/** What decides about the bundle without being in it. */
const DECIDING = ["tsconfig.json", "packages/*/package.json", "scripts/bundle.ts", "scripts/bundle/*.ts"];

const [fingerprint = ""] = process.argv.slice(2);
const name = randomBytes(6).toString("hex");
const folder = join(root, BUNDLES, name);
const sources = new Sources(root, folder);

const before = readBundleRecord(root)?.folder;
try {
  for await (const path of glob(DECIDING, { cwd: root })) sources.note(join(root, path));
  await bundle({ main: normalizePath(join(root, "packages/cli/src/main.ts")) });
  // Apart from the program, so that a thread loads nothing of it.
  await bundle(Object.fromEntries(sources.started));
  await publish();
  await removeOthers([name, before]);
} catch (error) {
  await rm(folder, { recursive: true, force: true });
  throw error;
}

async function bundle(input: Record<string, string>): Promise<void> {
  await build({
    configFile: false,
    root,
    logLevel: "warn",
    publicDir: false,
    plugins: [builtins(), sources.plugin(Object.values(input))],
    ssr: { noExternal: true, external: LEFT_OUT },
    build: {
      ssr: true,
      outDir: folder,
      emptyOutDir: false,
      sourcemap: true,
      target: "esnext",
      rolldownOptions: {
        input,
        output: {
          entryFileNames: "[name].mjs",
          chunkFileNames: "[name]-[hash].mjs",
          codeSplitting: { groups: LOADED_TOGETHER.map(fileOf) },
          comments: false,
          sourcemapExcludeSources: true,
        },
      },
    },
  });
}

function fileOf(path: string, index: number) {
  const module = normalizePath(join(root, "packages/cli/src", path));
  return {
    name: basename(path, ".ts"),
    test: (id: string) => id === module,
    priority: LOADED_TOGETHER.length - index,
  };
}

async function publish(): Promise<void> {
  const record = { folder: name, fingerprint, sources: sources.states };
  const fresh = join(folder, "bundle.json");
  await writeFile(fresh, JSON.stringify(record));
  await rename(fresh, join(root, BUNDLE_RECORD));
}

/** Who has just found the bundle before this one fresh may not have noted yet that it is used. */
async function removeOthers(kept: readonly (string | undefined)[]): Promise<void> {
  for (const one of await readdir(join(root, BUNDLES), { withFileTypes: true })) {
    const path = join(root, BUNDLES, one.name);
    if (!one.isDirectory() || kept.includes(one.name) || isBundleUsed(path)) continue;
    await rm(path, { recursive: true, force: true });
  }
}
