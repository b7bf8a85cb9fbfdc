import { describe, expect, it } from "vitest";
import { patchFindings } from "./tool-call.ts";

const paths = (patch: string) =>
  patchFindings(patch, ["/w"])?.map(
    (finding) => finding.kind === "write" && [finding.target.text, finding.destroys],
  );

describe("a patch", () => {
  it("of Codex names its files", () => {
    const patch = [
      "*** Begin Patch",
      "*** Add File: a",
      "+*** Delete File: no",
      "*** Update File: b c",
      "*** Move to: d",
      "@@ x",
      " *** y",
      "-q",
      "*** End of File",
      "*** Delete File: e",
      "*** End Patch",
    ];
    expect(paths(patch.join("\n"))).toEqual([
      ["a", "existing"],
      ["b c", "never"],
      ["d", "existing"],
      ["e", "always"],
    ]);
  });

  it("as a diff names its files, with and without what tools take off", () => {
    const diff =
      "diff --git a/x b/x\n--- a/x\n+++ b/y\n@@ -1,2 +1,2 @@\n---- not a name\n+++ nor this\n same\nrename to z\n";
    expect(paths(diff)?.map((one) => one || [])).toEqual(
      ["a/x", "x", "b/y", "y", "z"].map((path) => [path, "always"]),
    );
  });

  it.each([
    "",
    "hello",
    "*** Begin Patch\n*** End Patch",
    "*** Begin Patch\n*** Add File: a\n+x",
    "*** Begin Patch\n*** Run: x\n*** End Patch",
  ])("%j is none", (text) => {
    expect(paths(text)).toBeUndefined();
  });
});

describe("a patch that Codex reads in its own way", () => {
  const wrapped = (...lines: readonly string[]) =>
    ["*** Begin Patch", "*** Add File: a", "+x", ...lines, "*** End Patch"].join("\n");

  it.each([
    [" *** Delete File: e", ["e", "always"]],
    ["\t*** Delete File: e", ["e", "always"]],
    ["*** Delete File: e  ", ["e", "always"]],
    ["*** delete file: e", ["e", "always"]],
    ["*** Delete File: e\r", ["e", "always"]],
    ["  *** Update File: ../e", ["../e", "never"]],
    ["  *** Move to: /etc/e", ["/etc/e", "existing"]],
    ["  *** Add File: .git/hooks/pre-commit", [".git/hooks/pre-commit", "existing"]],
  ] as const)("shows what %j changes", (line, expected) => {
    expect(paths(wrapped(line))).toContainEqual(expected);
  });

  it.each(["+*** Delete File: e", "-*** Delete File: e"])("takes %j for content", (line) => {
    expect(paths(wrapped(line))).toEqual([["a", "existing"]]);
  });

  it.each([
    [
      "behind the mark of a here-document",
      "<<'EOF'\n*** Begin Patch\n*** Delete File: e\n+++ notes.txt\n*** End Patch\nEOF",
    ],
    ["behind a diff", "--- a/x\n+++ b/x\n*** Begin Patch\n*** Delete File: e\n*** End Patch"],
    ["with a mark that is not known", "*** Begin Patch\n*** Add File: a\n*** Rename File: b\n*** End Patch"],
    ["without an end", "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nmore"],
  ])("is none %s", (_, text) => {
    expect(paths(text)).toBeUndefined();
  });
});

describe("a diff", () => {
  it.each([
    ["--- /dev/null\n+++ b/.git/hooks/a\n@@ -0,0 +1 @@\n+x\n", ".git/hooks/a"],
    ["--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "x"],
    ['--- "a/with blank"\n+++ "b/with blank"\n@@ -1 +1 @@\n-x\n+y\n', "with blank"],
    ["--- a/x\t2026-01-01\n+++ b/x\t2026-01-01\n@@ -1 +1 @@\n-x\n+y\n", "x"],
    ["diff --git a/x b/y\nrename from x\nrename to ../y\n", "../y"],
    ["diff --git a/x b/y\ncopy from x\ncopy to /etc/y\n", "/etc/y"],
    ["--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-x\n+y\n", "z"],
    ["--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n\\ No newline at end of file\n--- a/w\n+++ b/w\n", "w"],
  ])("%j changes %s", (diff, path) => {
    expect(paths(diff)?.flatMap((one) => one || [])).toContain(path);
  });
});
