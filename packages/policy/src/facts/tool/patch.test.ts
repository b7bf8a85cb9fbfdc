import { describe, expect, it } from "vitest";
import { patchFindings } from "./patch.ts";

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
