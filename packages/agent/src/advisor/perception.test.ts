import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { DecisionEvents } from "../control/events.ts";
import type { MayRead } from "../files/workspace-files.ts";
import { perceive } from "./perception.ts";

async function project(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "perceived-")));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return root;
}

type Payload = DecisionEvents["context_perception"]["payload"];

function look(root: string, more: Partial<Payload> = {}, mayRead?: MayRead, own?: string) {
  const payload: Payload = {
    session_id: "s",
    intent: "understand",
    target: { location: { path: ".", location_type: "folder" } },
    context: { workspace: root, query: "what is this?" },
    ...more,
  };
  return perceive(payload, mayRead, own);
}

const contents = (facts: readonly { content: string }[]) => facts.map(({ content }) => content);

describe("perception of a workspace", () => {
  test("looks for git where the folder may not be listed", async () => {
    const root = await project({ ".git/HEAD": "ref: refs/heads/main\n", "a.txt": "a" });
    const { facts } = await look(root, {}, (path) => path !== ".");
    expect(contents(facts)).toEqual(["The workspace is a git repository, on branch main"]);
  });

  test("reports the project, its guides and the state of git", async () => {
    const root = await project({
      "package.json": JSON.stringify({
        name: "tea",
        description: "Brews tea",
        scripts: { test: "vitest", build: "tsc" },
      }),
      "README.md": "# Tea\n\nBrews tea.",
      "AGENTS.md": "Run npm test before you are done.",
      "src/index.ts": "",
      ".git/HEAD": "ref: refs/heads/main\n",
      ".git/logs/HEAD": "0 1 A <a@b> 1 +0000\tcommit: Boil the water\n",
    });
    const seen = await look(root);
    expect(seen.project_summary).toEqual({
      project_name: "tea",
      language: "JavaScript or TypeScript",
      key_files: ["package.json", "AGENTS.md", "README.md"],
      structure_description: "1 folders (src/) and 3 files",
    });
    expect(seen.file_contents?.map(({ path }) => path)).toEqual(["AGENTS.md", "README.md"]);
    expect(contents(seen.facts)).toEqual(
      expect.arrayContaining([
        "The project: Brews tea",
        "Scripts of package.json: test, build",
        "The workspace is a git repository, on branch main",
        "Last in git: commit: Boil the water",
      ]),
    );
  });

  test.each([
    ["Cargo.toml", '[package]\nname = "crab"\ndescription = "Pinches"', "crab", "Rust"],
    ["pyproject.toml", '[project]\nname = "snake"', "snake", "Python"],
    ["go.mod", "module example.com/gopher\n", "example.com/gopher", "Go"],
    ["CMakeLists.txt", "project(bird C)", "bird", "C or C++"],
  ])("reads %s", async (file, text, project_name, language) => {
    expect((await look(await project({ [file]: text }))).project_summary).toMatchObject({
      project_name,
      language,
    });
  });

  test("orders facts by the words of the query", async () => {
    const root = await project({
      Makefile: "deploy: build\n\techo\nbuild:\n",
      "package.json": JSON.stringify({ description: "a service", scripts: { start: "x" } }),
    });
    const seen = await look(root, {
      context: { workspace: root, query: "how do I deploy with the Makefile?" },
    });
    expect(contents(seen.facts)[0]).toBe("Targets of the Makefile: deploy, build");
  });

  test("respects the limits of the request", async () => {
    const root = await project({
      "README.md": "word ".repeat(5_000),
      "AGENTS.md": "be brief",
      "package.json": '{"description":"d"}',
    });
    const constraints = { max_results: 2, max_context_length: 100 };
    const seen = await look(root, { constraints });
    expect(seen.facts.length + (seen.file_contents?.length ?? 0)).toBeLessThanOrEqual(2);
    expect(seen.file_contents?.map(({ snippet }) => snippet)).toEqual(["be brief"]);
    const whole = await look(root);
    expect(whole.file_contents?.find(({ path }) => path === "README.md")?.snippet.length).toBeLessThan(2_100);
  });

  test("leaves out files that may not be read and links out of the folder", async () => {
    const beside = await project({ "secret.md": "the launch code", HEAD: "ref: refs/heads/stolen" });
    const root = await project({ "AGENTS.md": "private rules", "package.json": '{"name":"x"}' });
    await symlink(join(beside, "secret.md"), join(root, "README.md"));
    await symlink(beside, join(root, ".git"));
    const seen = await look(root, {}, (path) => path !== "AGENTS.md");
    expect(JSON.stringify(seen)).not.toMatch(/launch code|stolen|private rules/);
    expect(seen.project_summary?.project_name).toBe("x");
  });

  test("quotes the instructions of every folder on the way to the target, the nearest first, each if it may be read", async () => {
    const root = await project({
      "AGENTS.md": "of all",
      "packages/AGENTS.md": "of packages",
      "packages/a/AGENTS.md": "of a",
      "packages/a/b.ts": "",
      "packages/c/AGENTS.md": "of c",
    });
    const target = { location: { path: "packages/a/b.ts", location_type: "file" } } as const;
    const paths = async (mayRead?: MayRead, more: Partial<Payload> = { target }) =>
      (await look(root, more, mayRead)).file_contents?.map(({ path }) => path);
    const all = ["packages/a/AGENTS.md", "packages/AGENTS.md", "AGENTS.md"];
    expect(await paths()).toEqual(all);
    expect(
      await paths(undefined, {
        target: { location: { path: `${root}/packages/a/b.ts`, location_type: "file" } },
      }),
    ).toEqual(all);
    expect(await paths((path) => path !== "packages/AGENTS.md")).toEqual([
      "packages/a/AGENTS.md",
      "AGENTS.md",
    ]);
    expect(
      await paths(undefined, { target, constraints: { max_results: 12, max_context_length: 5 } }),
    ).toEqual(["packages/a/AGENTS.md"]);
    const beside = { target: { location: { path: "../x/y", location_type: "file" } } } as const;
    expect(await paths(undefined, beside)).toEqual(["AGENTS.md"]);
  });

  test("quotes the person's own instructions, if they may be read, and follows no link from them", async () => {
    const home = await project({
      "reins/AGENTS.md": "answer in Latin",
      "elsewhere/secret": "the launch code",
    });
    const root = await project({ "AGENTS.md": "use tabs" });
    const own = join(home, "reins/AGENTS.md");
    const asked: string[] = [];
    const quoted = async (isAllowed: boolean) => {
      const mayRead: MayRead = (path) => {
        asked.push(path);
        return isAllowed || path !== own;
      };
      const seen = await look(root, {}, mayRead, own);
      return seen.file_contents?.map(({ path, snippet }) => [path, snippet]);
    };
    expect(await quoted(true)).toEqual([
      [own, "answer in Latin"],
      ["AGENTS.md", "use tabs"],
    ]);
    expect(await quoted(false)).toEqual([["AGENTS.md", "use tabs"]]);
    expect(asked).toContain(own);
    await rm(own);
    await symlink(join(home, "elsewhere/secret"), own);
    expect(await quoted(true)).toEqual([["AGENTS.md", "use tabs"]]);
  });

  test("reports whether the named path exists", async () => {
    const root = await project({ "src/a.ts": "", "src/b.ts": "", "notes.txt": "n" });
    const at = async (path: string) =>
      contents((await look(root, { target: { location: { path, location_type: "file" } } })).facts);
    expect(await at("src")).toContain("src is a folder with 2 entries: a.ts, b.ts");
    expect(await at("notes.txt")).toContain("notes.txt is a text file of the workspace");
    expect(await at("missing.txt")).toEqual([]);
    expect(await at("../../etc/passwd")).toEqual([]);
  });

  test("handles an empty folder, broken manifests and a missing folder", async () => {
    expect((await look(await project({}))).project_summary?.structure_description).toBe("an empty folder");
    const broken = await look(await project({ "package.json": "{{{", "Cargo.toml": "\u0000\u0001" }));
    expect(broken.facts).toEqual([]);
    expect((await look("/nowhere/at/all")).project_summary).toMatchObject({ project_name: "all" });
  });
});
