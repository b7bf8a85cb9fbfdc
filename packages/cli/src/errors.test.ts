import { describe, expect, it } from "vitest";
import { CliError, EXIT, exitCodeOf, renderError, systemCode } from "./errors.ts";

const quiet = { verbose: false, json: false };
const error = new CliError("The port is in use.", {
  next: "Choose another.\nOr stop the other.",
  exitCode: EXIT.taken,
  cause: Object.assign(new Error("listen failed"), { code: "EADDRINUSE" }),
});

describe("an error on the command line", () => {
  it("prints only what happened and what to do", () => {
    expect(renderError(error, quiet)).toBe(
      "reins: The port is in use.\n  Choose another.\n  Or stop the other.\n",
    );
  });

  it("prints the stack with --verbose", () => {
    const text = renderError(error, { ...quiet, verbose: true });
    expect(text).toMatch(/CliError: The port is in use\.\n {4}at /);
    expect(text).toMatch(/Caused by: Error: listen failed\n {4}at /);
  });

  it("is printed as one JSON document with --json", () => {
    expect(JSON.parse(renderError(error, { ...quiet, json: true }))).toEqual({
      error: { message: "The port is in use.", next: "Choose another.\nOr stop the other.", exit_code: 4 },
    });
    const verbose = JSON.parse(renderError(error, { verbose: true, json: true }));
    expect(verbose.error.stack).toContain("listen failed");
  });

  it("asks to report an unexpected error, without a stack", () => {
    const text = renderError(new TypeError("x is not a function"), quiet);
    expect(text).toContain("Unexpected error: x is not a function");
    expect(text).toContain("--verbose");
    expect(text).not.toContain("    at ");
    expect(renderError("a string", quiet)).toContain("a string");
  });

  it("has its own exit code", () => {
    expect(exitCodeOf(error)).toBe(4);
    expect(exitCodeOf(new CliError("no", { next: "yes" }))).toBe(2);
    expect(exitCodeOf(new Error("no"))).toBe(1);
  });
});

describe("the system's code", () => {
  it("is found in the cause of an error", () => {
    expect(systemCode(error)).toBe("EADDRINUSE");
    expect(systemCode(new Error("no code"))).toBeUndefined();
    expect(systemCode("a string")).toBeUndefined();
    expect(systemCode(Object.assign(new Error("ours"), { code: "transport" }))).toBeUndefined();
  });
});
