import { spawn } from "node:child_process";

// Given on the command line because that is stronger than any npmrc or environment variable a user may have: the
// install has to come out the same everywhere. No package runs anything: some would compile what they bring compiled.
const FLAGS = [
  "--no-audit",
  "--no-fund",
  "--no-update-notifier",
  "--loglevel=error",
  "--ignore-scripts",
  "--engine-strict=false",
  "--package-lock=true",
  "--package-lock-only=false",
  "--dry-run=false",
  "--global=false",
  "--include=optional",
  "--include=peer",
];
const KEPT_OUTPUT = 64 * 1024;

/**
 * npm's arguments for an install. `npm ci` empties node_modules first, so it is for a folder that holds no finished
 * install; otherwise packages are added and replaced in place, because a server may be running from there, and
 * `--no-save` keeps the lockfile as it is.
 * @param {{ fresh: boolean, development: boolean }} plan
 * @returns {string[]}
 */
export function installArguments({ fresh, development }) {
  const kind = fresh ? ["ci"] : ["install", "--no-save", "--prefer-offline"];
  return [...kind, development ? "--include=dev" : "--omit=dev", ...FLAGS];
}

/**
 * npm's arguments to run the install scripts of packages that are not whole without them.
 * @param {readonly string[]} packages
 * @returns {string[]}
 */
export function scriptArguments(packages) {
  const flags = ["--ignore-scripts=false", "--foreground-scripts=false", "--engine-strict=false"];
  return ["rebuild", ...packages, ...flags, "--loglevel=error", "--no-update-notifier", "--global=false"];
}

/**
 * Runs npm and keeps what it prints.
 * @param {string} folder
 * @param {string[]} args
 * @returns {Promise<{ succeeded: boolean, interruptedBy: string | undefined, cutShort: boolean, output: string }>}
 */
export function runNpm(folder, args) {
  return new Promise((resolve) => {
    /** @type {NodeJS.Signals | undefined} */
    let interruptedBy;
    let output = "";
    const child = startNpm(folder, args);
    /** @param {string} text */
    const keep = (text) => {
      output = (output + text).slice(-KEPT_OUTPUT);
    };
    child.stdout.setEncoding("utf8").on("data", keep);
    child.stderr.setEncoding("utf8").on("data", keep);

    /** @param {NodeJS.Signals} signal */
    const interrupt = (signal) => {
      interruptedBy = signal;
      child.kill(signal);
    };
    const signals = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);
    for (const signal of signals) process.on(signal, interrupt);
    /**
     * @param {boolean} succeeded
     * @param {boolean} killed
     */
    const finish = (succeeded, killed) => {
      for (const signal of signals) process.off(signal, interrupt);
      const cutShort = killed || interruptedBy !== undefined;
      resolve({ succeeded, interruptedBy, cutShort, output: output.trim() });
    };
    child.on("error", (error) => {
      keep(`npm could not be started: ${error.message}`);
      finish(false, false);
    });
    child.on("close", (code) => finish(code === 0, code === null));
  });
}

/**
 * Under `npm run`, the very npm that runs us; otherwise the one on PATH.
 * @param {string} folder
 * @param {string[]} args
 */
function startNpm(folder, args) {
  const { npm_execpath: npm, npm_node_execpath: node = process.execPath } = process.env;
  if (npm?.endsWith("npm-cli.js")) {
    return spawn(node, [npm, ...args], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  }
  // npm is a script that only a shell can start on Windows. The arguments are all ours, so none needs quoting.
  const shell = process.platform === "win32";
  return spawn("npm", args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"], shell });
}
