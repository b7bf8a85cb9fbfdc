import { mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bash, govern } from "./fixtures/governed.ts";

type Governed = Awaited<ReturnType<typeof govern>>;

/** A session in a folder, which is then replaced by a link to a folder that is not the session's. */
async function swapped(governed: Governed, named: string, replaced: string): Promise<string> {
  const { workspace } = governed;
  await mkdir(join(workspace, "up/own"), { recursive: true });
  await mkdir(join(workspace, "others/own"), { recursive: true });
  await symlink(join(workspace, "up/own"), join(workspace, "link"));
  for (const folder of ["others", "others/own"])
    await writeFile(join(workspace, folder, "plan.txt"), "the plan of others");
  const id = await governed.begin({ cwd: join(workspace, named) });
  const path = join(workspace, replaced);
  if (replaced === "link") await rm(path);
  else await rename(path, `${path}-before`);
  await symlink(join(workspace, "others"), path);
  return id;
}

const SWAPS = [
  ["the folder itself", "up/own", "up/own"],
  ["a folder above it", "up/own", "up"],
  ["the link that it was named by", "link", "link"],
];

describe("a session whose folder was replaced after it began", () => {
  test.each(SWAPS)("is asked about what lies there now: %s", async (_, named = "", replaced = "") => {
    const governed = await govern({ person: () => "reject_once" });
    const id = await swapped(governed, named, replaced);
    const path = join(governed.workspace, named, "plan.txt");
    const answers: string[] = [];
    await governed.prompt(id, async ({ ask }) => {
      answers.push(await ask({ toolCallId: "r", name: "Read", kind: "read", rawInput: { file_path: path } }));
      answers.push(
        await ask({ toolCallId: "w", name: "Write", rawInput: { file_path: path, content: "mine" } }),
      );
      answers.push(await ask(bash("cat plan.txt", "c")));
      return undefined;
    });
    expect(answers).toEqual(["reject_once", "reject_once", "reject_once"]);
  });

  test.each(SWAPS)(
    "is not served files from there, whatever the answer: %s",
    async (_, named = "", replaced = "") => {
      const governed = await govern({ person: () => "allow_once" });
      const id = await swapped(governed, named, replaced);
      const path = join(governed.workspace, named, "plan.txt");
      const got: unknown[] = [];
      await governed.prompt(id, async ({ request }) => {
        const attempt = (method: string, more = {}) =>
          request(method, { path, ...more }).catch((error: unknown) => got.push(error));
        await attempt("fs/read_text_file");
        await attempt("fs/write_text_file", { content: "mine" });
        return undefined;
      });
      expect(got).toHaveLength(2);
      for (const folder of ["others", "others/own"])
        expect(await readFile(join(governed.workspace, folder, "plan.txt"), "utf8")).toBe(
          "the plan of others",
        );
    },
  );
});
