import { glob } from "node:fs/promises";
import { runCommand } from "./command.ts";
import { root } from "./root.ts";

// Writes the published schemas and the reference pages of every package anew.
for await (const path of glob("packages/*/src/{schema,reference}/write.ts", { cwd: root })) {
  const { succeeded } = await runCommand([path], { live: true, deadline: 60 });
  if (!succeeded) process.exitCode = 1;
}
