import { describe, expect, it, test } from "vitest";
import {
  fold,
  isCredentials,
  isPersistence,
  isProcessContent,
  isReadableByAll,
  isUserHome,
} from "./places.ts";

/** Spellings that some file system takes for the same path. */
const SPELLINGS: readonly ((path: string) => string)[] = [
  (path) => path,
  (path) => path.toUpperCase(),
  (path) => path.replace(/[a-z]/, (letter) => letter.toUpperCase()),
  (path) => `${path}.`,
  (path) => `${path} `,
  (path) => `${path}...`,
  (path) => `${path}::$DATA`,
  (path) => path.replace(/([a-z])([a-z])/, "$1\u200b$2"),
  (path) => path.replace(/([a-z])([a-z])/, "$1\u00ad$2"),
  (path) => path.replace(/s/, "\uff53"),
  (path) => path.normalize("NFD"),
];

const KEYS = [
  "/home/u/.ssh/id_rsa",
  "/home/u/.ssh/known_hosts",
  "/home/u/.aws/credentials",
  "/home/u/.netrc",
  "/home/u/.kube/config",
  "/home/u/.docker/config.json",
  "/home/u/.gnupg/private-keys-v1.d/x.key",
  "/w/.env",
  "/w/.env.local",
  "/w/a/b/.env.production",
  "/w/server.pem",
  "/w/certs/tls.key",
  "/w/id_ed25519",
  "/etc/shadow",
];

describe("a file with keys", () => {
  test.each(KEYS)("%s is one under every spelling", (path) => {
    for (const spelled of SPELLINGS)
      expect(isCredentials(spelled(path)), JSON.stringify(spelled(path))).toBe(true);
  });

  test.each([
    "/w/.env.example",
    "/w/src/env.ts",
    "/w/README.md",
    "/w/src/keys.ts",
    "/w/monkey.ts",
    "/w/environment",
  ])("%s is none", (path) => {
    expect(isCredentials(path)).toBe(false);
  });
});

describe("what programs run by themselves", () => {
  const paths = [
    "/home/u/.bashrc",
    "/home/u/.zshrc",
    "/home/u/.config/autostart/x.desktop",
    "/w/.git/hooks/pre-commit",
    "/w/.git/config",
    "/w/.github/workflows/ci.yml",
    "/w/.vscode/tasks.json",
    "/w/.claude/settings.json",
    "/w/AGENTS.md",
    "/etc/cron.d/x",
  ];
  test.each(paths)("%s is found under every spelling", (path) => {
    for (const spelled of SPELLINGS)
      expect(isPersistence(spelled(path)), JSON.stringify(spelled(path))).toBe(true);
  });

  it("is not what people write", () => {
    for (const path of [
      "/w/src/index.ts",
      "/w/package.json",
      "/w/docs/hooks/x.md",
      "/w/github/workflows/x.yml",
    ])
      expect(isPersistence(path), path).toBe(false);
  });
});

describe("folding", () => {
  const rows: readonly (readonly [string, string])[] = [
    ["/A/B", "/a/b"],
    ["/a./b", "/a/b"],
    ["/a /b ", "/a/b"],
    ["/a. . /b", "/a/b"],
    ["/./a", "/./a"],
    ["/../a", "/../a"],
    ["/a:stream/b", "/a/b"],
    ["/\uff41", "/a"],
    ["/a\u200bb", "/ab"],
    ["/e\u0301", "/\u00e9"],
  ];
  test.each(rows)("%j is %j", (path, folded) => {
    expect(fold(path)).toBe(folded);
  });

  it("is the same the second time", () => {
    for (const path of KEYS.flatMap((key) => SPELLINGS.map((spelled) => spelled(key))))
      expect(fold(fold(path))).toBe(fold(path));
  });
});

describe("what a process holds", () => {
  test.each([
    "/proc/self/environ",
    "/proc/1/environ",
    "/proc/12345/mem",
    "/proc/self/fd/3",
    "/proc/self/cwd/x",
    "/proc/self/root/etc/passwd",
    "/proc/self/task/7/environ",
    "/proc/thread-self/maps",
    "/proc/self/new_name",
    "/dev/fd/3",
  ])("%s", (path) => {
    expect(isProcessContent(path)).toBe(true);
  });

  test.each([
    "/proc/self/status",
    "/proc/cpuinfo",
    "/proc/self",
    "/proc/self/task/7/stat",
    "/dev/fd/0",
    "/w/proc/x",
  ])("is not in %s", (path) => {
    expect(isProcessContent(path)).toBe(false);
  });
});

describe("places by name", () => {
  it("are the homes of all users", () => {
    for (const path of ["/home/x/y", "/Users/x/y", "/root/y"]) expect(isUserHome(path), path).toBe(true);
    for (const path of ["/etc/x", "/homes/x", "/w/home/x"]) expect(isUserHome(path), path).toBe(false);
  });

  it("are readable by all only where the table says so", () => {
    for (const path of ["/usr/bin/env", "/usr/share/x", "/etc/os-release"])
      expect(isReadableByAll(path), path).toBe(true);
    for (const path of ["/var/lib/x", "/etc/shadow", "/root/x"])
      expect(isReadableByAll(path), path).toBe(false);
  });
});
