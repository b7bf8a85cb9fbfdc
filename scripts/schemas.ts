import { glob, writeFile } from "node:fs/promises";
import { apiReports } from "./api-report/packages.ts";
import { runCommand } from "./command.ts";
import { root } from "./root.ts";

// Writes the published schemas, the reference pages and the API reports of every package anew.
for await (const path of glob("packages/*/generate/write.ts", { cwd: root })) {
  const { succeeded } = await runCommand([path], { live: true, deadline: 60 });
  if (!succeeded) process.exitCode = 1;
}
for (const [path, report] of await apiReports()) await writeFile(path, report);
