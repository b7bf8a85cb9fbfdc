import { describe, expect, test } from "vitest";
import { AgentError } from "../agent-error.ts";
import { expectVersion, isPackageName, isVersionOrTag } from "./package-spec.ts";

describe("a version for npm", () => {
  test.each(["1.2.3", "0.0.1-beta.4", "2.0.0+build.7", "latest", "next", "rc-2", "beta_1"])(
    "%s is taken",
    (text) => {
      expect(isVersionOrTag(text)).toBe(true);
      expect(() => expectVersion("Tiny", text)).not.toThrow();
    },
  );

  test.each([
    ...[
      "",
      " ",
      "not a version",
      "1",
      "1.2",
      "v1.2.3",
      "^1.2.3",
      ">=1",
      "1.x",
      "x",
      "X.1",
      "*",
      "1 || 2",
      "1.2.3 ",
    ],
    ...[
      "file:../evil",
      "../evil",
      "/tmp/evil",
      "~/evil",
      "git+ssh://host/x",
      "https://host/x.tgz",
      "user/repo",
    ],
    ...["npm:other@1.0.0", "workspace:*", "--registry=http://evil", "-g", "latest\n--global", "lat\u202eest"],
    "a".repeat(129),
  ])("%j is refused", (text) => {
    expect(isVersionOrTag(text)).toBe(false);
    expect(() => expectVersion("Tiny", text)).toThrow(AgentError);
  });
});

describe("the name of a package", () => {
  test.each(["tiny", "@scope/tiny-agent", "a.b_c~d", "node"])("%s is taken", (text) => {
    expect(isPackageName(text)).toBe(true);
  });

  test.each([
    ...[
      "",
      "Tiny",
      "@scope",
      "@/x",
      "../evil",
      "/evil",
      "a b",
      ".hidden",
      "_x",
      "a/b/c",
      "@a/b/c",
      "x@1.0.0",
    ],
    ...["--global", "http://host/x", "file:x", "a".repeat(215)],
  ])("%j is refused", (text) => {
    expect(isPackageName(text)).toBe(false);
  });
});
