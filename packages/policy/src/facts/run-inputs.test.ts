import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import type { Action, Effect } from "../action.ts";
import { isManifest, runInputs } from "./run-inputs.ts";

let folder: string;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "reins-inputs-")));
  for (const path of [
    ...["package.json", "Makefile", ".git/config", ".git/hooks/pre-commit", ".git/hooks/pre-push.sample"],
    ...[
      "src/run.sh",
      "src/data.txt",
      "src/tsconfig.json",
      "vite.config.ts",
      "README.md",
      ".husky/pre-commit",
    ],
  ]) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), "");
  }
  await symlink("src/run.sh", join(folder, "link.sh"));
  await chmod(join(folder, "src/run.sh"), 0o755);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const exec = (command: string, words: readonly string[], opaque = true): Effect => ({
  ...{ kind: "exec", command, arguments: words, opaque },
});
const action = (effects: readonly Effect[], args: unknown = {}): Action => ({
  ...{ tool: "Bash", effects, opaque: false, doubts: [], claims: {}, arguments: args },
});

/** The files on which it depends what an action does, from the folder. */
async function filesOf(of: Action, cwd = folder): Promise<readonly string[]> {
  const { files } = await runInputs(of, cwd);
  return files.map((path) => relative(folder, path));
}

describe("what an action runs beyond its words", () => {
  it("is nothing for what its effects say in full", async () => {
    expect(await filesOf(action([exec("cat", ["src/run.sh"], false)]))).toEqual([]);
    expect(
      await filesOf(action([{ kind: "read", path: join(folder, "README.md"), place: "workspace" }])),
    ).toEqual([]);
    expect(await runInputs(action([]), folder)).toEqual({ files: [], folders: [] });
  });

  it("is a script that it names, also by a link", async () => {
    expect(await filesOf(action([exec("bash", ["src/run.sh"])]))).toContain("src/run.sh");
    expect(await filesOf(action([exec("./link.sh", [])]))).toContain("link.sh");
    expect(await filesOf(action([exec("bash", [join(folder, "src/run.sh")])]))).toContain("src/run.sh");
  });

  it("is a file named anywhere in its arguments", async () => {
    const named = action([exec("python3", [])], { command: "python3 -c 'open(\"src/data.txt\")'" });
    expect(await filesOf(named)).toContain("src/data.txt");
    expect(await filesOf(action([exec("x", ["--config=vite.config.ts"])]))).toContain("vite.config.ts");
    expect(await filesOf(action([exec("x", [])], { a: { b: { c: ["src/data.txt"] } } }))).toContain(
      "src/data.txt",
    );
  });

  it("is every manifest of the folder and of those above, up to the repository's own", async () => {
    const found = await filesOf(action([exec("npm", ["test"])]), join(folder, "src"));
    expect(found).toEqual(
      expect.arrayContaining(["src/tsconfig.json", "package.json", "Makefile", "vite.config.ts"]),
    );
    expect(found).toEqual(
      expect.arrayContaining([".git/config", ".git/hooks/pre-commit", ".husky/pre-commit"]),
    );
    expect(found).not.toContain(".git/hooks/pre-push.sample");
    expect(found).not.toContain("README.md");
  });

  it("is what a program sends, folders too where it sends whole ones", async () => {
    const sent: Effect = { kind: "read", path: join(folder, "src"), place: "workspace", deep: true };
    const net: Effect = { kind: "net", host: "example.com" };
    expect((await runInputs(action([exec("rsync", ["src"], false), sent, net]), folder)).folders).toEqual([
      sent.path,
    ]);
    expect((await runInputs(action([exec("curl", [], false), sent, net]), folder)).folders).toEqual([]);
  });

  it("is nothing that is not there, or is no path", async () => {
    const odd = ["", "-", "--", "a\0b", "x".repeat(5_000), "no/such/file", "\u0000"];
    const found = await filesOf(action([exec("x", odd)]));
    expect(found.every((path) => isManifest(join(folder, path)))).toBe(true);
  });
});

describe("a manifest", () => {
  test.each([
    ...[
      "package.json",
      "a/package-lock.json",
      "Makefile",
      "x.mk",
      "Cargo.toml",
      "build.rs",
      "go.mod",
      "setup.py",
    ],
    ...[
      "pyproject.toml",
      "Dockerfile",
      "compose.yaml",
      "build.gradle.kts",
      "pom.xml",
      "Gemfile",
      "x.gemspec",
      "main.tf",
    ],
    ...[
      "vite.config.ts",
      "jest.config.js",
      "eslint.config.mjs",
      ".eslintrc.json",
      "tsconfig.json",
      ".env",
      "Jenkinsfile",
    ],
    ...["r/.git/hooks/pre-commit", "r/.git/config", "r/.husky/pre-push", "r/.cargo/config.toml", "x.csproj"],
  ])("is %s", (path) => {
    expect(isManifest(`/w/${path}`)).toBe(true);
  });

  test.each([
    "README.md",
    "src/index.ts",
    "package.json.bak",
    "my-package.json",
    "config.ts",
    "git/config",
    "a.txt",
  ])("is not %s", (path) => {
    expect(isManifest(`/w/${path}`)).toBe(false);
  });
});
