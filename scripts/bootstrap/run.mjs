import { spawn } from "node:child_process";

/**
 * Runs a program to its end and keeps what it prints.
 * @param {string} program
 * @param {string[]} args
 * @returns {Promise<{ code: number | null, output: string }>}
 */
export function run(program, args) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const take = (/** @type {Buffer} */ bytes) => {
      output += bytes;
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.on("error", (error) => resolve({ code: null, output: error.message }));
    child.on("close", (code) => resolve({ code, output }));
  });
}
