import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runCommand } from "../command.ts";
import { countTests } from "./vitest.ts";

// A vitest of its own, because a suite that is skipped or fails on purpose has no place in ours.
it("runs a suite that has what it needs; otherwise skips it by name, and fails it where CI is set", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reins-requirement-"));
  const suite = "(title, () => { it('works', () => {}); it('works again', () => {}); });";
  await writeFile(
    join(folder, "suites.test.ts"),
    `import { requirement } from ${JSON.stringify(join(import.meta.dirname, "requirement.ts"))};
     const declare = (title, available, inCI) =>
       requirement("a browser", available, "none is installed", inCI)${suite}
     declare("there", true, true);
     declare("absent", false, false);
     declare("absent in CI", false, true);`,
  );
  try {
    const report = join(folder, "report.json");
    const { succeeded } = await runCommand(
      [
        "node_modules/vitest/vitest.mjs",
        "run",
        "--root",
        folder,
        "--globals",
        "--reporter=json",
        `--outputFile=${report}`,
      ],
      { deadline: 60 },
    );
    expect(countTests(JSON.parse(await readFile(report, "utf8")), succeeded)).toEqual({
      passed: 2,
      failed: 1,
      skipped: 2,
      skippedTitles: ["absent (needs a browser: none is installed)"],
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}, 60_000);
