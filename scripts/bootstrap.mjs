// Runs on whatever Node the machine has (18 or newer), before anything is installed: no dependencies, no
// TypeScript. What only a first run needs is imported when it is needed, so that a warm start stays cheap.
import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { isatty } from "node:tty";
import { fileURLToPath, pathToFileURL } from "node:url";
import { BUNDLE_ENTRY, freshBundle } from "./bootstrap/bundle-state.mjs";
import { useBundle } from "./bootstrap/bundle-use.mjs";
import { boundCompileCache, compileCacheFolder } from "./bootstrap/cache-folder.mjs";
import { commandLine, commandNames } from "./bootstrap/commands.mjs";
import { isPageBuilt } from "./bootstrap/page-state.mjs";
import { watchParent } from "./bootstrap/parent.mjs";
import { isInstalled, readStamp } from "./bootstrap/stamp.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const pinnedNode = join(root, "node_modules/node/bin", process.platform === "win32" ? "node.exe" : "node");
const [name = "", ...args] = process.argv.slice(2);

const command = commandLine(name, args);
if (!command) {
  console.error(`Unknown command "${name}". Use one of: ${commandNames.join(", ")}.`);
  process.exit(64);
}

if (!isInstalled(root, command.needsDevelopmentPackages) || !existsSync(pinnedNode)) {
  const { install } = await import("./bootstrap/install.mjs");
  const problem = await install(root, pinnedNode, command.needsDevelopmentPackages);
  if (problem) {
    console.error(problem);
    process.exit(1);
  }
}

if (command.needsPage && !isPageBuilt(root)) {
  const { buildPage } = await import("./bootstrap/page.mjs");
  const problem = await buildPage(root, pinnedNode);
  // Everything but the page works without it.
  if (problem) console.error(problem);
}

const bundle = command.needsBundle ? await findBundle() : undefined;
const isOurs = bundle !== undefined && useBundle(bundle);
process.env.PATH = dirname(pinnedNode) + delimiter + (process.env.PATH ?? "");
process.env.NODE_COMPILE_CACHE ??= compileCache();
const [script = "", ...rest] = command.line;
const source = join(root, script);
const scriptPath = bundle ? join(bundle, BUNDLE_ENTRY) : source;

if (process.execPath === pinnedNode) await runHere();
else await runOnPinnedNode();

/** The folder of a bundle to run from; undefined to run from the sources, which is slower and otherwise the same. */
async function findBundle() {
  const fingerprint = readStamp(root)?.fingerprint ?? "";
  const fresh = freshBundle(root, fingerprint);
  if (fresh) return fresh;
  const { buildBundle } = await import("./bootstrap/bundle.mjs");
  const problem = await buildBundle(root, pinnedNode, fingerprint);
  if (problem) console.error(problem);
  return freshBundle(root, fingerprint);
}

function compileCache() {
  // That of a bundle goes with it: it is of no use to the next.
  if (isOurs) return join(bundle, "compiled");
  const folder = compileCacheFolder(process.platform, process.env);
  boundCompileCache(folder);
  return folder;
}

// npm puts node_modules/.bin first on PATH, so after the first install this already is the pinned Node, and a
// second process would only cost time and memory.
async function runHere() {
  const { enableCompileCache } = await import("node:module");
  enableCompileCache(process.env.NODE_COMPILE_CACHE);
  watchParent(() => process.kill(process.pid, "SIGTERM"));
  process.argv.splice(1, Infinity, source, ...rest);
  await import(pathToFileURL(scriptPath).href);
}

async function runOnPinnedNode() {
  const { spawn } = await import("node:child_process");
  const child = spawn(pinnedNode, [scriptPath, ...rest], { stdio: "inherit" });
  watchParent(() => child.kill("SIGTERM"));
  child.on("error", (error) => {
    console.error(`Cannot run the pinned Node, ${pinnedNode}: ${error.message}`);
    console.error(
      "It comes for Linux with glibc, macOS and Windows. Was node_modules made on another machine?",
    );
    console.error("If so, delete node_modules and run the same command again.");
    process.exit(1);
  });
  const isTerminal = isatty(0) || isatty(2);
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
    process.on(signal, () => {
      // A Ctrl-C in a terminal reaches the whole foreground group, the child included: passing it on would make
      // one press look like two.
      if (signal !== "SIGINT" || !isTerminal) child.kill(signal);
    });
  }
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
