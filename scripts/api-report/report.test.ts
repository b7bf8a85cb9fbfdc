import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiReports } from "./packages.ts";
import { publicNames } from "./report.ts";

describe("the API report", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "reins-report-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("shows what callers see of a declaration, and follows re-exports", async () => {
    await writeFile(
      join(folder, "box.ts"),
      `/** A box. */
export class Box<T> {
  readonly #inside: T;
  private count = 0;
  /** Opens one. */
  static async open(path: string): Promise<Box<string>> {
    return new Box(path);
  }
  // A note.
  get inside(): T {
    return this.#inside;
  }
}
export function empty(): undefined {
  return undefined;
}
export const LIMIT = 7;
export interface Other {
  readonly a: string;
}`,
    );
    const index = join(folder, "index.ts");
    await writeFile(index, `export { Box, empty, LIMIT, type Other as Another } from "./box.ts";`);
    expect(await publicNames(index)).toEqual([
      { name: "Another", declaration: "interface Other {\n  readonly a: string;\n}" },
      {
        name: "Box",
        declaration: `class Box<T> {
  static async open(path: string): Promise<Box<string>>;
  get inside(): T;
}`,
      },
      { name: "LIMIT", declaration: "const LIMIT = 7;" },
      { name: "empty", declaration: "function empty(): undefined;" },
    ]);
  });

  it("is in the repository as the sources have it, with at most 300 names", async () => {
    let names = 0;
    for (const [path, report] of await apiReports()) {
      expect(await readFile(path, "utf8")).toBe(report);
      names += Number(/: (\d+)\n/.exec(report)?.[1]);
    }
    expect(names).toBeGreaterThan(0);
    expect(names).toBeLessThanOrEqual(300);
  });
});
