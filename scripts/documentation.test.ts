import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { root } from "./root.ts";

/** What readers follow to the letter. */
const PAGES = [
  "README.md",
  "docs/opencode.md",
  "docs/sdk.md",
  "packages/ahp/README.md",
  "packages/sdk/README.md",
  "packages/verify/README.md",
];
/** What their programs take from the reader. */
const GIVEN = "declare const signal: AbortSignal, url: string, token: string;\n";

test("the programs of the documentation compile", { timeout: 120_000 }, async () => {
  await mkdir(join(root, ".cache"), { recursive: true });
  const folder = await mkdtemp(join(root, ".cache/documentation-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const page of PAGES) {
    const programs = [...(await readFile(join(root, page), "utf8")).matchAll(/^```ts\n(.*?)^```$/gms)];
    expect(programs.length, page).toBeGreaterThan(0);
    const text = programs.map(([, program]) => program).join("\n");
    await writeFile(join(folder, `${page.replaceAll("/", "-")}.ts`), `${GIVEN}${text}\nexport {};\n`);
  }
  const compilerOptions = { noUnusedLocals: false, incremental: false };
  const configuration = {
    extends: join(root, "tsconfig.json"),
    compilerOptions,
    include: ["*.ts"],
    exclude: [],
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(configuration));
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const { stdout } = await promisify(execFile)(process.execPath, [compiler, "-p", folder]).catch(
    (error: { readonly stdout: string }) => error,
  );
  expect(stdout).toBe("");
});

test("the changelog says each thing once: a merge keeps both forms of a line that two changes edit", async () => {
  const lines = (await readFile(join(root, "CHANGELOG.md"), "utf8")).split("\n");
  const starts = lines.filter((line) => line.startsWith("- ")).map((line) => line.slice(0, 60));
  expect(starts.filter((start, index) => starts.indexOf(start) !== index)).toEqual([]);
});
