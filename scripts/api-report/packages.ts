import { glob, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { PackageManifest } from "../build/manifest.ts";
import { root } from "../root.ts";
import { apiReport } from "./report.ts";

/** The file beside a public package's README that lists what it exports. */
const REPORT = "api-report.md";

/** The report of every public package that can be imported, by the path of its file. */
export async function apiReports(): Promise<Map<string, string>> {
  const reports = new Map<string, string>();
  for await (const path of glob("packages/*/package.json", { cwd: root })) {
    const manifest: PackageManifest = JSON.parse(await readFile(join(root, path), "utf8"));
    const modules = Object.entries(manifest.exports ?? {}).filter(([, target]) => target.endsWith(".ts"));
    if (manifest.private || modules.length === 0) continue;
    const folder = join(root, dirname(path));
    const entryPoints = new Map(
      modules.map(([name, target]) => [join(manifest.name, name), join(folder, target)]),
    );
    reports.set(join(folder, REPORT), await apiReport(manifest.name, entryPoints));
  }
  return reports;
}
